// The data of the page, as payload.py packs them: base64 in a JSON element.

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

async function inflate(text) {
  const stream = new Blob([decodeBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A map (Float32Array, row by row) of 16-bit codes: all low bytes, then all high bytes, of their differences from one
// pixel to the next, with the sign in the last bit. Code 0 is a value that is not known.
async function unpackMap({ data, offset, step }) {
  const bytes = await inflate(data);
  const values = new Float32Array(bytes.length / 2);
  for (let i = 0, code = 0; i < values.length; i++) {
    const folded = bytes[i] | (bytes[values.length + i] << 8);
    code = (code + ((folded >>> 1) ^ -(folded & 1))) & 0xffff;  // wraps around, as the differences did
    values[i] = code ? offset + step * (code - 1) : NaN;
  }
  return values;
}

async function unpackMaps(packed) {
  const names = Object.keys(packed);
  const maps = await Promise.all(names.map((name) => unpackMap(packed[name])));
  return Object.fromEntries(names.map((name, i) => [name, maps[i]]));
}

// One bit per pixel, as bytes of 0 and 1.
async function unpackMask(text, count) {
  const bits = await inflate(text);
  return Uint8Array.from({ length: count }, (_, i) => (bits[i >> 3] >> (7 - (i & 7))) & 1);
}

// A canvas context with a picture file.
async function unpackPicture(text) {
  const options = { colorSpaceConversion: "none", premultiplyAlpha: "none" };
  const bitmap = await createImageBitmap(new Blob([decodeBase64(text)]), options);
  const context = makeCanvas(bitmap.width, bitmap.height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  return context;
}

// The views stand side by side in one picture: tiles of RGBA, in the order of their steps from the centre.
async function unpackViews({ picture, steps, columns, width, height }) {
  const context = await unpackPicture(picture);
  const tiles = steps.map((_, n) =>
    context.getImageData((n % columns) * width, Math.floor(n / columns) * height, width, height).data);
  return { steps, tiles, width, height };
}

async function unpack(packed) {
  const { width, height } = packed;
  const [results, view, views, selected] = await Promise.all([
    Promise.all(packed.results.map(async (result) => ({ ...result, maps: await unpackMaps(result.maps) }))),
    packed.view && unpackPicture(packed.view).then((context) => context.getImageData(0, 0, width, height)),
    packed.views && unpackViews(packed.views),
    packed.points && unpackMask(packed.points, width * height),
  ]);
  const colours = Object.fromEntries(Object.entries(packed.colours).map(([name, text]) => [name, decodeBase64(text)]));
  return { ...packed, results, view, views, points: selected, colours };
}
