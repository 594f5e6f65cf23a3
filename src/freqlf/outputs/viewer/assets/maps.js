// Maps as pictures in colours: panels that show the same part of the image, with the values under the pointer.

const UNKNOWN = 150;  // grey, for what is not a number
const FADED = 0.15;   // how much of its colour a pixel beyond the limits keeps

// Colours of a scale as words of RGBA; the second half is faded, for pixels beyond the limits.
function makeWords(colours) {
  const bytes = new Uint8ClampedArray(4 * 512).fill(255);
  for (let entry = 0; entry < 256; entry++) {
    for (let c = 0; c < 3; c++) {
      const colour = colours[3 * entry + c];
      bytes[4 * entry + c] = colour;
      bytes[4 * (256 + entry) + c] = UNKNOWN + FADED * (colour - UNKNOWN);
    }
  }
  return new Uint32Array(bytes.buffer);
}

const GREY = new Uint32Array(new Uint8Array([UNKNOWN, UNKNOWN, UNKNOWN, 255]).buffer)[0];

// RGBA of values between the ends of a scale; where `faded` is set, mixed with grey.
function paint(values, range, colours, faded) {
  const words = makeWords(colours), pixels = new Uint32Array(values.length), scale = 255 / (range[1] - range[0]);
  for (let i = 0; i < values.length; i++) {
    const value = values[i], share = scale * (value - range[0]);
    const entry = share > 0 ? (share < 255 ? Math.round(share) : 255) : 0;
    pixels[i] = value === value ? words[entry + (faded[i] ? 256 : 0)] : GREY;  // NaN equals nothing
  }
  return new Uint8ClampedArray(pixels.buffer);
}

// Which pixels are beyond the limits that the user has set, as bytes of 0 and 1.
function findHidden() {
  const { deviation, "no-evidence": noEvidence } = first.maps;
  const hidden = new Uint8Array(width * height);
  if (deviation && state.maxDeviation < Infinity) {
    for (let i = 0; i < hidden.length; i++) hidden[i] = deviation[i] > state.maxDeviation;
  }
  if (noEvidence && state.maxNoEvidence < Infinity) {
    for (let i = 0; i < hidden.length; i++) hidden[i] |= noEvidence[i] > state.maxNoEvidence;
  }
  return hidden;
}

// A picture of the page: { title, canvas, pixels }; pixels are RGBA.
function makePicture(title, pixels) {
  const canvas = makeCanvas(width, height);
  const picture = { title, canvas };
  picture.set = (rgba) => {
    picture.pixels = rgba;
    canvas.getContext("2d").putImageData(new ImageData(rgba, width, height), 0, 0);
  };
  if (pixels) picture.set(pixels);
  return picture;
}

// --- the part of the image that all panels show ---------------------------------------------------------------------

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function moveWindow(x, y, zoom) {
  zoom = clamp(zoom, 1, 40);
  const margin = 0.5 / zoom;
  change({ window: { x: clamp(x, margin, 1 - margin), y: clamp(y, margin, 1 - margin), zoom } });
}

// Zoom so that the point at these shares of a panel stays where it is.
function zoomWindow(factor, shareX = 0.5, shareY = 0.5) {
  const { x, y, zoom } = state.window;
  const larger = clamp(zoom * factor, 1, 40), kept = 1 / zoom - 1 / larger;
  moveWindow(x + (shareX - 0.5) * kept, y + (shareY - 0.5) * kept, larger);
}

function shareOf(event, element) {
  const box = element.getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
}

// The pixel under a pointer, or null outside of the image.
function pixelAt(event, element) {
  const [shareX, shareY] = shareOf(event, element), { x, y, zoom } = state.window;
  const pixel = [Math.floor(width * (x + (shareX - 0.5) / zoom)), Math.floor(height * (y + (shareY - 0.5) / zoom))];
  return pixel[0] >= 0 && pixel[1] >= 0 && pixel[0] < width && pixel[1] < height ? pixel : null;
}

function pick(pixel, keep) {
  if (!pixel) return;
  const picked = keep || state.measuring ? [state.picked[0] ?? pixel, pixel] : [pixel];
  const sharp = first.maps.disparity[pixel[1] * width + pixel[0]];
  change({ picked, hover: pixel, ...(state.mode === "focus" && Number.isFinite(sharp) && { focus_px: sharp }) });
}

