// Where a rank's step goes, beside its peers: function by function, and its busy time over windows.
import {get, path} from "./api.js";
import {el, replace, tableHead} from "./dom.js";
import {barPair, legend} from "./evidence_table.js";
import {functionLabels} from "./function_label.js";
import {LineChart} from "./line_chart.js";
import {empty} from "./page_states.js";
import {name} from "./printable.js";
import {hrefOf} from "./route.js";
import {card, Section} from "./section.js";
import {count, duration, NONE, plural, signedDuration} from "./units.js";

const MOST_FUNCTIONS = 12;

export const CLASSES = {
  gpu_compute: "GPU",
  memory_op: "memory",
  collective: "collective",
  python: "Python",
  cpu_op: "CPU",
};

// Functions that take little of a window are no rows, and their time on the peers is known to be
// below a bound alone.
function isBound(row) {
  return row.peers_critical_at_most_ns_per_step > row.peers_critical_ns_per_step;
}

// At least; 0 where it cannot be told.
function difference(row) {
  const own = row.critical_ns_per_step;
  if (row.peers_critical_ns_per_step === null) return null;
  const atLeast = own - row.peers_critical_at_most_ns_per_step;
  return Math.max(atLeast, Math.min(0, own - row.peers_critical_ns_per_step));
}

function peersText(row) {
  return isBound(row)
    ? `< ${duration(row.peers_critical_at_most_ns_per_step)}`
    : duration(row.peers_critical_ns_per_step);
}

function differenceText(row) {
  const more = difference(row);
  if (more === null || (isBound(row) && more === 0)) return NONE;
  return (isBound(row) && more > 0 ? "> " : "") + signedDuration(more);
}

// What differs by more than noise first, then what takes longest.
function ordered(functions, longest) {
  const weight = row => {
    const more = Math.abs(difference(row) ?? 0);
    const peers = row.peers_critical_at_most_ns_per_step ?? 0;
    const differs = more > 0.05 * peers && more > 0.01 * longest;
    return differs ? longest + more : row.critical_ns_per_step;
  };
  return [...functions].sort((a, b) => weight(b) - weight(a));
}

// Differences that noise makes are not worth a colour.
function isMore(row, most) {
  const more = difference(row);
  return more > 0.05 * row.peers_critical_at_most_ns_per_step && more > 0.01 * most;
}

function functionRow(row, most, accused, {kind, href, labels}) {
  return el(
    "tr",
    {class: accused ? "accused" : ""},
    el(
      "th",
      {scope: "row"},
      el(
        "a",
        {class: "plain", href: href(row.function.function)},
        name(labels.get(row.function.function), {longest: 90, mono: true}),
      ),
      el("span", {class: "tag"}, CLASSES[row.function.class] ?? row.function.class),
    ),
    el(
      "td",
      {class: "bar-cell"},
      barPair(row.critical_ns_per_step, row.peers_critical_at_most_ns_per_step, 0, most, kind),
    ),
    el(
      "td",
      {class: "number culprit-text", "data-title": "This rank"},
      duration(row.critical_ns_per_step),
    ),
    el("td", {class: "number", "data-title": "Peers"}, peersText(row)),
    el(
      "td",
      {class: `number ${isMore(row, most) ? "more" : ""}`, "data-title": "Difference"},
      differenceText(row),
    ),
    el("td", {class: "number quiet", "data-title": "Calls"}, count(row.count)),
  );
}

