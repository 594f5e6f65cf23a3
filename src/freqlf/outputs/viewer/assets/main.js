// Puts the page together.

const data = await unpack(JSON.parse(document.getElementById("data").textContent));
const { width, height } = data;
const [first, second] = data.results;

// --- pictures and their panels --------------------------------------------------------------------------------------

state.hidden = new Uint8Array(width * height);
watchChanges(["maxDeviation", "maxNoEvidence"], () => change({ hidden: findHidden() }));

const pictures = {};
if (data.view) pictures.view = makePicture("central view", data.view.data);
const lightField = makeLightField(data.views);
const isCentral = () => state.mode === "look" && findView(data.views.steps, state.step) === 0;
if (lightField) watch(["mode", "step", "focus_px", "aperture"], () => { if (!isCentral()) lightField.draw(); });
if (data.view) {
  const reach = data.views && Math.max(...data.views.steps.flat().map(Math.abs));
  const figure = addPanel({
    id: "view",
    title: lightField ? "light field" : "central view",
    source: () => (lightField && !isCentral() ? lightField.canvas : pictures.view.canvas),
    keys: ["mode", "step", "focus_px", "aperture"],
    // Dragging looks around: the scene follows the hand, so the eye goes the other way.
    drag: lightField && ((dx, dy) => {
      if (state.mode !== "look" || state.window.zoom > 1) return false;
      const eye = [state.step[0] - 3 * reach * dy, state.step[1] - 3 * reach * dx];
      change({ step: eye.map((step) => clamp(step, -reach, reach)) });
      return true;
    }),
  });
  watch(["brightness"], () => { figure.querySelector("canvas").style.filter = `brightness(${state.brightness})`; });
}

function addMap(id, title, values, range, colours) {
  const picture = makePicture(title);
  watch(["hidden"], () => picture.set(paint(values, range, colours, state.hidden)));
  addPanel({ id, title, source: () => picture.canvas, keys: ["hidden"], scale: { colours, range } });
  return picture;
}

const { disparity: viridis, error: magma } = data.colours;
pictures.disparity = addMap("disparity", second ? first.name : "disparity", first.maps.disparity, data.ranges.disparity, viridis);
if (second) {
  pictures[second.name] = addMap("second", second.name, second.maps.disparity, data.ranges.disparity, viridis);
  pictures.difference = addComparison();
  addWipe(pictures.disparity, pictures[second.name]);
  element("compare").hidden = false;
}
if (data.scores) showScores(data.scores);
if (first.maps.deviation) {
  pictures.deviation = addMap("deviation", "deviation", first.maps.deviation, data.ranges.deviation, magma);
}
if (first.maps["no-evidence"]) {
  pictures["no evidence"] = addMap("no-evidence", "no evidence", first.maps["no-evidence"], [0, 1], magma);
}

watch(["hover"], () => { if (state.hover) showFacts(element("readout"), describe(state.hover)); });
watch(["picked"], () => {
  const two = state.picked.length === 2;
  element("distance").hidden = !two;
  if (two) showFacts(element("distance"), measure(state.picked));
});

// --- controls -------------------------------------------------------------------------------------------------------

// A slider from `low` to `high` for one key of the state; at its far end there is no limit if `open`.
function bindSlider(id, key, low, high, { open = false, digits = 2, unit = "px" } = {}) {
  const slider = element(id), label = element(`${id}-value`);
  Object.assign(slider, { min: low, max: high, step: "any" });
  slider.addEventListener("input", () => {
    const value = slider.valueAsNumber;
    change({ [key]: open && value >= high ? Infinity : value, ...(key === "focus_px" && { mode: "focus" }) });
  });
  watch([key], () => {
    slider.value = clamp(state[key], low, high);
    if (label) label.textContent = state[key] === Infinity ? "all" : `${state[key].toFixed(digits)} ${unit}`;
  });
  slider.closest("label").hidden = false;
}