// --- panels ---------------------------------------------------------------------------------------------------------

// A figure with a picture. `keys` say when the picture is another; `source` gives the canvas with the picture, `drag`
// replaces moving the window, `over` draws above the picture.
function addPanel({ id, title, source, keys = [], scale, drag, over }) {
  const figure = make("figure", { id: `panel-${id}` });
  const canvas = figure.appendChild(make("canvas", { tabIndex: 0, role: "img" }));
  canvas.style.aspectRatio = `${width} / ${height}`;
  canvas.setAttribute("aria-label", `${title}. Arrows move the mark, Enter picks its pixel, plus and minus zoom.`);
  const caption = figure.appendChild(make("figcaption"));
  caption.append(make("b", { textContent: title }));
  if (scale) caption.append(...drawScale(scale));
  const enlarge = caption.appendChild(make("button", { type: "button", textContent: "⤢", className: "icon" }));
  const save = caption.appendChild(make("button", { type: "button", textContent: "PNG", className: "icon" }));
  save.title = `Save ${title} as a PNG file`;
  save.addEventListener("click", () => saveCanvas(source(), `${data.name}-${id}.png`));

  function setLarge(large) {
    figure.classList.toggle("large", large);
    enlarge.title = large ? "Show all pictures side by side" : `Enlarge ${title}`;
    enlarge.setAttribute("aria-label", enlarge.title);
    enlarge.setAttribute("aria-pressed", large);
  }
  setLarge(false);
  enlarge.addEventListener("click", () => setLarge(!figure.classList.contains("large")));
  canvas.addEventListener("dblclick", () => setLarge(!figure.classList.contains("large")));

  followPointers(canvas, {
    hover: (event) => change({ hover: pixelAt(event, canvas) }),
    leave: () => change({ hover: state.picked.at(-1) ?? null }),
    tap: (event) => pick(pixelAt(event, canvas), event.shiftKey),
    zoom: (factor, event) => zoomWindow(factor, ...shareOf(event, canvas)),
    // A page of pictures must scroll: the wheel zooms where there is nothing else to see, or as a pinch.
    wheels: (event) => event.ctrlKey || figure.classList.contains("large") || state.window.zoom > 1,
    drag: (dx, dy, event) => {
      if (drag?.(dx / canvas.clientWidth, dy / canvas.clientHeight)) return;
      const { x, y, zoom } = state.window;
      if (zoom > 1) moveWindow(x - dx / canvas.clientWidth / zoom, y - dy / canvas.clientHeight / zoom, zoom);
      else change({ hover: pixelAt(event, canvas) });
    },
  });
  followKeys(canvas, {
    move: (dx, dy, event) => {
      const [x, y] = state.hover ?? [width >> 1, height >> 1], reach = event.shiftKey ? 10 : 1;
      change({ hover: [clamp(x + reach * dx, 0, width - 1), clamp(y + reach * dy, 0, height - 1)] });
    },
    zoom: (factor) => {
      const [x, y] = state.hover ?? [width / 2, height / 2];
      moveWindow((x + 0.5) / width, (y + 0.5) / height, state.window.zoom * factor);
    },
    act: (event) => pick(state.hover, event.shiftKey),
    home: () => moveWindow(0.5, 0.5, 1),
  });

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const { x, y, zoom } = state.window, from = source(), context = canvas.getContext("2d");
    canvas.style.touchAction = zoom > 1 || drag ? "none" : "pan-x pan-y";
    context.imageSmoothingEnabled = (canvas.width * zoom) / from.width < 2;  // single pixels stay squares
    const part = [from.width / zoom, from.height / zoom];
    context.drawImage(from, from.width * x - part[0] / 2, from.height * y - part[1] / 2, ...part,
      0, 0, canvas.width, canvas.height);
    const place = ([px, py]) => [
      canvas.width * (0.5 + zoom * ((px + 0.5) / width - x)), canvas.height * (0.5 + zoom * ((py + 0.5) / height - y)),
    ];
    over?.(context, canvas, place);
    if (state.hover) drawMark(context, place(state.hover), 5 * ratio);
    state.picked.forEach((pixel, n) => drawMark(context, place(pixel), 8 * ratio, state.picked.length > 1 && n + 1));
  }
  element("panels").append(figure);
  watch([...keys, "window", "hover", "picked", "size"], draw);
  watchSize(canvas);
  return figure;
}

