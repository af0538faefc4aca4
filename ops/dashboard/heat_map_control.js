// Pointer, wheel, pinch and keys on a heat map.
import {replace} from "./dom.js";

const DRAG_PX = 4;

export class HeatMapControl {
  #map;
  #pointers = new Map();
  #pressed = null;

  constructor(map) {
    this.#map = map;
    const {canvas} = map;
    canvas.addEventListener("pointerdown", event => this.#down(event));
    canvas.addEventListener("pointermove", event => this.#move(event));
    canvas.addEventListener("pointerup", event => this.#up(event));
    canvas.addEventListener("pointercancel", event => this.#pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.#hideTip());
    canvas.addEventListener("dblclick", event => map.zoom(4, this.#share(event)));
    canvas.addEventListener("wheel", event => this.#wheel(event), {passive: false});
    canvas.addEventListener("keydown", event => this.#key(event));
    canvas.addEventListener("blur", () => this.#hideTip());
  }

  #share(event) {
    const box = this.#map.canvas.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  }

  #cell(event) {
    const box = this.#map.canvas.getBoundingClientRect();
    return this.#map.hit(event.clientX - box.left, event.clientY - box.top);
  }

  #down(event) {
    this.#pointers.set(event.pointerId, event);
    this.#pressed = {x: event.clientX, first: this.#map.first, moved: false};
    this.#map.canvas.setPointerCapture(event.pointerId);
  }

  #move(event) {
    if (this.#pointers.has(event.pointerId)) {
      if (this.#pointers.size === 2) this.#pinch(event);
      else this.#pan(event);
      this.#pointers.set(event.pointerId, event);
      return;
    }
    const cell = this.#cell(event);
    if (cell) this.#showTip(cell, event);
    else this.#hideTip();
  }

  #pan(event) {
    const moved = event.clientX - this.#pressed.x;
    if (Math.abs(moved) < DRAG_PX && !this.#pressed.moved) return;
    this.#pressed.moved = true;
    this.#hideTip();
    this.#map.show(
      this.#pressed.first - (moved / this.#map.width) * this.#map.shown,
      this.#map.shown,
    );
  }

  #pinch(event) {
    const other = [...this.#pointers.values()].find(one => one.pointerId !== event.pointerId);
    const before = Math.abs(this.#pointers.get(event.pointerId).clientX - other.clientX);
    const now = Math.abs(event.clientX - other.clientX);
    if (before > 8 && now > 8) {
      const box = this.#map.canvas.getBoundingClientRect();
      this.#map.zoom(now / before, ((event.clientX + other.clientX) / 2 - box.left) / box.width);
    }
    this.#pressed = {x: event.clientX, first: this.#map.first, moved: true};
  }

  #up(event) {
    this.#pointers.delete(event.pointerId);
    if (!this.#pressed || this.#pressed.moved) return;
    const cell = this.#cell(event);
    if (cell) this.#pick(cell, event);
  }

  #pick(cell, event) {
    this.#map.cursor = cell;
    this.#map.draw();
    this.#showTip(cell, event);
    this.#map.options.onPick?.(this.#map.grid.cell(cell.row, cell.column));
  }

  // The wheel alone scrolls the page; with Ctrl it zooms, sideways or with Shift it moves.
  #wheel(event) {
    const map = this.#map;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      map.zoom(Math.exp(-event.deltaY * 0.002), this.#share(event));
    } else if (sideways && map.shown < map.grid.columns) {
      event.preventDefault();
      const by = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
      map.show(map.first + (by / map.width) * map.shown, map.shown);
    }
  }

  #key(event) {
    const map = this.#map;
    const {rows, columns} = map.grid;
    const at = map.cursor ?? {row: 0, column: Math.floor(map.first)};
    const page = Math.max(1, Math.floor(map.shown / 10));
    const steps = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      PageUp: [0, -page],
      PageDown: [0, page],
      Home: [0, -columns],
      End: [0, columns],
    };
    const middle = (at.column + 0.5 - map.first) / map.shown;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") map.zoom(2, middle);
    else if (event.key === "-") map.zoom(0.5, middle);
    else if (event.key === "0") map.show(0, columns);
    else if (event.key === "Enter" || event.key === " ") this.#pick(at, null);
    else if (event.key === "Escape") this.#hideTip();
    else if (steps[event.key]) this.#goTo(at, steps[event.key], rows, columns);
    else return;
    event.preventDefault();
  }

  #goTo(at, [down, right], rows, columns) {
    const map = this.#map;
    map.cursor =
      map.cursor === null
        ? at
        : {
            row: Math.min(rows - 1, Math.max(0, at.row + down)),
            column: Math.min(columns - 1, Math.max(0, at.column + right)),
          };
    map.reveal(map.cursor.column);
    this.#showTip(map.cursor, null);
    map.said.textContent = map.tip.textContent;
  }

  // event: null where keys lead.
  #showTip(cell, event) {
    const map = this.#map;
    replace(map.tip, map.options.describe(map.grid.cell(cell.row, cell.column)));
    map.tip.hidden = false;
    const box = map.canvas.getBoundingClientRect();
    const x = event ? event.clientX - box.left : map.xOf(cell.column + 0.5);
    const y = event ? event.clientY - box.top : 16 + (cell.row + 1) * 22;
    const wide = map.tip.offsetWidth;
    const left = x + 14 + wide > map.width ? Math.max(0, x - wide - 10) : x + 14;
    map.tip.style.setProperty(
      "transform",
      `translate(${Math.round(left)}px, ${Math.round(y + 12)}px)`,
    );
  }

  #hideTip() {
    this.#map.tip.hidden = true;
  }
}
