// uPlot with our colours: lines over steps or windows, times on the y axis.
import uPlot from "./uplot.js";
import {el} from "./dom.js";
import {cssColour, onThemeChange, themeColour} from "./theme.js";
import {duration, tick} from "./units.js";

const FONT = '11px "Liberation Sans", "Segoe UI", Roboto, Arial, sans-serif';

const FARTHEST_CLICK_PX = 4;

// A drag that zooms ends in a click, too.
function tellClicks(plot, onClick) {
  let pressed = 0;
  plot.over.addEventListener("mousedown", event => {
    pressed = event.clientX;
  });
  plot.over.addEventListener("click", event => {
    const {idx} = plot.cursor;
    const still = Math.abs(event.clientX - pressed) < FARTHEST_CLICK_PX;
    if (still && event.detail === 1 && idx !== null && idx !== undefined) onClick(idx);
  });
}

// lines: [{label, colour: "--culprit", width, dash, fill}]; label: what is said of the place on x.
export class LineChart {
  #plot = null;
  #lines;
  #options;
  #data;
  #width = 0;
  #observer;
  #endTheme;

  // options: {height, xLabel(value), draw(plot), onPlace(plot), onClick(index), summary, zoom}
  constructor(lines, data, options) {
    this.#lines = lines;
    this.#data = data;
    this.#options = options;
    this.node = el("div", {class: "chart", role: "img", "aria-label": options.summary});
    this.#observer = new ResizeObserver(([entry]) =>
      this.#resize(Math.floor(entry.contentRect.width)),
    );
    this.#observer.observe(this.node);
    this.#endTheme = onThemeChange(() => this.#build());
  }

  get plot() {
    return this.#plot;
  }

  show(data, summary) {
    this.#data = data;
    this.node.setAttribute("aria-label", summary);
    this.#plot?.setData(data);
    if (this.#plot) this.#tellNewest(this.#plot);
  }

  redraw() {
    this.#plot?.redraw(false);
  }

  #resize(width) {
    if (width === 0 || width === this.#width) return;
    this.#width = width;
    if (this.#plot) this.#plot.setSize({width, height: this.#options.height});
    else this.#build();
  }

  #build() {
    if (this.#width === 0) return;
    this.#plot?.destroy();
    const text = cssColour(themeColour("--text-quiet"));
    const gridColour = cssColour(themeColour("--line"), 0.7);
    const axis = {
      stroke: text,
      font: FONT,
      grid: {stroke: gridColour, width: 1},
      ticks: {show: false},
    };
    const {xLabel, draw, onPlace, onClick, zoom = true} = this.#options;
    this.#plot = new uPlot(
      {
        width: this.#width,
        height: this.#options.height,
        padding: [8, 30, 0, 0],
        scales: {
          x: {time: false},
          y: {range: (_, least, most) => [0, (most > 0 ? most : 1) * 1.08]},
        },
        legend: {
          live: true,
          markers: {
            width: 0,
            fill: (_, place) =>
              place === 0 ? "transparent" : cssColour(themeColour(this.#lines[place - 1].colour)),
          },
        },
        cursor: {
          y: false,
          drag: {x: zoom, y: false, setScale: zoom},
          points: {size: 6},
        },
        series: [
          {
            label: this.#options.xName,
            value: (_, value) => (value === null ? "–" : xLabel(value)),
          },
          ...this.#lines.map(line => this.#series(line)),
        ],
        axes: [
          {
            ...axis,
            size: 28,
            space: this.#options.xSpace ?? 60,
            values: (_, values) =>
              values.map(value => (Number.isInteger(value) ? xLabel(value) : "")),
          },
          {...axis, size: 62, values: (_, values) => values.map(tick)},
        ],
        hooks: {
          draw: draw ? [draw] : [],
          setScale: onPlace ? [onPlace] : [],
          ready: onPlace ? [onPlace] : [],
          setSize: onPlace ? [onPlace] : [],
          setCursor: [plot => this.#tellNewest(plot)],
        },
      },
      this.#data,
      this.node,
    );
    this.#tellNewest(this.#plot);
    if (onClick) tellClicks(this.#plot, onClick);
  }

  // Where nobody points, the legend shows the newest values.
  #tellNewest(plot) {
    if (plot.cursor.idx === null || plot.cursor.idx === undefined) {
      plot.setLegend({idx: this.#data[0].length - 1}, false);
    }
  }

  #series(line) {
    const colour = themeColour(line.colour);
    return {
      label: line.label,
      stroke: cssColour(colour),
      width: line.width ?? 1.5,
      dash: line.dash,
      fill: line.fill ? cssColour(colour, line.fill) : undefined,
      points: {show: false},
      spanGaps: false,
      value: (_, value) => (value === null ? "–" : duration(value)),
    };
  }

  dispose() {
    this.#observer.disconnect();
    this.#endTheme();
    this.#plot?.destroy();
  }
}