element("zoom-in").addEventListener("click", () => zoomWindow(1.5));
element("zoom-out").addEventListener("click", () => zoomWindow(1 / 1.5));
element("whole").addEventListener("click", () => moveWindow(0.5, 0.5, 1));
element("measure").addEventListener("click", () => change({ measuring: !state.measuring }));
watch(["measuring"], () => element("measure").setAttribute("aria-pressed", state.measuring));
element("save-pfm").addEventListener("click", savePfm);
bindSlider("brightness", "brightness", 0.5, 4, { digits: 1, unit: "x" });
if (first.maps.deviation) bindSlider("max-deviation", "maxDeviation", 0, data.ranges.deviation[1], { open: true, digits: 3 });
if (first.maps["no-evidence"]) bindSlider("max-no-evidence", "maxNoEvidence", 0, 1, { open: true, unit: "" });
if (second) bindSlider("threshold", "threshold", 0, data.ranges.difference[1], { digits: 3 });

if (lightField) {
  const [low, high] = data.ranges.disparity, margin = 0.2 * (high - low);
  bindSlider("focus", "focus_px", low - margin, high + margin, { digits: 3 });
  const reach = Math.max(...data.views.steps.flat().map(Math.abs));
  bindSlider("aperture", "aperture", 0, reach, { open: true, digits: 0, unit: "steps" });
  change({ focus_px: (low + high) / 2, picked: [[width >> 1, height >> 1]] });
  addViewPad(element("pad"), data.views.steps);
  for (const mode of ["look", "focus"]) {
    element(`mode-${mode}`).addEventListener("change", () => change({ mode }));
    watch(["mode"], () => { element(`mode-${mode}`).checked = state.mode === mode; });
  }
  const canvases = [element("epi-horizontal"), element("epi-vertical")];
  watch(["picked", "size"], () => {
    const pixel = state.picked.at(-1);
    canvases.forEach((canvas, n) => drawEpi(canvas, data.views, pixel, 1 - n));
    element("epi-row").textContent = `row ${pixel[1]}`;
    element("epi-column").textContent = `column ${pixel[0]}`;
  });
  element("lightfield").hidden = false;
}

// --- points ---------------------------------------------------------------------------------------------------------

function fill(select, names, act) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  select.addEventListener("change", () => act(select.value));
  select.closest("label").hidden = names.length < 2;
}

const shapes = {};
if (data.camera) shapes["point cloud"] = () => makeCloud(first.maps.disparity);
shapes["relief of disparities"] = () => makeRelief(first.maps.disparity);
if (second) shapes[`relief of ${second.name}`] = () => makeRelief(second.maps.disparity);
state.colours = Object.keys(pictures)[0];
const points = addPoints(element("scene"), shapes, pictures);
if (points) {
  fill(element("shape"), Object.keys(shapes), points.choose);
  fill(element("colour"), Object.keys(pictures), (colours) => change({ colours }));
  element("background").addEventListener("input", (event) => change({ background: event.target.value }));
  watch(["background"], () => { element("background").value = state.background; });
  element("reset").addEventListener("click", points.reset);
  element("save-ply").addEventListener("click", () => savePly(points));
  element("save-scene").addEventListener("click", () => saveCanvas(points.canvas, `${data.name}-points.png`));
  bindBox(points);
  points.choose(Object.keys(shapes)[0]);
}

// Two sliders per axis cut the points; at its end a slider cuts nothing.
function bindBox(points) {
  const sliders = [...element("box").querySelectorAll("input")];  // low and high of x, y and z
  sliders.forEach((slider, n) => slider.addEventListener("input", () => {
    const axis = n >> 1, [low, high] = points.bounds[axis], value = slider.valueAsNumber;
    const box = structuredClone(state.box);
    if (n % 2) box[axis][1] = value >= 1 ? Infinity : low + value * (high - low);
    else box[axis][0] = value <= 0 ? -Infinity : low + value * (high - low);
    change({ box });
  }));
  watch(["shape"], () => sliders.forEach((slider, n) => { slider.value = n % 2; }));
}

// For whoever waits for the page: two frames later, everything has been drawn.
requestAnimationFrame(() => requestAnimationFrame(() => {
  performance.mark("ready");
  document.body.dataset.ready = "yes";
}));