// A ring around a place, white with a dark edge, perhaps with a number.
function drawMark(context, [x, y], radius, label) {
  for (const [colour, line] of [["#000000", 4], ["#ffffff", 2]]) {
    context.strokeStyle = colour;
    context.lineWidth = (line * radius) / 6;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }
  if (!label) return;
  context.font = `bold ${1.8 * radius}px sans-serif`;
  context.strokeStyle = "#000000";
  context.fillStyle = "#ffffff";
  context.strokeText(label, x + 1.4 * radius, y - 0.8 * radius);
  context.fillText(label, x + 1.4 * radius, y - 0.8 * radius);
}

function drawScale({ colours, range }) {
  const stops = Array.from({ length: 17 }, (_, i) => 3 * Math.round((255 * i) / 16))
    .map((entry) => `rgb(${colours[entry]},${colours[entry + 1]},${colours[entry + 2]})`);
  const bar = make("span", { className: "scale" });
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const ends = range.map((value) => value.toFixed(2));
  return [make("span", { textContent: ends[0] }), bar, make("span", { textContent: `${ends[1]} px` })];
}

// Draw again when the canvas gets another size.
function watchSize(canvas) {
  let last = canvas.clientWidth;
  new ResizeObserver(() => {
    if (canvas.clientWidth === last) return;
    last = canvas.clientWidth;
    change({ size: last });
  }).observe(canvas);
}

// --- values ---------------------------------------------------------------------------------------------------------

function format(value, digits, unit) {
  return Number.isFinite(value) ? `${value.toFixed(digits)} ${unit}` : "unknown";
}

// Depth along the optical axis in mm; infinite where the disparity is that of infinity or beyond.
function depthOf(disparity_px) {
  const { beta, focus_mm, sensor_mm } = data.camera;
  const divisor = disparity_px * focus_mm * sensor_mm + beta;
  return divisor > 0 ? (beta * focus_mm) / divisor : divisor <= 0 ? Infinity : NaN;
}

// What is known at a pixel, as pairs of name and value.
function describe([x, y]) {
  const i = y * width + x, facts = [["x, y", `${x}, ${y}`]];
  for (const { name, maps, interval } of data.results) {
    facts.push([second ? name : "disparity", format(maps.disparity[i], 3, "px")]);
    if (maps.deviation) facts.push(["deviation", format(maps.deviation[i], 3, "px")]);
    if (maps.lower && maps.upper) {
      facts.push([interval, `${format(maps.lower[i], 3, "")} to ${format(maps.upper[i], 3, "px")}`]);
    }
    if (maps["no-evidence"]) facts.push(["no evidence", maps["no-evidence"][i].toFixed(2)]);
  }
  if (second) facts.push(["difference", format(first.maps.disparity[i] - second.maps.disparity[i], 3, "px")]);
  if (data.camera) facts.push(["depth", describeDepth(depthOf(first.maps.disparity[i]))]);
  return facts;
}

function describeDepth(depth_mm) {
  return depth_mm === Infinity ? "infinite" : format(depth_mm / 1000, 3, "m");
}

// The way from the first picked pixel to the second.
function measure(pixels) {
  const [from, to] = pixels.map(([x, y]) => first.maps.disparity[y * width + x]);
  const flat = Math.hypot(pixels[0][0] - pixels[1][0], pixels[0][1] - pixels[1][1]);
  const facts = [["in the image", format(flat, 1, "px")], ["disparity, 2 less 1", format(to - from, 3, "px")]];
  if (data.camera) {
    const [a, b] = pixels.map(([x, y]) => placeInSpace(x, y, depthOf(first.maps.disparity[y * width + x])));
    facts.unshift(["distance 1 to 2", format(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) / 1000, 3, "m")]);
  }
  return facts;
}

// A pixel of this depth in the frame of the central camera: x right, y down, z into the scene.
function placeInSpace(x, y, depth) {
  return [(x - (width - 1) / 2) * data.camera.pixel * depth, (y - (height - 1) / 2) * data.camera.pixel * depth, depth];
}

function showFacts(element, facts) {
  element.replaceChildren(...facts.map(([name, value]) => {
    const fact = make("span");
    fact.append(`${name} `, make("b", { textContent: value }));
    return fact;
  }));
}
