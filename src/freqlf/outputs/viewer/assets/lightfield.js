// The views themselves: look around by going from view to view, or focus by averaging them, each shifted as the
// disparity that is to be sharp says (shift and add, in WebGL).

const QUAD = `#version 300 es
  layout(location = 0) in vec2 corner;
  void main() { gl_Position = vec4(corner, 0.0, 1.0); }`;
const FOCUS = `#version 300 es
  precision highp float;
  precision highp sampler2DArray;
  uniform sampler2DArray views;
  uniform vec2 steps[COUNT];   // columns and rows from the central view
  uniform float shift;         // of a view one step away, in its pixels
  uniform float aperture;      // steps
  uniform int only;            // one view alone, or -1
  out vec4 colour;
  void main() {
    vec2 size = vec2(textureSize(views, 0).xy);
    vec2 here = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y);
    vec3 total = vec3(0.0);
    float count = 0.0;
    for (int i = 0; i < COUNT; i++) {
      if (only >= 0 ? i != only : max(abs(steps[i].x), abs(steps[i].y)) > aperture) continue;
      vec2 there = only >= 0 ? here : here - shift * steps[i];
      if (there != clamp(there, vec2(0.5), size - 0.5)) continue;
      total += texture(views, vec3(there / size, float(i))).rgb;
      count += 1.0;
    }
    colour = vec4(total / max(count, 1.0), 1.0);
  }`;

function compileProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  return (name) => gl.getUniformLocation(program, name);
}

// A canvas that holds a view, or the mean of all, once `draw` was called. Null if there are no views or no WebGL.
function makeLightField(views) {
  const canvas = views && makeCanvas(views.width, views.height);
  const gl = canvas?.getContext("webgl2", { preserveDrawingBuffer: true });
  if (!gl) return null;
  const uniform = compileProgram(gl, QUAD, FOCUS.replaceAll("COUNT", views.steps.length));
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);  // covers the canvas
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
  gl.bindTexture(gl.TEXTURE_2D_ARRAY, gl.createTexture());
  gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, gl.RGBA8, views.width, views.height, views.steps.length);
  views.tiles.forEach((tile, layer) => {
    const box = [0, 0, layer, views.width, views.height, 1];
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, ...box, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(tile.buffer));
  });
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  gl.uniform2fv(uniform("steps"), views.steps.flatMap(([rows, columns]) => [columns, rows]));

  function draw() {
    const looking = state.mode === "look";
    gl.viewport(0, 0, views.width, views.height);
    gl.uniform1i(uniform("only"), looking ? findView(views.steps, state.step) : -1);
    gl.uniform1f(uniform("shift"), (state.focus_px * views.width) / width);
    gl.uniform1f(uniform("aperture"), Math.min(state.aperture, 1e6));
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }
  return { canvas, draw };
}

// The view nearest to where somebody wants to look from; the first is the central one.
function findView(steps, [row, column]) {
  const distances = steps.map(([du, dv]) => Math.hypot(du - row, dv - column));
  return distances.indexOf(Math.min(...distances));
}

// A small map of the views that there are: point at one to look through it.
function addViewPad(pad, steps) {
  const reach = Math.max(...steps.flat().map(Math.abs)), radius = 4;
  const place = (step) => 8 + ((step + reach) / (2 * reach)) * 84;
  pad.replaceChildren(...steps.map(([row, column]) => {
    const dot = document.createElementNS(pad.namespaceURI, "circle");
    for (const [name, value] of [["cx", place(column)], ["cy", place(row)], ["r", radius]]) dot.setAttribute(name, value);
    return dot;
  }));
  const choose = (event) => {
    const [shareX, shareY] = shareOf(event, pad);
    const step = [shareY, shareX].map((share) => ((100 * share - 8) / 84) * 2 * reach - reach);
    change({ mode: "look", step });
  };
  followPointers(pad, { drag: (dx, dy, event) => choose(event), tap: choose, zoom: () => {}, wheels: () => false });
  followKeys(pad, {
    move: (dx, dy) => change({ mode: "look", step: stepTowards(steps, dx, dy) }),
    home: () => change({ mode: "look", step: [0, 0] }),
  });
  watch(["step", "mode"], () => {
    const shown = findView(steps, state.step);
    pad.childNodes.forEach((dot, i) => dot.classList.toggle("shown", state.mode === "look" && i === shown));
    const [row, column] = steps[shown];
    pad.setAttribute("aria-valuetext", `${row} rows and ${column} columns from the central view`);
  });
}

// The next view in a direction, or the present one at the end of the grid.
function stepTowards(steps, dx, dy) {
  const here = steps[findView(steps, state.step)];
  const ahead = steps.filter(([row, column]) => {
    const [down, right] = [row - here[0], column - here[1]];
    return dy ? right === 0 && down * dy > 0 : down === 0 && right * dx > 0;
  });
  return ahead.length ? ahead[findView(ahead, here)] : here;
}
