// Connections by source and destination on a canvas: the colour says how much slower a connection
// is than the median of its kind.
import {ColourScale} from "./colour_scale.js";
import {el, replace} from "./dom.js";
import {printable} from "./printable.js";
import {cssColour, onThemeChange, themeColour} from "./theme.js";
import {bytes, count, rate} from "./units.js";

const MARGIN = {left: 44, top: 22};
const FONT = '11px "Liberation Sans", "Segoe UI", Roboto, Arial, sans-serif';
const FULL_SLOWNESS = 1000;
const FASTER = 0.3; // of the colour: to be faster than usual is no matter
const MOST_CELLS = 320;

export function medianSpeeds(links) {
  const byKind = new Map();
  for (const link of links) {
    if (link.speed === null) continue;
    if (!byKind.has(link.resource)) byKind.set(link.resource, []);
    byKind.get(link.resource).push(link.speed);
  }
  return new Map(
    [...byKind].map(([kind, speeds]) => [kind, speeds.sort((a, b) => a - b)[speeds.length >> 1]]),
  );
}

export function linkRows({links}) {
  return links.source.map((source, place) => ({
    source,
    destination: links.destination[place],
    resource: links.resource[place],
    bytes: links.bytes[place],
    busyNs: links.busy_ns[place],
    speed: links.gb_per_s[place],
    retransmits: links.retransmits[place],
  }));
}

// 0: as fast as its kind; 1: stalled; negative: faster. null: it was never busy.
export function slowness(link, medians) {
  const median = medians.get(link.resource);
  return link.speed === null || !median ? null : 1 - link.speed / median;
}

export class LinkMatrix {
  #links;
  #medians;
  #ranks;
  #placeOf;
  #byCell;
  #bin;
  #side;
  #observer;
  #endTheme;
  #width = 0;
  #cursor = null;

