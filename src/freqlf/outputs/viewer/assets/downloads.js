// Files of what is shown.

function save(parts, name, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob(parts, { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function saveCanvas(canvas, name) {
  canvas.toBlob((picture) => save([picture], name, "image/png"));
}

// The disparity as PFM: bottom row first, NaN where pixels are beyond the limits.
function savePfm() {
  const values = new Float32Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const i = y * width + x;
      values[(height - 1 - y) * width + x] = state.hidden[i] ? NaN : first.maps.disparity[i];
    }
  }
  save([`Pf\n${width} ${height}\n-1.0\n`, values], `${data.name}-disparity.pfm`, "application/octet-stream");
}

// The points that are drawn, with their colours, as binary PLY; in mm if the camera is known.
function savePly(points) {
  const { positions, unit } = points.shape, colours = points.colours.pixels, kept = [];
  for (let i = 0; i < width * height; i++) if (points.isShown(i)) kept.push(i);
  const bytes = new DataView(new ArrayBuffer(15 * kept.length));
  kept.forEach((i, n) => {
    for (let axis = 0; axis < 3; axis++) {
      bytes.setFloat32(15 * n + 4 * axis, positions[3 * i + axis] * (unit ?? 1), true);
      bytes.setUint8(15 * n + 12 + axis, colours[4 * i + axis]);
    }
  });
  const header = [
    "ply", "format binary_little_endian 1.0", `comment ${unit ? "mm" : "no camera: x and y in longer sides of the image"}`,
    `element vertex ${kept.length}`, ...["x", "y", "z"].map((axis) => `property float ${axis}`),
    ...["red", "green", "blue"].map((colour) => `property uchar ${colour}`), "end_header", "",
  ];
  save([header.join("\n"), bytes], `${data.name}-points.ply`, "application/octet-stream");
}
