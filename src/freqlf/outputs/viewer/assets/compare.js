// Two maps of one image: their difference, one beside the other, and one after the other.

const BLINK_MS = 700;

function findDifference() {
  return first.maps.disparity.map((value, i) => value - second.maps.disparity[i]);
}

function addComparison() {
  const difference = findDifference(), [low, high] = data.ranges.difference, colours = data.colours.difference;
  const picture = makePicture("difference");
  const share = element("share"), known = difference.filter((value) => !Number.isNaN(value)).length;
  watch(["threshold"], () => {
    const small = Uint8Array.from(difference, (value) => Math.abs(value) <= state.threshold);
    picture.set(paint(difference, [low, high], colours, small));
    const above = difference.reduce((count, value) => count + (Math.abs(value) > state.threshold), 0);
    share.textContent = `${((100 * above) / Math.max(known, 1)).toFixed(1)} % of the pixels differ by more`;
  });
  addPanel({
    id: "difference", title: "difference", source: () => picture.canvas, keys: ["threshold"],
    scale: { colours, range: [low, high] },
  });
  return picture;
}

// One picture up to a line, the other beyond it; the line follows the hand.
function addWipe(left, right) {
  const both = makeCanvas(width, height), context = both.getContext("2d");
  watch(["wipe", "hidden"], () => {
    const edge = Math.round(state.wipe * width);
    context.drawImage(right.canvas, 0, 0);
    if (edge > 0) context.drawImage(left.canvas, 0, 0, edge, height, 0, 0, edge, height);
  });
  addPanel({
    id: "wipe", title: `${first.name} | ${second.name}`, source: () => both, keys: ["wipe", "hidden"],
    drag: (dx) => {
      stopBlinking();
      change({ wipe: clamp(state.wipe + dx / state.window.zoom, 0, 1) });
      return true;
    },
    over: (context, canvas, place) => {
      const [x] = place([state.wipe * width - 0.5, 0]);
      context.fillStyle = "#ffffff";
      context.fillRect(x - 1, 0, 2, canvas.height);
    },
  });

  const slider = element("wipe"), blink = element("blink");
  let timer = null;
  function stopBlinking() {
    clearInterval(timer);
    timer = null;
    blink.setAttribute("aria-pressed", false);
  }
  slider.addEventListener("input", () => {
    stopBlinking();
    change({ wipe: slider.valueAsNumber });
  });
  watch(["wipe"], () => { slider.value = state.wipe; });
  blink.addEventListener("click", () => {
    if (timer) {
      stopBlinking();
      return;
    }
    blink.setAttribute("aria-pressed", true);
    change({ wipe: 1 });
    timer = setInterval(() => change({ wipe: state.wipe > 0.5 ? 0 : 1 }), BLINK_MS);
  });
}

function showScores({ rows, caption }) {
  const table = element("scores");
  table.append(make("caption", { textContent: caption }));
  for (const [name, value] of rows) {
    const row = table.insertRow();
    row.append(make("th", { scope: "row", textContent: name }), make("td", { textContent: value }));
  }
  table.hidden = false;
}