  constructor(links, medians, {onPick}) {
    this.#links = links;
    this.#medians = medians;
    this.#ranks = [...new Set(links.flatMap(link => [link.source, link.destination]))].sort(
      (a, b) => a - b,
    );
    // Of more ranks than there is room for, neighbours share a cell, which shows its slowest link.
    this.#bin = Math.ceil(this.#ranks.length / MOST_CELLS);
    this.#side = Math.ceil(this.#ranks.length / this.#bin);
    this.#placeOf = new Map(
      this.#ranks.map((rank, place) => [rank, Math.floor(place / this.#bin)]),
    );
    this.#byCell = new Map();
    for (const link of links) {
      const key = this.#key(this.#placeOf.get(link.source), this.#placeOf.get(link.destination));
      const held = this.#byCell.get(key);
      if (!held || (slowness(link, medians) ?? -9) > (slowness(held, medians) ?? -9))
        this.#byCell.set(key, link);
    }
    this.onPick = onPick;
    this.canvas = el("canvas", {
      class: "matrix-canvas",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "matrix",
      "aria-label":
        `Connections among ${this.#ranks.length} ranks, source by destination. ` +
        "Arrow keys move, Enter opens the source.",
    });
    this.tip = el("div", {class: "heat-tip", hidden: true});
    this.said = el("div", {class: "unseen", "aria-live": "polite"});
    this.node = el("div", {class: "matrix"}, this.canvas, this.tip, this.said);
    this.#listen();
    this.#endTheme = onThemeChange(() => this.paint());
    this.#observer = new ResizeObserver(([entry]) => {
      this.#width = Math.floor(entry.contentRect.width);
      this.paint();
    });
    this.#observer.observe(this.node);
  }

  #key(from, to) {
    return from * this.#side + to;
  }

  get #cell() {
    const room = Math.min(this.#width, 720) - MARGIN.left - 2;
    return Math.max(1, Math.min(22, Math.floor((room / this.#side) * 2) / 2));
  }

  #listen() {
    const {canvas} = this;
    const under = event => {
      const box = canvas.getBoundingClientRect();
      return {
        row: Math.floor((event.clientY - box.top - MARGIN.top) / this.#cell),
        column: Math.floor((event.clientX - box.left - MARGIN.left) / this.#cell),
      };
    };
    canvas.addEventListener("pointermove", event => this.#tell(under(event)));
    canvas.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
    });
    canvas.addEventListener("click", event => this.#pick(under(event)));
    canvas.addEventListener("keydown", event => {
      const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[
        event.key
      ];
      if (event.key === "Enter" && this.#cursor) this.#pick(this.#cursor);
      if (!step) return;
      event.preventDefault();
      const last = this.#side - 1;
      const at = this.#cursor ?? {row: 0, column: 0};
      this.#cursor = {
        row: Math.min(last, Math.max(0, at.row + step[0])),
        column: Math.min(last, Math.max(0, at.column + step[1])),
      };
      this.paint();
      this.#tell(this.#cursor);
      this.said.textContent = this.tip.textContent;
    });
  }

  #linkAt({row, column}) {
    const size = this.#side;
    return row < 0 || column < 0 || row >= size || column >= size
      ? null
      : (this.#byCell.get(this.#key(row, column)) ?? null);
  }

  #pick(cell) {
    const link = this.#linkAt(cell);
    if (link) this.onPick(link);
  }

  #tell(cell) {
    const link = this.#linkAt(cell);
    this.tip.hidden = !link;
    if (!link) return;
    replace(
      this.tip,
      el("strong", null, `rank ${count(link.source)} → rank ${count(link.destination)}`),
      el("span", {class: "quiet"}, ` · ${printable(link.resource, 40)}`),
      el("br"),
      el("strong", null, rate(link.speed)),
      ` median of its kind ${rate(this.#medians.get(link.resource) ?? null)}`,
      el("br"),
      `${bytes(link.bytes)}, ${count(link.retransmits)} retransmits`,
    );
    const x = MARGIN.left + (cell.column + 1) * this.#cell + 8;
    const wide = this.tip.offsetWidth;
    const left = x + wide > this.#width ? Math.max(0, x - wide - 2 * this.#cell - 16) : x;
    this.tip.style.setProperty(
      "transform",
      `translate(${left}px, ${MARGIN.top + cell.row * this.#cell}px)`,
    );
  }

  paint() {
    if (this.#width === 0) return;
    const ratio = devicePixelRatio || 1;
    const cell = this.#cell;
    const side = cell * this.#side;
    const [width, height] = [MARGIN.left + side + 2, MARGIN.top + side + 2];
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.setProperty("width", `${width}px`);
    this.canvas.style.setProperty("height", `${height}px`);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const scale = new ColourScale(FULL_SLOWNESS, true, "--link-usual");
    const gap = cell >= 6 ? 1 : 0;
    context.strokeStyle = cssColour(themeColour("--line"));
    context.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, side + 1, side + 1);
    for (const [key, link] of this.#byCell) {
      const share = slowness(link, this.#medians);
      context.fillStyle =
        share === null
          ? cssColour(themeColour("--line"))
          : scale.cssOf(
              (share < 0 ? -FASTER : 1) *
                FULL_SLOWNESS *
                Math.min(1, Math.max(0, Math.abs(share) - 0.1) * 1.2),
            );
      context.fillRect(
        MARGIN.left + (key % this.#side) * cell,
        MARGIN.top + Math.floor(key / this.#side) * cell,
        cell - gap,
        cell - gap,
      );
    }
    this.#labels(context, cell);
    if (this.#cursor) {
      context.strokeStyle = cssColour(themeColour("--text"));
      context.lineWidth = 2;
      context.strokeRect(
        MARGIN.left + this.#cursor.column * cell - 1,
        MARGIN.top + this.#cursor.row * cell - 1,
        cell + 1,
        cell + 1,
      );
    }
  }

  #labels(context, cell) {
    context.font = FONT;
    context.fillStyle = cssColour(themeColour("--text-quiet"));
    const every =
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].find(step => step * cell >= 26) ?? 1024;
    for (let place = 0; place < this.#side; place += every) {
      const text = String(this.#ranks[place * this.#bin]);
      context.textAlign = "right";
      context.fillText(
        text,
        MARGIN.left - 6,
        MARGIN.top + place * cell + Math.min(cell, 16) / 2 + 4,
      );
      context.textAlign = "left";
      context.fillText(text, MARGIN.left + place * cell, MARGIN.top - 6);
    }
  }

  dispose() {
    this.#observer.disconnect();
    this.#endTheme();
  }
}