// options: {job, accused: name of a function, most: how many, innocent: whether it is as its peers}
export function functionsBeside(answer, options) {
  const {job, accused = "", most = MOST_FUNCTIONS, innocent = false} = options;
  const kind = innocent ? "of-rank" : "of-culprit";
  const query = {window: answer.window, rank: answer.rank.rank};
  const href = item => hrefOf({page: "job", job, tab: "function", item, query});
  if (answer.functions.length === 0) return empty("No functions are held for this rank", "");
  const longest = Math.max(
    ...answer.functions.map(row =>
      Math.max(row.critical_ns_per_step, row.peers_critical_at_most_ns_per_step ?? 0),
    ),
  );
  const rows = ordered(answer.functions, longest);
  const labels = functionLabels(answer.functions.map(row => row.function));
  const heads = [
    {title: "Function, time a step"},
    {title: "", class: "bar-cell"},
    {title: "This rank", class: "number"},
    {title: "Peers", class: "number"},
    {title: "Difference", class: "number"},
    {title: "Calls", class: "number"},
  ];
  return el(
    "div",
    null,
    el(
      "table",
      {class: "grid evidence"},
      el("caption", {class: "unseen"}, `Functions of rank ${answer.rank.rank} beside its peers`),
      tableHead(heads),
      el(
        "tbody",
        null,
        rows.slice(0, most).map(row => {
          const isAccused = accused !== "" && row.function.name === accused;
          return functionRow(row, longest, isAccused, {kind, href, labels});
        }),
      ),
    ),
    rows.length > most
      ? el(
          "p",
          {class: "quiet small"},
          `${plural(rows.length - most, "function")} that differ less are left out.`,
        )
      : null,
    legend(false, kind, "this rank"),
  );
}

const HISTORY_LINES = [
  {label: "busy, this rank", colour: "--culprit", width: 2},
  {label: "busy, peers", colour: "--peers", width: 2},
];

export function busyHistory({history, rank}) {
  const places = history.window.map((_, place) => place);
  const summary =
    `Busy time a step of rank ${rank.rank} over ${places.length} windows ` + "beside its peers";
  return new LineChart(HISTORY_LINES, [places, history.busy_ns, history.peers_busy_ns], {
    height: 170,
    xName: "window",
    xLabel: place => history.window[place] ?? "",
    summary,
    zoom: false,
    xSpace: 90,
  });
}

export class CulpritView {
  #job;
  #rank;
  #ranks;
  #accused;
  #window;
  #section;
  #chart = null;
  #choices = el("div", {class: "chips", role: "group", "aria-label": "Culprits"});

  constructor(job, ranks, accused, window) {
    this.#job = job;
    this.#ranks = ranks;
    [this.#rank] = ranks;
    this.#accused = accused;
    this.#window = window;
    this.#section = new Section(
      signal => get(path("jobs", job, "ranks", this.#rank), {window: this.#window}, signal),
      (answer, body) => this.#render(answer, body),
      {rows: 6},
    );
    this.node = card("Where its step goes", this.#section.node, this.#choices);
    this.#drawChoices();
    this.#section.refresh();
  }

  #drawChoices() {
    if (this.#ranks.length < 2) return;
    replace(
      this.#choices,
      this.#ranks.map(rank =>
        el(
          "button",
          {
            type: "button",
            id: `culprit-${rank}`,
            "aria-pressed": String(rank === this.#rank),
            on: {click: () => this.#choose(rank)},
          },
          `rank ${count(rank)}`,
        ),
      ),
    );
  }

  #choose(rank) {
    this.#rank = rank;
    this.#drawChoices();
    document.getElementById(`culprit-${rank}`)?.focus();
    this.#section.refresh();
  }

  #render(answer, body) {
    const {rank} = answer;
    this.#chart?.dispose();
    this.#chart = busyHistory(answer);
    body.append(
      el(
        "p",
        null,
        el(
          "a",
          {
            href: hrefOf({
              page: "job",
              job: this.#job,
              tab: "rank",
              item: rank.rank,
              query: {window: this.#window},
            }),
          },
          `Rank ${count(rank.rank)}`,
        ),
        rank.silent
          ? " is silent in this window."
          : [
              ` was busy for ${duration(rank.busy_ns)} a step and waited for others for ` +
                `${duration(rank.wait_ns)}; `,
              rank.peers_busy_ns > 0
                ? `its peers were busy for ${duration(rank.peers_busy_ns)}.`
                : "it has no peers.",
            ],
      ),
      functionsBeside(answer, {job: this.#job, accused: this.#accused}),
      el("h3", null, "Over the windows"),
      this.#chart.node,
    );
  }

  setWindow(window) {
    if (window === this.#window) return;
    this.#window = window;
    this.#section.refresh();
  }

  refresh() {
    this.#section.renew();
  }

  dispose() {
    this.#section.dispose();
    this.#chart?.dispose();
  }
}
