// Points in space, turned with the hand: every pixel is one, in WebGL.

const POINT = `#version 300 es
  in vec3 position;
  in vec3 colour;
  in float hidden;
  uniform mat4 camera;
  uniform float pixels;      // of the screen that a length of 1 covers at a distance of 1
  uniform float size;        // of a point one unit away
  uniform bool grows;        // whether a pixel covers more of what is farther
  uniform vec3 low, high;    // the crop box
  uniform float brightness;
  out vec3 shade;
  void main() {
    gl_Position = camera * vec4(position, 1.0);
    bool outside = position != clamp(position, low, high);
    if (hidden > 0.0 || outside) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);  // beyond the screen
    gl_PointSize = clamp(pixels * size * (grows ? position.z : 1.0) / gl_Position.w, 1.0, 24.0);
    shade = min(brightness * colour, 1.0);
  }`;
const SHADE = `#version 300 es
  precision mediump float;
  in vec3 shade;
  out vec4 colour;
  void main() { colour = vec4(shade, 1.0); }`;

const START = { turn: 0, tilt: 0, distance: 1.08, shift: [0, 0] };
const DRAFT_POINTS = 300000, REST_MS = 250;
const RELIEF_DEPTH = 0.35;  // of the longer side, from the nearest to the farthest

// About as many values as it takes to find a median or the ends of a distribution, sorted.
function sampleSorted(values, keep, stride = 1, offset = 0) {
  const every = Math.max(1, Math.floor(width * height / 20000)), sample = [];
  for (let i = 0; i < width * height; i += every) if (keep(i)) sample.push(values[stride * i + offset]);
  return Float32Array.from(sample).sort();
}

// All pixels of a disparity map as points, x to the right, y down, z into the scene, and which of them cannot be shown.
// In a cloud the unit is its median depth `unit` in mm; in a relief it is the longer side of the image.
function makeCloud(disparity) {
  const count = disparity.length, depths = new Float32Array(count), missing = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    depths[i] = depthOf(disparity[i]);
    missing[i] = depths[i] < Infinity && (!data.points || data.points[i]) ? 0 : 1;
  }
  const known = sampleSorted(depths, (i) => !missing[i]);
  const unit = known[known.length >> 1] ?? 1;
  const positions = new Float32Array(3 * count);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) if (!missing[i]) positions.set(placeInSpace(x, y, depths[i] / unit), 3 * i);
  }
  const pixel = data.camera.pixel;
  return { positions, missing, unit, size: pixel, grows: true, extent: pixel * Math.max(width, height) };
}

function makeRelief(disparity) {
  const [low, high] = data.ranges.disparity, longer = Math.max(width, height);
  const positions = new Float32Array(3 * disparity.length), missing = new Uint8Array(disparity.length);
  for (let i = 0; i < disparity.length; i++) {
    missing[i] = Number.isNaN(disparity[i]);
    if (missing[i]) continue;
    positions[3 * i] = ((i % width) - (width - 1) / 2) / longer;
    positions[3 * i + 1] = (Math.floor(i / width) - (height - 1) / 2) / longer;
    positions[3 * i + 2] = 1 + RELIEF_DEPTH * (0.5 - (clamp(disparity[i], low, high) - low) / (high - low));
  }
  return { positions, missing, unit: null, size: 1 / longer, grows: false, extent: 1 };
}

// From the scene (y down, z away) to the screen (y up): turn around the point one unit away, step back, project.
function makeCamera(pose, extent, aspect) {
  const [ct, st, cp, sp] = [Math.cos(pose.turn), Math.sin(pose.turn), Math.cos(pose.tilt), Math.sin(pose.tilt)];
  const rows = [
    [ct, 0, st],
    [sp * st, cp, -sp * ct],
    [-cp * st, sp, cp * ct],
  ].map((row) => [...row, -row[2]]);
  rows[0][3] += pose.shift[0];
  rows[1][3] += pose.shift[1];
  rows[2][3] += pose.distance;
  const zoom = 2 / extent;
  const near = 0.01, far = 100;
  const slope = (far + near) / (far - near), offset = (-2 * far * near) / (far - near);
  const [x, y, z] = rows;
  return [
    x.map((value) => (value * zoom) / Math.max(aspect, 1)),
    y.map((value) => -value * zoom * Math.min(aspect, 1)),
    z.map((value, i) => slope * value + (i === 3 ? offset : 0)),
    z,
  ];
}

