// What the user has set. Everything that is drawn follows from the data and from this; changes are drawn once a frame.

const state = {
  hover: null,             // pixel under the pointer, [x, y]
  picked: [],              // one or two pixels; EPIs and focus follow the last, distances go from one to the other
  measuring: false,        // whether the next pick keeps the first one
  window: { x: 0.5, y: 0.5, zoom: 1 },  // what maps show: the middle as shares of width and height
  mode: "look",            // what the light field shows: "look" (a view) or "focus" (the mean of shifted views)
  step: [0, 0],            // rows and columns from the central view to the eye; the nearest view is shown
  focus_px: 0,             // disparity that is sharp
  aperture: Infinity,      // steps from the centre of the views that count
  maxDeviation: Infinity,  // pixels beyond fade
  maxNoEvidence: Infinity,
  threshold: 0.07,         // differences of two maps beyond it are marked
  wipe: 0.5,               // where the first of two maps ends
  brightness: 1,
  background: "#2b3036",
};

const watchers = [];  // { keys, act }
let waiting = null;   // the watchers to run in the next frame

// Call `act` whenever one of these changes.
function watchChanges(keys, act) {
  watchers.push({ keys, act });
}

// The same, and once at the start.
function watch(keys, act) {
  watchChanges(keys, act);
  schedule([watchers.at(-1)]);
}

function change(changes) {
  Object.assign(state, changes);
  schedule(watchers.filter(({ keys }) => keys.some((key) => key in changes)));
}

function schedule(due) {
  if (!waiting) {
    waiting = new Set();
    requestAnimationFrame(runDue);
  }
  for (const watcher of due) waiting.add(watcher);
}

function runDue() {
  const due = waiting;
  waiting = null;
  for (const watcher of watchers) if (due.has(watcher)) watcher.act();  // in the order in which they were made
}
