// Ranks of a window: who is busy, who waits, who is silent. Of one host, if asked; page by page.
import {get, path} from "./api.js";
import {el, table} from "./dom.js";
import {barPair, rankLegend} from "./evidence_table.js";
import {empty} from "./page_states.js";
import {name} from "./printable.js";
import {rankLink} from "./rank_link.js";
import {current, go, hrefOf, withQuery} from "./route.js";
import {card, Section} from "./section.js";
import {count, duration, NONE, signedDuration} from "./units.js";

const PAGE = 200;
const MOST_SORTED = 1000; // what the node gives at once
const ORDERS = [
  ["", "by number"],
  ["excess", "largest excess first"],
];
const COLUMNS = [
  {title: "Rank"},
  {title: "Host"},
  {title: "Role"},
  {title: "Busy beside its peers", class: "bar-cell"},
  {title: "Busy", class: "number"},
  {title: "Peers", class: "number"},
  {title: "Excess", class: "number"},
  {title: "Waits", class: "number"},
  {title: "Lost events", class: "number"},
];

export class RanksView {
  #route;
  #section;

  constructor(route) {
    this.#route = route;
    this.#section = new Section(
      signal => get(path("jobs", route.job, "ranks"), this.#asked(), signal),
      (answer, body) => this.#render(answer, body),
      {rows: 10},
    );
    this.host = el("input", {
      type: "search",
      id: "host",
      maxlength: "1024",
      value: route.query.host ?? "",
    });
    this.rank = el("input", {
      type: "number",
      id: "rank-number",
      min: "0",
      inputmode: "numeric",
    });
    this.order = el(
      "select",
      {
        id: "rank-order",
        on: {
          change: event => go(withQuery(current(), {order: event.target.value, after: undefined})),
        },
      },
      ORDERS.map(([value, text]) => el("option", {value}, text)),
    );
    this.order.value = route.query.order === "excess" ? "excess" : "";
    this.node = el(
      "div",
      {class: "stack"},
      card(
        "Ranks",
        this.#section.node,
        el("span", {class: "field"}, el("label", {for: "rank-order"}, "Order"), this.order),
        el(
          "form",
          {class: "field", on: {submit: event => this.#openRank(event)}},
          el("label", {for: "rank-number"}, "Open rank"),
          this.rank,
          el("button", {type: "submit"}, "Open"),
        ),
        el(
          "form",
          {class: "field", on: {submit: event => this.#ofHost(event)}},
          el("label", {for: "host"}, "Host"),
          this.host,
          el("button", {type: "submit"}, "Show"),
        ),
      ),
    );
    this.#section.refresh();
  }

  #asked() {
    const {window, host, after, order} = this.#route.query;
    return {window, host, cursor: after, limit: order === "excess" ? MOST_SORTED : PAGE};
  }

  #openRank(event) {
    event.preventDefault();
    if (this.rank.value === "") return;
    go({
      page: "job",
      job: this.#route.job,
      tab: "rank",
      item: Math.max(0, Math.floor(Number(this.rank.value))),
      query: {window: this.#route.query.window},
    });
  }

  #ofHost(event) {
    event.preventDefault();
    go(withQuery(current(), {host: this.host.value.trim(), after: undefined}));
  }

  #render({ranks: page, next_cursor: next}, body) {
    const sorted = this.#route.query.order === "excess";
    const ranks = sorted ? [...page].sort((a, b) => b.excess_ns - a.excess_ns) : page;
    if (ranks.length === 0) {
      body.append(
        empty(
          "No ranks to show",
          this.#route.query.host ? "No rank of this window runs on that host." : "",
        ),
      );
      return;
    }
    const most = Math.max(...ranks.map(rank => Math.max(rank.busy_ns, rank.peers_busy_ns)));
    const {query} = this.#route;
    body.append(
      el(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": "Ranks"},
        table(
          "Ranks of the window",
          COLUMNS,
          ranks.map(rank => this.#row(rank, most)),
        ),
      ),
      rankLegend(),
      el(
        "p",
        {class: "controls"},
        query.after
          ? el(
              "a",
              {class: "button", href: hrefOf(withQuery(this.#route, {after: undefined}))},
              "First page",
            )
          : null,
        next
          ? el(
              "a",
              {class: "button", href: hrefOf(withQuery(this.#route, {after: next}))},
              `Next ${count(sorted ? MOST_SORTED : PAGE)} ranks`,
            )
          : null,
      ),
    );
  }

  #row(rank, most) {
    const late = rank.peers_busy_ns > 0 && rank.excess_ns > 0.05 * rank.peers_busy_ns;
    return [
      rankLink(this.#route, rank.rank),
      [
        el(
          "a",
          {
            class: "plain",
            href: hrefOf(withQuery(this.#route, {host: rank.host, after: undefined})),
          },
          name(rank.host, {longest: 40}),
        ),
        rank.device === null ? null : el("span", {class: "quiet"}, ` · ${rank.device}`),
      ],
      name(rank.role_name || `role ${rank.role}`, {longest: 30}),
      rank.silent
        ? el("span", {class: "warn"}, "silent")
        : barPair(rank.busy_ns, rank.peers_busy_ns, 0, most, late ? "of-culprit" : "of-rank"),
      rank.silent ? NONE : duration(rank.busy_ns),
      rank.peers_busy_ns > 0 ? duration(rank.peers_busy_ns) : NONE,
      rank.silent ? NONE : el("span", {class: late ? "more" : ""}, signedDuration(rank.excess_ns)),
      rank.silent ? NONE : duration(rank.wait_ns),
      rank.data_quality.lost > 0
        ? el("span", {class: "warn"}, count(rank.data_quality.lost))
        : NONE,
    ];
  }

  update(route) {
    this.#route = route;
    this.host.value = route.query.host ?? "";
    this.order.value = route.query.order === "excess" ? "excess" : "";
    this.#section.refresh();
  }

  refresh() {
    this.#section.renew();
  }

  dispose() {
    this.#section.dispose();
  }
}
