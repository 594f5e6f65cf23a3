// The maps as pictures, and the values under the pointer.

function decode(text, Type) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Type(bytes.buffer);
}

const data = JSON.parse(document.getElementById("data").textContent);
const width = data.width, height = data.height;
const maps = {};  // name to Float32Array, row by row
for (const [name, text] of Object.entries(data.maps)) maps[name] = decode(text, Float32Array);
const tables = {};  // 256 colours each
for (const [name, text] of Object.entries(data.colours)) tables[name] = decode(text, Uint8Array);
const HIDDEN = 150;  // grey, for what is not a number

// RGBA of a map between the ends of its scale.
function paint(name, range, table) {
  const values = maps[name], colours = tables[table];
  const pixels = new Uint8ClampedArray(4 * values.length);
  for (let i = 0; i < values.length; i++) {
    const share = (values[i] - range[0]) / (range[1] - range[0]);
    const entry = 3 * Math.round(255 * Math.min(Math.max(share, 0), 1));
    for (let c = 0; c < 3; c++) pixels[4 * i + c] = Number.isFinite(values[i]) ? colours[entry + c] : HIDDEN;
    pixels[4 * i + 3] = 255;
  }
  return pixels;
}

const marks = [];

function addPanel(title, pixels, scale) {
  const figure = document.createElement("figure");
  const picture = figure.appendChild(document.createElement("div"));
  picture.className = "picture";
  const canvas = picture.appendChild(document.createElement("canvas"));
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
  const mark = picture.appendChild(document.createElement("div"));
  mark.className = "mark";
  marks.push(mark);
  const caption = figure.appendChild(document.createElement("figcaption"));
  const name = caption.appendChild(document.createElement("b"));
  name.textContent = title;
  if (scale) {
    const colours = tables[scale.table];
    const stops = [];
    for (let i = 0; i <= 16; i++) {
      const entry = 3 * Math.round((255 * i) / 16);
      stops.push(`rgb(${colours[entry]},${colours[entry + 1]},${colours[entry + 2]})`);
    }
    const low = caption.appendChild(document.createElement("span"));
    low.textContent = scale.range[0].toFixed(2);
    const bar = caption.appendChild(document.createElement("span"));
    bar.className = "scale";
    bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const high = caption.appendChild(document.createElement("span"));
    high.textContent = `${scale.range[1].toFixed(2)} px`;
  }
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * width);
    const y = Math.floor(((event.clientY - box.top) / box.height) * height);
    if (x >= 0 && y >= 0 && x < width && y < height) show(x, y);
  });
  document.getElementById("panels").appendChild(figure);
}

function format(value, digits) {
  return Number.isFinite(value) ? value.toFixed(digits) : String(value);
}

// What is known at a pixel, as pairs of name and value.
function describe(x, y) {
  const at = (name) => maps[name][y * width + x];
  const facts = [["x, y", `${x}, ${y}`], ["disparity", `${format(at("disparity"), 4)} px`]];
  if (maps.deviation) facts.push(["deviation", `${format(at("deviation"), 4)} px`]);
  if (maps.lower && maps.upper) {
    facts.push([data.interval, `${format(at("lower"), 4)} to ${format(at("upper"), 4)} px`]);
  }
  if (maps.depth) facts.push(["depth", `${format(at("depth") / 1000, 3)} m`]);
  return facts;
}

function show(x, y) {
  const readout = document.getElementById("readout");
  readout.replaceChildren(...describe(x, y).map(([name, value]) => {
    const fact = document.createElement("span");
    fact.append(`${name} `, Object.assign(document.createElement("b"), { textContent: value }));
    return fact;
  }));
  for (const mark of marks) {
    mark.style.display = "block";
    mark.style.left = `${(100 * (x + 0.5)) / width}%`;
    mark.style.top = `${(100 * (y + 0.5)) / height}%`;
  }
}

const pictures = {};  // RGBA by what they show
const view = data.view && decode(data.view, Uint8Array);  // RGB
if (view) {
  pictures.view = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let i = 0; i < width * height; i++) pictures.view.set(view.subarray(3 * i, 3 * i + 3), 4 * i);
  addPanel("central view", pictures.view);
}
for (const [name, table] of [["disparity", "disparity"], ["deviation", "error"]]) {
  if (!maps[name]) continue;
  pictures[name] = paint(name, data.ranges[name], table);
  addPanel(name, pictures[name], { table, range: data.ranges[name] });
}
