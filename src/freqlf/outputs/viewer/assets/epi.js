// Epipolar-plane images: one row (or column) of pixels out of each view of a line. A point draws a line in them, and the
// estimated disparity is its slope.

const EPI_REACH_PX = 48;   // pixels of the stored views on either side of the picked one
const EPI_ROW_PX = 14;     // height of one view's row on the screen
const EPI_LINE = "#ff2d55";

// The views of a line, in order: [index, steps from the centre]; `axis` 0 goes down, 1 to the right.
function lineOfViews(steps, axis) {
  return steps.map((step, index) => [index, step[axis], step[1 - axis]])
    .filter(([, , across]) => across === 0).sort((a, b) => a[1] - b[1]);
}

// Draw the EPI through a pixel; `axis` 1 is horizontal (a row of pixels), 0 vertical (a column).
function drawEpi(canvas, views, [x, y], axis) {
  const { width: wide, height: high } = views, line = lineOfViews(views.steps, axis), scale = wide / width;
  const [sx, sy] = [x, y].map((value) => (value + 0.5) * scale - 0.5);  // in the stored views
  const [along, across] = axis === 1 ? [sx, Math.round(sy)] : [sy, Math.round(sx)];
  const start = Math.round(along) - EPI_REACH_PX, count = 2 * EPI_REACH_PX + 1, limit = axis === 1 ? wide : high;
  const strip = new ImageData(count, line.length);
  line.forEach(([index], row) => {
    for (let i = 0; i < count; i++) {
      if (start + i < 0 || start + i >= limit) continue;  // stays transparent
      const [px, py] = axis === 1 ? [start + i, clamp(across, 0, high - 1)] : [clamp(across, 0, wide - 1), start + i];
      const from = 4 * (py * wide + px);
      strip.data.set(views.tiles[index].subarray(from, from + 4), 4 * (row * count + i));
    }
  });
  const small = makeCanvas(count, line.length);
  small.getContext("2d").putImageData(strip, 0, 0);

  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(line.length * EPI_ROW_PX * ratio);
  canvas.style.height = `${line.length * EPI_ROW_PX}px`;
  const context = canvas.getContext("2d"), unit = canvas.width / count, rowHeight = canvas.height / line.length;
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);

  // Where a point of this disparity is seen, from the first view to the last: `project_pixel` in two dimensions.
  function trace(disparity_px, dash, thickness) {
    if (!Number.isFinite(disparity_px)) return;
    const placeAt = (step) => (along - start + 0.5 - step * disparity_px * scale) * unit;
    const perRow = (line.at(-1)[1] - line[0][1]) / (line.length - 1);
    context.setLineDash(dash);
    context.lineWidth = thickness * ratio;
    context.strokeStyle = EPI_LINE;
    context.beginPath();
    context.moveTo(placeAt(line[0][1] - perRow / 2), 0);
    context.lineTo(placeAt(line.at(-1)[1] + perRow / 2), line.length * rowHeight);
    context.stroke();
  }
  const i = y * width + x;
  trace(first.maps.disparity[i], [], 2);
  for (const name of ["lower", "upper"]) if (first.maps[name]) trace(first.maps[name][i], [3 * ratio, 4 * ratio], 1);
}
