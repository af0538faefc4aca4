// One function over all ranks, and of one rank over the windows.
import {get, path} from "./api.js";
import {CLASSES} from "./culprit_view.js";
import {el, table} from "./dom.js";
import {callers} from "./finding_parts.js";
import {LineChart} from "./line_chart.js";
import {name} from "./printable.js";
import {current, go, hrefOf, withQuery} from "./route.js";
import {card, Section} from "./section.js";
import {count, duration, factor, percent, signedDuration} from "./units.js";

const MOST_RANKS = 10;
const COLUMNS = [
  {title: "Rank"},
  {title: "Time a step", class: "number"},
  {title: "Its role", class: "number"},
  {title: "Excess", class: "number"},
  {title: "Of the window", class: "number"},
  {title: "A call", class: "number"},
  {title: "Calls", class: "number"},
  {title: "Use of the resource", class: "number"},
];

export class FunctionView {
  #route;
  #section;
  #history;
  #rank = null;
  #charts = {};

  constructor(route) {
    this.#route = route;
    const url = path("jobs", route.job, "functions", route.item);
    this.#section = new Section(
      signal => get(url, {window: this.#route.query.window}, signal),
      (answer, body) => this.#render(answer, body),
      {rows: 8},
    );
    this.#history = new Section(
      signal => get(`${url}/history`, {rank: this.#rank}, signal),
      (answer, body) => this.#renderHistory(answer, body),
    );
    const {window} = route.query;
    const back = hrefOf({page: "job", job: route.job, tab: "functions", query: {window}});
    this.node = el(
      "div",
      {class: "stack"},
      el("p", {class: "small"}, el("a", {href: back}, "‹ All functions")),
      this.#section.node,
    );
    this.#section.refresh();
  }

  #chart(key, lines, data, options) {
    this.#charts[key]?.dispose();
    this.#charts[key] = new LineChart(lines, data, options);
    return this.#charts[key].node;
  }

  #link(rank) {
    const {job, query} = this.#route;
    return hrefOf({page: "job", job, tab: "rank", item: rank, query: {window: query.window}});
  }

  #render({function: one, ranks}, body) {
    body.className = "section stack";
    const medians = ranks.role_critical_ns_per_step;
    const places = ranks.rank.map((_, place) => place);
    const excess = place => ranks.critical_ns_per_step[place] - medians[place];
    const worst = [...places].sort((a, b) => excess(b) - excess(a)).slice(0, MOST_RANKS);
    const asked = Number(this.#route.query.rank ?? NaN);
    const rank = ranks.rank.includes(asked) ? asked : ranks.rank[worst[0]];
    if (rank !== this.#rank) {
      this.#rank = rank;
      this.#history.refresh();
    } else this.#history.renew();
    const chart = this.#chart(
      "ranks",
      [
        {label: "time a step", colour: "--culprit", width: 1.5},
        {label: "median of its role", colour: "--peers", width: 1.5},
      ],
      [places, ranks.critical_ns_per_step, medians],
      {
        height: 220,
        xName: "rank",
        xLabel: place => (ranks.rank[place] === undefined ? "" : count(ranks.rank[place])),
        summary: `Time a step in the function on ${count(places.length)} ranks`,
        onClick: place => go(withQuery(current(), {rank: ranks.rank[place]})),
      },
    );
    body.append(
      el(
        "header",
        null,
        el("h2", {class: "view-title"}, name(one.name, {longest: 160, mono: true})),
        el(
          "p",
          {class: "quiet"},
          CLASSES[one.class] ?? one.class,
          one.resource ? [", uses ", name(one.resource, {longest: 40})] : null,
        ),
        callers(one),
      ),
      card(
        "Over the ranks",
        el(
          "div",
          null,
          chart,
          el(
            "p",
            {class: "quiet small chart-note"},
            "Drag to zoom, double-click to see all, click a rank for its past.",
          ),
        ),
      ),
      card(
        "Slowest for their role",
        el(
          "div",
          {class: "scroll", tabindex: "0", role: "region", "aria-label": "Slowest for their role"},
          table(
            "Slowest ranks",
            COLUMNS,
            worst.map(place => [
              el("a", {href: this.#link(ranks.rank[place])}, `rank ${count(ranks.rank[place])}`),
              duration(ranks.critical_ns_per_step[place]),
              duration(medians[place]),
              signedDuration(excess(place)),
              percent(ranks.beta[place]),
              duration(ranks.call_ns[place]),
              count(ranks.count[place]),
              one.resource ? `${factor(ranks.mu[place])} ± ${factor(ranks.sigma[place])}` : "–",
            ]),
          ),
        ),
      ),
      card("Over the windows", this.#history.node),
    );
  }

  #renderHistory({rank, windows}, body) {
    const places = windows.window.map((_, place) => place);
    const chart = this.#chart(
      "history",
      [
        {label: `rank ${count(rank)}`, colour: "--culprit", width: 2},
        {label: "its peers", colour: "--peers", width: 2},
      ],
      [places, windows.critical_ns_per_step, windows.peers_critical_ns_per_step],
      {
        height: 170,
        xName: "window",
        xLabel: place => windows.window[place] ?? "",
        summary: `Time a step of rank ${rank} over ${places.length} windows beside its peers`,
        zoom: false,
        xSpace: 90,
      },
    );
    body.append(chart);
  }

  update(route) {
    this.#route = route;
    this.#section.draw();
    this.#section.refresh();
  }

  refresh() {
    this.#section.renew();
  }

  dispose() {
    this.#section.dispose();
    this.#history.dispose();
    for (const chart of Object.values(this.#charts)) chart.dispose();
  }
}
