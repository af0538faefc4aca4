// Functions by ranks on a canvas. A pixel that stands for many ranks shows the one that stands out
// most, so that no single slow rank is averaged away. Draws only what is in view: 10,000 ranks cost
// as much as fit the screen.
import {ColourScale, reachOf} from "./colour_scale.js";
import {el} from "./dom.js";
import {ABSENT} from "./heat_grid.js";
import {HeatMapControl} from "./heat_map_control.js";
import {cssColour, onThemeChange, themeColour} from "./theme.js";
import {count} from "./units.js";

export const ROW = 22;
const HEAD = 16;
const FOOT = 20;
const WIDENED = 0.4; // share of the full colour from which a rank is drawn wider
const FONT = '11px "Liberation Sans", "Segoe UI", Roboto, Arial, sans-serif';

export class HeatMap {
  #grid;
  #scale;
  #image = null;
  #frame = 0;
  #observer;
  #endTheme;
  #control;
  #offscreen = document.createElement("canvas");
  #colours = {};

  // options: {describe(cell), onPick(cell), flags: [{rank, colour}], label}
  constructor(grid, options) {
    this.#grid = grid;
    this.options = options;
    this.first = 0;
    this.shown = grid.columns;
    this.cursor = null;
    this.width = 0;
    this.canvas = el("canvas", {
      class: "heat-canvas",
      id: "heat-canvas",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label": options.label,
      "aria-describedby": "heat-help",
    });
    this.tip = el("div", {class: "heat-tip", hidden: true});
    this.said = el("div", {class: "unseen", "aria-live": "polite"});
    this.node = el("div", {class: "heat-plot"}, this.canvas, this.tip, this.said);
    this.#control = new HeatMapControl(this);
    this.#readColours();
    this.#endTheme = onThemeChange(() => {
      this.#readColours();
      this.draw();
    });
    this.#observer = new ResizeObserver(([entry]) =>
      this.#resize(Math.floor(entry.contentRect.width)),
    );
    this.#observer.observe(this.node);
  }

  get grid() {
    return this.#grid;
  }

  get scale() {
    return this.#scale;
  }

  get height() {
    return HEAD + this.#grid.rows * ROW + FOOT;
  }

  #readColours() {
    this.#scale = new ColourScale(
      Math.max(reachOf(this.#grid.sizes()), this.options.leastReach ?? 0),
      this.#grid.metric === "excess",
    );
    this.#colours = {
      text: cssColour(themeColour("--text-quiet")),
      line: cssColour(themeColour("--surface")),
      focus: cssColour(themeColour("--text")),
      bands: ["--heat-band", "--line"].map(one => cssColour(themeColour(one))),
    };
    for (const name of ["critical", "major", "minor", "info"])
      this.#colours[name] = cssColour(themeColour(`--${name}`));
  }

  setGrid(grid, keepPlace) {
    this.#grid = grid;
    this.#readColours();
    if (!keepPlace || this.first + this.shown > grid.columns) this.show(0, grid.columns);
    if (this.cursor && (this.cursor.row >= grid.rows || this.cursor.column >= grid.columns))
      this.cursor = null;
    this.#resize(this.width, true);
  }

  #resize(width, always = false) {
    if (width <= 0 || (width === this.width && !always)) return;
    this.width = width;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.setProperty("height", `${this.height}px`);
    this.#image = null;
    this.paint();
  }

  // The columns [first, first + shown) come into view.
  show(first, shown) {
    const least = Math.min(8, this.#grid.columns);
    this.shown = Math.min(this.#grid.columns, Math.max(least, shown));
    this.first = Math.min(this.#grid.columns - this.shown, Math.max(0, first));
    this.options.onPlace?.();
    this.draw();
  }

  zoom(by, around) {
    const place = this.first + around * this.shown;
    const shown = Math.min(
      this.#grid.columns,
      Math.max(Math.min(8, this.#grid.columns), this.shown / by),
    );
    this.show(place - around * shown, shown);
  }

  reveal(column) {
    if (column < this.first || column >= this.first + this.shown)
      this.show(column - this.shown / 2, this.shown);
    else this.draw();
  }

  draw() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.paint();
    });
  }

  paint() {
    if (this.width === 0) return;
    const ratio = devicePixelRatio || 1;
    const context = this.canvas.getContext("2d");
    this.#fillImage(this.canvas.width);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(
      this.#offscreen,
      0,
      0,
      this.canvas.width,
      this.#grid.rows,
      0,
      Math.round(HEAD * ratio),
      this.canvas.width,
      Math.round(this.#grid.rows * ROW * ratio),
    );
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.#colours.line;
    for (let row = 1; row < this.#grid.rows; ++row)
      context.fillRect(0, HEAD + row * ROW - 1, this.width, 1);
    this.#drawColumnLines(context);
    this.#drawHead(context);
    this.#drawFoot(context);
    this.#drawCursor(context);
  }

  #fillImage(width) {
    const {rows, values} = this.#grid;
    if (!this.#image || this.#image.width !== width || this.#image.height !== rows) {
      this.#offscreen.width = width;
      this.#offscreen.height = rows;
      this.#image = new ImageData(width, rows);
    }
    const pixels = new Uint32Array(this.#image.data.buffer);
    const step = this.shown / width;
    const line = new Int32Array(width);
    for (let row = 0; row < rows; ++row) {
      const of = values[row];
      for (let x = 0; x < width; ++x) {
        const from = Math.floor(this.first + x * step);
        const to = Math.max(from + 1, Math.floor(this.first + (x + 1) * step));
        line[x] = standingOut(of, from, Math.min(to, of.length));
      }
      if (step > 1) widen(line, this.#scale.reach * WIDENED);
      for (let x = 0; x < width; ++x) {
        pixels[row * width + x] =
          line[x] === ABSENT ? this.#scale.absent : this.#scale.pixelOf(line[x]);
      }
    }
    this.#offscreen.getContext("2d").putImageData(this.#image, 0, 0);
  }

  xOf(column) {
    return ((column - this.first) / this.shown) * this.width;
  }

  #drawColumnLines(context) {
    if (this.width / this.shown < 7) return;
    const ratio = devicePixelRatio || 1;
    context.fillStyle = this.#colours.line;
    for (let column = Math.ceil(this.first); column < this.first + this.shown; ++column) {
      const edge = Math.ceil(this.xOf(column) * ratio - 1e-6) / ratio; // as pixels are filled
      context.fillRect(edge - 1, HEAD, 1, this.#grid.rows * ROW);
    }
  }

  // Roles as a band, and a mark above each rank that a finding names.
  #drawHead(context) {
    const {order, roles} = this.#grid;
    const last = Math.min(this.#grid.columns, Math.ceil(this.first + this.shown));
    let begin = Math.floor(this.first);
    for (let column = begin + 1; column <= last; ++column) {
      if (column < last && roles[order[column]] === roles[order[begin]]) continue;
      const x = this.xOf(begin);
      context.fillStyle = this.#colours.bands[roles[order[begin]] % 2];
      context.fillRect(x, HEAD - 5, this.xOf(column) - x, 3);
      begin = column;
    }
    for (const {rank, severity} of this.options.flags ?? []) {
      const column = this.#grid.columnOf(rank);
      if (column < this.first || column >= this.first + this.shown) continue;
      const x = this.xOf(column + 0.5);
      context.fillStyle = this.#colours[severity];
      context.beginPath();
      context.moveTo(x - 5, 1);
      context.lineTo(x + 5, 1);
      context.lineTo(x, 10);
      context.fill();
    }
  }

  #drawFoot(context) {
    const y = HEAD + this.#grid.rows * ROW + 14;
    const step = niceStep(this.shown / Math.max(2, this.width / 90));
    context.font = FONT;
    context.fillStyle = this.#colours.text;
    context.textAlign = "center";
    for (
      let column = Math.ceil(this.first / step) * step;
      column < this.first + this.shown;
      column += step
    ) {
      const x = this.xOf(column + 0.5);
      if (x < 8 || x > this.width - 16) continue;
      const sorted = this.#grid.orderName === "rank";
      const wide = this.width / this.shown >= 44;
      if (!sorted && !wide) continue;
      context.fillText(count(this.#grid.ranks[this.#grid.order[column]]), x, y);
    }
  }

  #drawCursor(context) {
    if (!this.cursor) return;
    const {row, column} = this.cursor;
    const wide = Math.max(3, this.width / this.shown);
    context.strokeStyle = this.#colours.focus;
    context.lineWidth = 2;
    context.strokeRect(this.xOf(column) - 1, HEAD + row * ROW - 1, wide + 1, ROW + 1);
  }

  // {row, column} under a point of the canvas, or null.
  hit(x, y) {
    const row = Math.floor((y - HEAD) / ROW);
    const column = Math.floor(this.first + (x / this.width) * this.shown);
    const inside = row >= 0 && row < this.#grid.rows && column >= 0 && column < this.#grid.columns;
    return inside ? {row, column: this.#standingOut(row, x) ?? column} : null;
  }

  // Where a pixel stands for many ranks: the one whose colour it has.
  #standingOut(row, x) {
    const per = this.shown / this.width;
    if (per < 1) return null;
    const from = Math.floor(this.first + x * per);
    const to = Math.min(this.#grid.columns, Math.floor(this.first + (x + 1) * per) + 1);
    let best = from;
    const size = column =>
      this.#grid.values[row][column] === ABSENT ? -1 : Math.abs(this.#grid.values[row][column]);
    for (let column = from; column < to; ++column) if (size(column) > size(best)) best = column;
    return Math.min(best, this.#grid.columns - 1);
  }

  dispose() {
    this.#observer.disconnect();
    this.#endTheme();
    cancelAnimationFrame(this.#frame);
  }
}

// Of the values in [from, to) the one that is farthest from 0; of equals the slower one.
function standingOut(values, from, to) {
  let most = ABSENT;
  let size = -1;
  for (let column = from; column < to; ++column) {
    const value = values[column];
    if (value === ABSENT) continue;
    const own = value < 0 ? -value : value;
    if (own > size || (own === size && value > most)) {
      most = value;
      size = own;
    }
  }
  return most;
}

// Of 10,000 ranks one is less than a pixel wide: what stands out far is drawn three pixels wide.
function widen(line, enough) {
  for (let x = 0; x < line.length; ++x) {
    if (line[x] < enough) continue;
    const value = line[x];
    if (x > 0 && line[x - 1] < value) line[x - 1] = value;
    if (x + 1 < line.length && line[x + 1] < value) {
      line[x + 1] = value;
      ++x;
    }
  }
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return Math.max(1, [1, 2, 5, 10].map(one => one * power).find(one => one >= least) ?? 10 * power);
}
