// Points in space, turned with the mouse: plain WebGL.

const VERTEX = `
  attribute vec3 position;
  attribute vec3 colour;
  attribute float size;
  uniform mat4 camera;
  uniform float pixels;
  varying vec3 shade;
  void main() {
    gl_Position = camera * vec4(position, 1.0);
    gl_PointSize = clamp(pixels * size / gl_Position.w, 1.0, 24.0);
    shade = colour;
  }`;
const FRAGMENT = `
  precision mediump float;
  varying vec3 shade;
  void main() { gl_FragColor = vec4(shade, 1.0); }`;

// Every pixel as a point, nearer for larger disparities; x to the right, y down, z into the scene.
function makeRelief() {
  const values = maps.disparity, range = data.ranges.disparity;
  const depth = 0.35 / Math.max(range[1] - range[0], 1e-6);
  const longer = Math.max(width, height);
  const kept = [];
  for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i])) kept.push(i);
  const positions = new Float32Array(3 * kept.length);
  kept.forEach((i, n) => {
    const clipped = Math.min(Math.max(values[i], range[0]), range[1]);
    positions[3 * n] = ((i % width) - (width - 1) / 2) / longer;
    positions[3 * n + 1] = (Math.floor(i / width) - (height - 1) / 2) / longer;
    positions[3 * n + 2] = 1 + depth * ((range[0] + range[1]) / 2 - clipped);
  });
  const colours = {};
  for (const [name, pixels] of Object.entries(pictures)) {
    colours[name] = new Uint8Array(3 * kept.length);
    kept.forEach((i, n) => colours[name].set(pixels.subarray(4 * i, 4 * i + 3), 3 * n));
  }
  return { positions, colours, sizes: new Float32Array(kept.length).fill(1 / longer), extent: 1 };
}

// The point cloud, scaled so that its middle is one unit away. A pixel covers more of what is farther.
// Like a relief it has an extent: the longer side of what the central camera sees at that distance.
function makeCloud() {
  const raw = decode(data.cloud.points, Float32Array);
  const count = raw.length / 3;
  const depths = Float32Array.from({ length: count }, (_, n) => raw[3 * n + 2]).sort();
  const middle = depths[Math.floor(count / 2)];
  const positions = raw.map((value) => value / middle);
  const sizes = Float32Array.from({ length: count }, (_, n) => positions[3 * n + 2] * data.cloud.pixel);
  const colours = { view: decode(data.cloud.colours, Uint8Array) };
  return { positions, colours, sizes, extent: data.cloud.pixel * Math.max(width, height) };
}

const makers = {};
if (data.cloud) makers["point cloud"] = makeCloud;
makers["relief of disparities"] = makeRelief;

const canvas = document.getElementById("scene");
const gl = canvas.getContext("webgl", { antialias: true, preserveDrawingBuffer: true });
const START = { turn: 0, tilt: 0, distance: 1.08, shift: [0, 0] };
let pose = structuredClone(START);
let shape = null;

function compile(type, source) {
  const shader = gl.createShader(type);
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
  return shader;
}

function upload(program, name, values, parts, normalized) {
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  const place = gl.getAttribLocation(program, name);
  gl.enableVertexAttribArray(place);
  gl.vertexAttribPointer(place, parts, normalized ? gl.UNSIGNED_BYTE : gl.FLOAT, normalized, 0, 0);
}

// From the scene (y down, z away) to the screen (y up): turn around the point one unit away, step back, project.
function makeCamera(aspect) {
  const [ct, st, cp, sp] = [Math.cos(pose.turn), Math.sin(pose.turn), Math.cos(pose.tilt), Math.sin(pose.tilt)];
  const rows = [
    [ct, 0, st],
    [sp * st, cp, -sp * ct],
    [-cp * st, sp, cp * ct],
  ].map((row) => [...row, -row[2]]);
  rows[0][3] += pose.shift[0];
  rows[1][3] += pose.shift[1];
  rows[2][3] += pose.distance;
  const zoom = 2 / shape.extent;
  const near = 0.01, far = 100;
  const slope = (far + near) / (far - near), offset = (-2 * far * near) / (far - near);
  const [x, y, z] = rows;
  const matrix = [
    x.map((value) => (value * zoom) / Math.max(aspect, 1)),
    y.map((value) => -value * zoom * Math.min(aspect, 1)),
    z.map((value, i) => slope * value + (i === 3 ? offset : 0)),
    z,
  ];
  return new Float32Array([0, 1, 2, 3].flatMap((column) => matrix.map((row) => row[column])));
}

let program = null;

function draw() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  gl.viewport(0, 0, canvas.width, canvas.height);
  gl.clearColor(0.063, 0.075, 0.086, 1);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  gl.uniformMatrix4fv(gl.getUniformLocation(program, "camera"), false, makeCamera(canvas.width / canvas.height));
  const pixels = (1.3 * Math.min(canvas.width, canvas.height)) / shape.extent;
  gl.uniform1f(gl.getUniformLocation(program, "pixels"), pixels);
  gl.drawArrays(gl.POINTS, 0, shape.positions.length / 3);
}

let waiting = false;

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

function fill(select, names) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
}

function choose(name) {
  shape = makers[name]();
  fill(document.getElementById("colour"), Object.keys(shape.colours));
  document.getElementById("colour-label").hidden = Object.keys(shape.colours).length < 2;
  upload(program, "position", shape.positions, 3, false);
  upload(program, "size", shape.sizes, 1, false);
  colour(Object.keys(shape.colours)[0]);
}

function colour(name) {
  upload(program, "colour", shape.colours[name], 3, true);
  redraw();
}

function drag(event) {
  if (!event.buttons) return;
  const dx = event.movementX / canvas.clientHeight, dy = event.movementY / canvas.clientHeight;
  if (event.shiftKey || event.buttons & 2) {
    const unit = pose.distance * shape.extent;
    pose.shift = [pose.shift[0] + unit * dx, pose.shift[1] + unit * dy];
  } else {
    pose.turn -= 3 * dx;
    pose.tilt = Math.min(Math.max(pose.tilt - 3 * dy, -1.5), 1.5);
  }
  redraw();
}

if (!gl) {
  canvas.replaceWith("This browser shows no WebGL, so there is nothing to turn here.");
} else {
  program = gl.createProgram();
  gl.attachShader(program, compile(gl.VERTEX_SHADER, VERTEX));
  gl.attachShader(program, compile(gl.FRAGMENT_SHADER, FRAGMENT));
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.enable(gl.DEPTH_TEST);
  fill(document.getElementById("shape"), Object.keys(makers));
  document.getElementById("shape").addEventListener("change", (event) => choose(event.target.value));
  document.getElementById("colour").addEventListener("change", (event) => colour(event.target.value));
  document.getElementById("reset").addEventListener("click", () => {
    pose = structuredClone(START);
    redraw();
  });
  canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
  canvas.addEventListener("pointermove", drag);
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    pose.distance = Math.min(Math.max(pose.distance * Math.exp(0.001 * event.deltaY), 0.05), 20);
    redraw();
  }, { passive: false });
  window.addEventListener("resize", redraw);
  choose(Object.keys(makers)[0]);
  draw();
}
document.body.dataset.ready = "yes";  // for whoever waits for the page
