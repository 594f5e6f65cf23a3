// Elements of the page.

function element(id) {
  return document.getElementById(id);
}

function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

function makeCanvas(width, height) {
  return make("canvas", { width, height });
}