// Between what points lie along each axis, without outliers.
function findBounds({ positions, missing }) {
  return [0, 1, 2].map((axis) => {
    const values = sampleSorted(positions, (i) => !missing[i], 3, axis);
    return [0.001, 0.999].map((share) => values[Math.round(share * (values.length - 1))] ?? 0);
  });
}

// The canvas of points. `shapes` are functions that make one, `pictures` what colours it; both by name.
function addPoints(canvas, shapes, pictures) {
  const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
  if (!gl) {
    canvas.replaceWith("This browser shows no WebGL, so there is nothing to turn here.");
    return null;
  }
  const uniform = compileProgram(gl, POINT, SHADE);
  const program = gl.getParameter(gl.CURRENT_PROGRAM);
  const buffers = {};
  gl.enable(gl.DEPTH_TEST);

  // Values of all points: `parts` of them per point are used, the next point's come `stride` bytes later.
  function upload(name, values, parts, type, stride) {
    buffers[name] ??= { buffer: gl.createBuffer(), place: gl.getAttribLocation(program, name), parts, type, stride };
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name].buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(buffers[name].place);
  }

  // Let each attribute step over all points but every n-th.
  function takeEvery(n) {
    for (const { buffer, place, parts, type, stride } of Object.values(buffers)) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.vertexAttribPointer(place, parts, type, type === gl.UNSIGNED_BYTE, n * stride, 0);
    }
  }

  const points = { canvas, shape: null, hidden: null, colours: null, bounds: null };
  let pose = structuredClone(START);

  function matrix() {
    return makeCamera(pose, points.shape.extent, canvas.clientWidth / canvas.clientHeight);
  }

  // Where a point is on the canvas, in its CSS pixels, and how far away.
  points.project = (i, rows = matrix()) => {
    const [x, y, z] = points.shape.positions.subarray(3 * i, 3 * i + 3);
    const [cx, cy, , w] = rows.map((row) => row[0] * x + row[1] * y + row[2] * z + row[3]);
    return [canvas.clientWidth * (0.5 + cx / w / 2), canvas.clientHeight * (0.5 - cy / w / 2), w];
  };

  // Whether a point is drawn: known, within the limits and in the crop box.
  points.isShown = (i) => !points.hidden[i] && [0, 1, 2].every((axis) => {
    const value = points.shape.positions[3 * i + axis];
    return value >= state.box[axis][0] && value <= state.box[axis][1];
  });

  // The pixel whose point is under the pointer: the nearest within reach.
  function pickPoint(event) {
    const box = canvas.getBoundingClientRect(), rows = matrix();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let found = null, nearest = Infinity;
    for (let i = 0; i < width * height; i++) {
      if (points.hidden[i]) continue;
      const [x, y, w] = points.project(i, rows);
      if (w > 0 && w < nearest && Math.hypot(x - px, y - py) < 6 && points.isShown(i)) [found, nearest] = [i, w];
    }
    return found === null ? null : [found % width, Math.floor(found / width)];
  }

  function draw(every) {
    const ratio = window.devicePixelRatio || 1, { shape } = points;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...[1, 3, 5].map((at) => parseInt(state.background.slice(at, at + 2), 16) / 255), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const rows = matrix();
    gl.uniformMatrix4fv(uniform("camera"), true, rows.flat());
    gl.uniform1f(uniform("pixels"), (1.3 * Math.sqrt(every) * Math.min(canvas.width, canvas.height)) / shape.extent);
    gl.uniform1f(uniform("size"), shape.size);
    gl.uniform1i(uniform("grows"), shape.grows);
    gl.uniform3f(uniform("low"), ...state.box.map(([low]) => Math.max(low, -1e30)));
    gl.uniform3f(uniform("high"), ...state.box.map(([, high]) => Math.min(high, 1e30)));
    gl.uniform1f(uniform("brightness"), points.colours === pictures.view ? state.brightness : 1);
    takeEvery(every);
    gl.drawArrays(gl.POINTS, 0, Math.floor((width * height) / every));
    drawMarks(rows);
  }

  // Large images are drawn with fewer, larger points first, and with all once nothing moves: not every machine has a GPU.
  // The time to wait begins when the first drawing is on the screen, or a slow machine would never show it.
  let drawings = 0;
  function drawSoon() {
    let every = Math.ceil((width * height) / DRAFT_POINTS);
    if (every > 1 && width % every === 0) every += 1;  // or whole columns would be left out
    draw(every);
    const drawing = ++drawings;
    const finish = () => { if (drawing === drawings) draw(1); };
    if (every > 1) requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(finish, REST_MS)));
  }

  function drawMarks(rows) {
    const overlay = element("space-marks");
    const places = state.picked.map(([x, y]) => y * width + x)
      .filter((i) => !points.shape.missing[i]).map((i) => points.project(i, rows));
    const circles = places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="7"/>`);
    const [a, b] = places;
    if (b) circles.push(`<line x1="${a[0]}" y1="${a[1]}" x2="${b[0]}" y2="${b[1]}"/>`);
    overlay.innerHTML = circles.join("");
  }

  function turn(dx, dy) {  // near points go the way of the hand
    pose.turn -= dx;
    pose.tilt = clamp(pose.tilt + dy, -1.5, 1.5);
    change({ pose });
  }

  function shift(dx, dy) {
    const unit = pose.distance * points.shape.extent;
    pose.shift = [pose.shift[0] + unit * dx, pose.shift[1] + unit * dy];
    change({ pose });
  }

  function approach(factor) {
    pose.distance = clamp(pose.distance / factor, 0.05, 20);
    change({ pose });
  }

  points.reset = () => {
    pose = structuredClone(START);
    change({ pose });
  };
  points.choose = (name) => {
    points.shape = shapes[name]();
    points.bounds = findBounds(points.shape);
    upload("position", points.shape.positions, 3, gl.FLOAT, 12);
    change({ shape: name, box: points.bounds.map(() => [-Infinity, Infinity]) });
  };
  followPointers(canvas, {
    drag: (dx, dy, event) => {
      const [sx, sy] = [dx / canvas.clientHeight, dy / canvas.clientHeight];
      if (event.shiftKey || event.buttons & 2) shift(sx, sy);
      else turn(3 * sx, 3 * sy);
    },
    zoom: approach,
    tap: (event) => pick(pickPoint(event), event.shiftKey),
  });
  followKeys(canvas, {
    move: (dx, dy, event) => (event.shiftKey ? shift(0.03 * dx, 0.03 * dy) : turn(0.1 * dx, 0.1 * dy)),
    zoom: approach,
    home: points.reset,
  });
  watch(["shape", "hidden"], () => {
    points.hidden = points.shape.missing.slice();
    for (let i = 0; i < points.hidden.length; i++) points.hidden[i] |= state.hidden[i];
    upload("hidden", points.hidden, 1, gl.UNSIGNED_BYTE, 1);
  });
  watch(["colours", "hidden"], () => {
    points.colours = pictures[state.colours];
    upload("colour", points.colours.pixels, 3, gl.UNSIGNED_BYTE, 4);
  });
  watch(["pose", "shape", "colours", "hidden", "box", "background", "brightness", "picked", "size"], drawSoon);
  watchSize(canvas);
  return points;
}
