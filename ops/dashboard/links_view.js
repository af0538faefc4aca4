// What connections carried: the matrix, and those that are slowest for their kind.
import {get, path} from "./api.js";
import {el, freshId, table} from "./dom.js";
import {LinkMatrix, linkRows, medianSpeeds, slowness} from "./link_matrix.js";
import {empty} from "./page_states.js";
import {name, printable} from "./printable.js";
import {rankLink} from "./rank_link.js";
import {current, go, withQuery} from "./route.js";
import {card, Section} from "./section.js";
import {bytes, count, NONE, percent, plural, rate} from "./units.js";

const MOST_ROWS = 20;
const COLUMNS = [
  {title: "From"},
  {title: "To"},
  {title: "Over"},
  {title: "Speed", class: "number"},
  {title: "Its kind", class: "number"},
  {title: "Slower by", class: "number"},
  {title: "Carried", class: "number"},
  {title: "Retransmits", class: "number"},
];

export class LinksView {
  #route;
  #section;
  #matrix = null;

  constructor(route) {
    this.#route = route;
    this.#section = new Section(
      signal =>
        get(
          path("jobs", route.job, "links"),
          {window: this.#route.query.window, limit: 20000},
          signal,
        ),
      (answer, body) => this.#render(answer, body),
      {rows: 8},
    );
    this.node = el("div", {class: "stack"}, card("Links", this.#section.node));
    this.#section.refresh();
  }

  #render(answer, body) {
    this.#matrix?.dispose();
    this.#matrix = null;
    const all = linkRows(answer);
    if (all.length === 0) {
      body.append(
        empty(
          "No connections are known in this window",
          "Speeds of links need transport counters or TCP_INFO from the producers.",
        ),
      );
      return;
    }
    const medians = medianSpeeds(all);
    const kinds = [...medians.keys()].sort();
    const asked = this.#route.query.over;
    const kind = kinds.includes(asked) ? asked : "";
    const links = kind === "" ? all : all.filter(link => link.resource === kind);
    this.#matrix = new LinkMatrix(links, medians, {
      onPick: link =>
        go({
          page: "job",
          job: this.#route.job,
          tab: "rank",
          item: link.source,
          query: {window: this.#route.query.window},
        }),
    });
    body.append(
      el("div", {class: "heat-tools"}, this.#kindChoice(kinds, kind)),
      el(
        "div",
        {class: "links-columns"},
        el(
          "div",
          {
            class: "scroll matrix-scroll",
            tabindex: "0",
            role: "region",
            "aria-label": "Link matrix",
          },
          el("p", {class: "quiet small"}, "source ↓  destination →"),
          this.#matrix.node,
        ),
        el(
          "div",
          null,
          el("h3", null, "Slowest for their kind"),
          this.#slowest(links, medians),
          el("h3", null, "Medians"),
          el(
            "ul",
            {class: "plain-list"},
            kinds.map(one =>
              el("li", null, name(one, {longest: 40}), `: ${rate(medians.get(one))}`),
            ),
          ),
        ),
      ),
      answer.omitted > 0
        ? el(
            "p",
            {class: "quiet small"},
            `${plural(answer.omitted, "smaller connection")} left out.`,
          )
        : "",
    );
  }

  #kindChoice(kinds, kind) {
    const id = freshId("kind");
    const select = el(
      "select",
      {id, on: {change: event => go(withQuery(current(), {over: event.target.value}))}},
      el("option", {value: ""}, "every kind"),
      kinds.map(one => el("option", {value: one}, printable(one, 40))),
    );
    select.value = kind;
    return el("span", {class: "field"}, el("label", {for: id}, "Over"), select);
  }

  #slowest(links, medians) {
    const ranked = links
      .map(link => ({link, share: slowness(link, medians)}))
      .filter(({share}) => share !== null && share > 0.1)
      .sort((a, b) => b.share - a.share)
      .slice(0, MOST_ROWS);
    if (ranked.length === 0)
      return el("p", {class: "healthy"}, "✓ None is slower than its kind by more than 10 %.");
    return el(
      "div",
      {class: "scroll", tabindex: "0", role: "region", "aria-label": "Slowest connections"},
      table(
        "Slowest connections",
        COLUMNS,
        ranked.map(({link, share}) => [
          rankLink(this.#route, link.source),
          rankLink(this.#route, link.destination),
          name(link.resource, {longest: 30}),
          el("strong", null, rate(link.speed)),
          rate(medians.get(link.resource)),
          percent(share),
          bytes(link.bytes),
          link.retransmits > 0 ? el("span", {class: "warn"}, count(link.retransmits)) : NONE,
        ]),
      ),
    );
  }

  update(route) {
    const moved = route.query.over !== this.#route.query.over;
    this.#route = route;
    if (moved) this.#section.draw();
    this.#section.refresh();
  }

  refresh() {
    this.#section.renew();
  }

  dispose() {
    this.#section.dispose();
    this.#matrix?.dispose();
  }
}
