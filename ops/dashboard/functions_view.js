// Functions of a window, the most critical first: what a step consists of.
import {get, path} from "./api.js";
import {CLASSES} from "./culprit_view.js";
import {el, table} from "./dom.js";
import {barPair} from "./evidence_table.js";
import {functionLabels} from "./function_label.js";
import {empty} from "./page_states.js";
import {name} from "./printable.js";
import {hrefOf, withQuery} from "./route.js";
import {card, Section} from "./section.js";
import {count, duration, percent} from "./units.js";

const PAGE = 100;
const COLUMNS = [
  {title: "Function"},
  {title: "Time a step: slowest rank above the median", class: "bar-cell"},
  {title: "Median", class: "number"},
  {title: "Slowest", class: "number"},
  {title: "Rank"},
  {title: "Of the window", class: "number"},
  {title: "A call", class: "number"},
  {title: "Ranks", class: "number"},
];

export class FunctionsView {
  #route;
  #section;

  constructor(route) {
    this.#route = route;
    this.#section = new Section(
      signal => {
        const {window, after} = this.#route.query;
        const asked = {window, cursor: after, limit: PAGE};
        return get(path("jobs", this.#route.job, "functions"), asked, signal);
      },
      (answer, body) => this.#render(answer, body),
      {rows: 10},
    );
    this.node = el("div", {class: "stack"}, card("Functions", this.#section.node));
    this.#section.refresh();
  }

  #render({functions, next_cursor: next}, body) {
    if (functions.length === 0) {
      body.append(empty("No functions are held for this window", ""));
      return;
    }
    const most = Math.max(...functions.map(row => row.critical_ns_per_step.max));
    const labels = functionLabels(functions.map(row => row.function));
    const more = hrefOf(withQuery(this.#route, {after: next ?? undefined}));
    body.append(
      el(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": "Functions"},
        table(
          "Functions of the window",
          COLUMNS,
          functions.map(row => this.#row(row, labels.get(row.function.function), most)),
          "blocks",
        ),
      ),
      next ? el("p", null, el("a", {class: "button", href: more}, `Next ${PAGE}`)) : "",
    );
  }

  #row(row, label, most) {
    const {job, query} = this.#route;
    const {median, max, max_rank: rank} = row.critical_ns_per_step;
    const late = max > 1.2 * median && max - median > 0.02 * most;
    const link = (tab, item, more = {}) =>
      hrefOf({page: "job", job, tab, item, query: {window: query.window, ...more}});
    return [
      [
        el(
          "a",
          {href: link("function", row.function.function)},
          name(label, {longest: 60, mono: true}),
        ),
        el("span", {class: "tag"}, CLASSES[row.function.class] ?? row.function.class),
      ],
      barPair(max, median, 0, most, late ? "of-culprit" : "of-rank"),
      duration(median),
      el("span", {class: late ? "more" : ""}, duration(max)),
      el("a", {href: link("rank", rank)}, count(rank)),
      percent(row.beta.median),
      duration(row.call_ns.median),
      count(row.ranks),
    ];
  }

  update(route) {
    this.#route = route;
    this.#section.refresh();
  }

  refresh() {
    this.#section.renew();
  }

  dispose() {
    this.#section.dispose();
  }
}
