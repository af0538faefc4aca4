// Where the time goes: functions by ranks, with the cells that stand out most as a list beside it.
import {get, path} from "./api.js";
import {el, freshId, replace, table} from "./dom.js";
import {functionLabels} from "./function_label.js";
import {HeatGrid} from "./heat_grid.js";
import {HeatMap, ROW} from "./heat_map.js";
import {empty} from "./page_states.js";
import {name, printable} from "./printable.js";
import {rankLink} from "./rank_link.js";
import {amend, current, go, withQuery} from "./route.js";
import {card, Section} from "./section.js";
import {compareFindings, known} from "./severity.js";
import {count, duration, NONE, percent, signedDuration} from "./units.js";

const METRICS = [
  ["excess", "excess over the median of the role"],
  ["critical", "time a step"],
  ["beta", "share of the window"],
];
const ORDERS = [
  ["rank", "by rank"],
  ["worst", "worst first"],
  ["host", "by host, worst first"],
];
const MOST_LISTED = 10;
const MOST_FLAGS = 64;

export function heatValue(value, metric) {
  if (value === null) return NONE;
  if (metric === "beta") return percent(value / 1000);
  return metric === "excess" ? signedDuration(value * 1000) : duration(value * 1000);
}

function choice(label, choices, value, onChange) {
  const id = freshId("choice");
  const select = el(
    "select",
    {id, on: {change: event => onChange(event.target.value)}},
    choices.map(([key, text]) => el("option", {value: key}, text)),
  );
  select.value = value;
  return el("span", {class: "field"}, el("label", {for: id}, label), select);
}

export class HeatMapView {
  #route;
  #section;
  #labels; // of functions, by id
  #map = null;
  #gone = undefined;
  #legend = el("div", {class: "heat-legend"});
  #inView = el("span", {class: "quiet small", id: "heat-in-view"});

  constructor(route) {
    this.#route = route;
    this.#section = new Section(
      signal => this.#load(signal),
      (answers, body) => this.#render(answers, body),
      {rows: 10},
    );
    const {metric, order} = this.#asked();
    this.node = el(
      "div",
      {class: "stack"},
      card(
        "Functions by ranks",
        this.#section.node,
        choice("Show", METRICS, metric, value =>
          go(withQuery(current(), {metric: value === "excess" ? undefined : value})),
        ),
        choice("Ranks", ORDERS, order, value => this.#reorder(value)),
      ),
    );
    this.#section.refresh();
  }

