// Step times of a job, and under them a lane for each finding: from where to where it was seen.
import {el, replace} from "./dom.js";
import {LineChart} from "./line_chart.js";
import {printable} from "./printable.js";
import {current, go, hrefOf} from "./route.js";
import {compareFindings, known, severityBadge} from "./severity.js";
import {cssColour, themeColour} from "./theme.js";
import {count, duration} from "./units.js";

const MOST_LANES = 8;
const LINES = [
  {label: "step (median of ranks)", colour: "--accent", width: 2, fill: 0.07},
  {label: "busy, busiest rank", colour: "--culprit", width: 1.5},
  {label: "busy, median rank", colour: "--peers", width: 1.5},
];

function columns({steps}) {
  return [steps.step, steps.median_ns, steps.busy_max_ns, steps.busy_median_ns];
}

function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

function summary({steps, findings}) {
  return (
    `Step time from step ${steps.step[0]} to step ${steps.step.at(-1)}: median ` +
    `${duration(median(steps.median_ns))}, longest ${duration(Math.max(...steps.median_ns))}; ` +
    `${findings.length} findings name steps of it.`
  );
}

export class StepChart {
  #job;
  #answer;
  #chart;
  #lanes = el("ol", {class: "lanes", "aria-label": "Findings by step"});
  #busiest = el("p", {class: "quiet small chart-note"});

  constructor(job, answer) {
    this.#job = job;
    this.#answer = answer;
    this.#chart = new LineChart(LINES, columns(answer), {
      height: 250,
      xName: "step",
      xLabel: count,
      summary: summary(answer),
      draw: plot => this.#shade(plot),
      onPlace: plot => this.#placeLanes(plot),
      onClick: index => this.#openWindow(index),
    });
    this.node = el("div", {class: "step-chart"}, this.#chart.node, this.#lanes, this.#busiest);
    this.#say();
  }

  show(answer) {
    this.#answer = answer;
    this.#chart.show(columns(answer), summary(answer));
    this.#say();
  }

  #say() {
    const {steps} = this.#answer;
    const often = new Map();
    for (const rank of steps.busiest_rank) often.set(rank, (often.get(rank) ?? 0) + 1);
    const [rank, times] = [...often].sort((a, b) => b[1] - a[1])[0];
    replace(
      this.#busiest,
      times > 2 && times / steps.step.length > 0.2
        ? [
            "The others wait most often for ",
            el(
              "a",
              {href: hrefOf({page: "job", job: this.#job, tab: "rank", item: rank})},
              `rank ${count(rank)}`,
            ),
            ` (${count(times)} of ${count(steps.step.length)} steps). `,
          ]
        : "",
      "Drag to zoom, double-click to see all, click a step for its window.",
    );
  }

  #marks() {
    return [...this.#answer.findings].sort(compareFindings).slice(0, MOST_LANES);
  }

  // Where findings lie, behind the lines.
  #shade(plot) {
    const {ctx, bbox} = plot;
    ctx.save();
    for (const mark of this.#marks()
      .filter(one => one.state !== "resolved")
      .reverse()) {
      const left = Math.max(bbox.left, plot.valToPos(mark.first_step, "x", true));
      const right = Math.min(bbox.left + bbox.width, plot.valToPos(mark.last_step, "x", true));
      if (right <= left) continue;
      const colour = themeColour(`--${known(mark.severity)}`);
      ctx.fillStyle = cssColour(colour, 0.05);
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.fillStyle = cssColour(colour, 0.8);
      ctx.fillRect(left, bbox.top, Math.max(1, devicePixelRatio), bbox.height);
    }
    ctx.restore();
  }

  #placeLanes(plot) {
    const {left, width} = plot.bbox;
    const scale = devicePixelRatio;
    const {min, max} = plot.scales.x;
    if (min === null || max === null || max <= min) return;
    this.#lanes.style.setProperty("--lane-left", `${left / scale}px`);
    this.#lanes.style.setProperty("--lane-width", `${width / scale}px`);
    replace(
      this.#lanes,
      this.#marks().map(mark => this.#lane(mark, min, max)),
    );
  }

  #lane(mark, min, max) {
    const share = step => Math.min(1, Math.max(0, (step - min) / (max - min)));
    const from = share(mark.first_step);
    const to = share(mark.last_step);
    const resolved = mark.state === "resolved";
    return el(
      "li",
      null,
      el(
        "a",
        {
          class: `lane ${known(mark.severity)} ${resolved ? "is-resolved" : ""}`,
          href: hrefOf({page: "job", job: this.#job, tab: "finding", item: mark.id}),
          title: printable(mark.title, 400),
        },
        el(
          "span",
          {class: "lane-track", "aria-hidden": "true"},
          el("span", {
            class: "lane-bar",
            style: {left: `${from * 100}%`, width: `${Math.max(0.4, (to - from) * 100)}%`},
          }),
        ),
        el(
          "span",
          {class: "lane-text"},
          severityBadge(mark.severity),
          el("bdi", null, printable(mark.title, 140)),
          el("span", {class: "unseen"}, ` steps ${mark.first_step} to ${mark.last_step}`),
        ),
      ),
    );
  }

  #openWindow(index) {
    const window = this.#answer.steps.window[index];
    go({...current(), tab: "heatmap", item: undefined, query: {window}});
  }

  dispose() {
    this.#chart.dispose();
  }
}
