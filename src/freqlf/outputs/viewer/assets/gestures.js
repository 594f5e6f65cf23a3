// Mouse, pen, touch and wheel, as drags, taps and zooms.

const SLACK_PX = 5;  // a hand is never quite still: less is a tap

function followPointers(element, { drag, tap, zoom, hover, leave, wheels = () => true }) {
  const down = new Map();  // id to the last event of a pointer that touches
  let travelled = 0;

  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    down.set(event.pointerId, event);
    travelled = down.size > 1 ? Infinity : 0;
  });
  element.addEventListener("pointermove", (event) => {
    const last = down.get(event.pointerId);
    if (!last) {
      hover?.(event);
      return;
    }
    const [dx, dy] = [event.clientX - last.clientX, event.clientY - last.clientY];
    travelled += Math.hypot(dx, dy);
    if (down.size === 1 && travelled > SLACK_PX) drag(dx, dy, event);
    if (down.size === 2) {
      const other = [...down.values()].find((pointer) => pointer.pointerId !== event.pointerId);
      const reach = (pointer) => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY);
      const middle = { clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 };
      zoom(reach(event) / Math.max(reach(last), 1), middle);
    }
    down.set(event.pointerId, event);
  });
  element.addEventListener("pointerup", (event) => {
    if (down.delete(event.pointerId) && travelled <= SLACK_PX) tap(event);
  });
  element.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  element.addEventListener("pointerleave", (event) => {
    if (!down.size && event.pointerType !== "touch") leave?.();
  });
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  element.addEventListener("wheel", (event) => {
    if (!wheels(event)) return;  // the page scrolls
    event.preventDefault();
    zoom(Math.exp(-0.002 * event.deltaY), event);
  }, { passive: false });
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// Keys while the element has the focus: arrows move, plus and minus zoom, Enter acts, Home goes back to the start.
function followKeys(element, { move, zoom, act, home }) {
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (ARROWS[event.key]) move?.(...ARROWS[event.key], event);
    else if (event.key === "+" || event.key === "=") zoom?.(1.25);
    else if (event.key === "-") zoom?.(0.8);
    else if (event.key === "Enter" || event.key === " ") act?.(event);
    else if (event.key === "Home") home?.();
    else return;
    event.preventDefault();
  });
}