  #asked() {
    const {metric, order} = this.#route.query;
    const among = (choices, value) =>
      choices.some(([key]) => key === value) ? value : choices[0][0];
    return {metric: among(METRICS, metric), order: among(ORDERS, order)};
  }

  #load(signal) {
    const {job, query} = this.#route;
    const {metric} = this.#asked();
    return Promise.all([
      get(
        path("jobs", job, "heatmap"),
        {window: query.window, metric: metric === "excess" ? undefined : metric},
        signal,
      ),
      get("/v1/findings", {job, view: "brief", limit: 1000}, signal),
      get(path("jobs", job), {}, signal),
    ]);
  }

  #render([answer, {findings}, {job}], body) {
    if (answer.values.length === 0 || answer.ranks.length === 0) {
      body.append(
        empty(
          "Nothing to show in this window",
          "No function was on the critical path of any rank.",
        ),
      );
      return;
    }
    const grid = new HeatGrid(answer);
    const {order} = this.#asked();
    if (order !== "rank") grid.sort(order);
    this.#labels = functionLabels(grid.functions);
    this.#showGrid(grid, flagsOf(findings), job.step_ns);
    const labels = el(
      "ol",
      {class: "heat-labels", "aria-hidden": "true", style: {"--row": `${ROW}px`}},
      grid.functions.map(one =>
        el("li", null, name(this.#labels.get(one.function), {longest: 60, mono: true})),
      ),
    );
    this.#drawLegend();
    this.#tellPlace();
    body.append(
      this.#tools(grid),
      el("div", {class: "heat"}, labels, this.#map.node),
      el("div", {class: "heat-foot"}, this.#legend, this.#inView),
      el(
        "p",
        {class: "quiet small", id: "heat-help"},
        "Drag or Shift + wheel moves, Ctrl + wheel, pinch or double-click zooms; arrows move " +
          "from cell to cell, + and − zoom, 0 shows all, Enter opens the rank.",
      ),
      this.#list(grid),
    );
    const {rank} = this.#route.query;
    if (rank !== undefined && rank !== this.#gone) this.#goToRank(Number(rank));
    this.#gone = rank;
  }

  // The map stays where somebody looks while newer windows come.
  #showGrid(grid, flags, stepNs) {
    // What makes no fiftieth of a step stays pale, so that a healthy job looks calm.
    const leastReach = grid.metric === "excess" ? stepNs / 1000 / 50 : 0;
    if (this.#map) {
      Object.assign(this.#map.options, {flags, leastReach});
      this.#map.setGrid(grid, this.#map.grid.columns === grid.columns);
      return;
    }
    this.#map = new HeatMap(grid, {
      label:
        `${grid.rows} functions by ${count(grid.columns)} ranks. Arrow keys move, ` +
        "plus and minus zoom, Enter opens the rank.",
      describe: cell => this.#describe(cell),
      onPick: cell => this.#pick(cell),
      onPlace: () => this.#tellPlace(),
      flags,
      leastReach,
    });
  }

  #tools(grid) {
    const input = el("input", {
      type: "number",
      id: "go-to-rank",
      min: "0",
      inputmode: "numeric",
    });
    const form = el(
      "form",
      {
        class: "field",
        on: {
          submit: event => {
            event.preventDefault();
            if (input.value !== "" && this.#goToRank(Number(input.value))) {
              amend(withQuery(current(), {rank: input.value}));
              this.#map.canvas.focus({preventScroll: true});
            } else input.select();
          },
        },
      },
      el("label", {for: "go-to-rank"}, "Go to rank"),
      input,
      el("button", {type: "submit"}, "Go"),
    );
    const button = (text, label, act) =>
      el(
        "button",
        {type: "button", class: "icon", "aria-label": label, title: label, on: {click: act}},
        text,
      );
    return el(
      "div",
      {class: "heat-tools"},
      form,
      el(
        "span",
        {class: "field", role: "group", "aria-label": "Zoom"},
        button("+", "Zoom in", () => this.#map.zoom(2, 0.5)),
        button("−", "Zoom out", () => this.#map.zoom(0.5, 0.5)),
        el(
          "button",
          {type: "button", on: {click: () => this.#map.show(0, grid.columns)}},
          "All ranks",
        ),
      ),
    );
  }

  #goToRank(rank) {
    const column = this.#map.grid.columnOf(rank);
    if (column < 0) return false;
    const worst = this.#map.grid.values.map(row => row[column]);
    this.#map.cursor = {row: worst.indexOf(Math.max(...worst)), column};
    const shown = Math.min(this.#map.shown, Math.max(64, this.#map.grid.columns / 64));
    this.#map.show(column - shown / 2, shown);
    return true;
  }

  #tellPlace() {
    if (!this.#map) return;
    const {first, shown, grid} = this.#map;
    const all = count(grid.columns);
    if (shown >= grid.columns) {
      this.#inView.textContent = `all ${all} ranks`;
    } else if (grid.orderName === "rank") {
      const last = grid.ranks[Math.min(grid.columns, Math.ceil(first + shown)) - 1];
      const from = grid.ranks[Math.floor(first)];
      this.#inView.textContent = `ranks ${count(from)} – ${count(last)} of ${all}`;
    } else {
      this.#inView.textContent = `${count(shown)} of ${all} ranks`;
    }
  }

  #drawLegend() {
    const {scale, grid} = this.#map;
    const shares = scale.diverging ? [-1, -0.25, 0, 0.25, 1] : [0, 0.0625, 0.25, 0.5625, 1];
    const words = value =>
      value === 0 ? "0" : heatValue(Math.round(value * scale.reach), grid.metric);
    replace(
      this.#legend,
      shares.map(share =>
        el(
          "span",
          {class: "heat-key"},
          el("span", {class: "heat-swatch", style: {background: scale.cssOf(share * scale.reach)}}),
          share === 1 ? `≥ ${words(share)}` : share === -1 ? `≤ ${words(share)}` : words(share),
        ),
      ),
      el("span", {class: "heat-key"}, el("span", {class: "heat-swatch absent"}), "not run"),
    );
  }

  #describe(cell) {
    return [
      el("strong", null, `rank ${count(cell.rank)}`),
      " · ",
      name(cell.host, {longest: 48}),
      el("span", {class: "quiet"}, ` · role ${cell.role}`),
      el("br"),
      el("span", {class: "mono"}, printable(this.#labels.get(cell.function.function), 90)),
      el("br"),
      cell.value === null
        ? "not run"
        : el("strong", null, heatValue(cell.value, this.#map.grid.metric)),
      cell.value === null ? null : this.#map.grid.metric === "beta" ? " of the window" : " a step",
    ];
  }

  #pick(cell) {
    go({
      page: "job",
      job: this.#route.job,
      tab: "rank",
      item: cell.rank,
      query: {window: this.#route.query.window},
    });
  }

  #reorder(order) {
    amend(withQuery(current(), {order: order === "rank" ? undefined : order}));
    this.#route = current();
    if (!this.#map) return;
    this.#map.grid.sort(order);
    this.#map.cursor = null;
    this.#map.show(
      0,
      order === "rank" ? this.#map.grid.columns : Math.min(this.#map.grid.columns, 64),
    );
  }

  #list(grid) {
    const largest = grid.largest(MOST_LISTED);
    if (largest.length === 0) return "";
    return el(
      "div",
      null,
      el("h3", null, grid.metric === "excess" ? "What stands out most" : "Largest"),
      el(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": "What stands out most"},
        table(
          "Cells that stand out most",
          [
            {title: "Rank"},
            {title: "Host"},
            {title: "Function"},
            {title: grid.metric === "excess" ? "Excess a step" : "Value", class: "number"},
          ],
          largest.map(cell => [
            rankLink(this.#route, cell.rank),
            name(cell.host, {longest: 40}),
            name(this.#labels.get(cell.function.function), {longest: 70, mono: true}),
            heatValue(cell.value, grid.metric),
          ]),
        ),
      ),
    );
  }

  update(route) {
    const before = this.#route.query;
    this.#route = route;
    if (
      before.window === route.query.window &&
      before.metric === route.query.metric &&
      before.order === route.query.order
    )
      return;
    this.#section.refresh();
  }

  refresh() {
    this.#section.renew();
  }

  dispose() {
    this.#section.dispose();
    this.#map?.dispose();
  }
}

function flagsOf(findings) {
  return findings
    .filter(finding => finding.state !== "resolved")
    .sort(compareFindings)
    .flatMap(finding =>
      (finding.culprits ?? [])
        .filter(culprit => culprit.rank !== undefined)
        .map(culprit => ({rank: culprit.rank, severity: known(finding.severity)})),
    )
    .slice(0, MOST_FLAGS);
}
