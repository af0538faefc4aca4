// One rank beside its peers: its functions, its busy time over the windows, its resources.
import {get, path} from "./api.js";
import {busyHistory, functionsBeside} from "./culprit_view.js";
import {el, table} from "./dom.js";
import {name, printable} from "./printable.js";
import {hrefOf} from "./route.js";
import {card, Section} from "./section.js";
import {count, duration, factor, NONE, signedDuration} from "./units.js";

const MOST_FUNCTIONS = 40;

function fact(label, ...value) {
  return el("div", {class: "fact"}, el("dt", null, label), el("dd", null, value));
}

export class RankView {
  #route;
  #section;
  #chart = null;

  constructor(route) {
    this.#route = route;
    this.#section = new Section(
      signal =>
        get(
          path("jobs", this.#route.job, "ranks", this.#route.item),
          {window: this.#route.query.window},
          signal,
        ),
      (answer, body) => this.#render(answer, body),
      {rows: 8},
    );
    const back = hrefOf({
      page: "job",
      job: route.job,
      tab: "ranks",
      query: {window: route.query.window},
    });
    this.node = el(
      "div",
      {class: "stack"},
      el("p", {class: "small"}, el("a", {href: back}, "‹ All ranks")),
      this.#section.node,
    );
    this.#section.refresh();
  }

  #render(answer, body) {
    const {rank} = answer;
    const {job, query} = this.#route;
    body.className = "section stack";
    this.#chart?.dispose();
    this.#chart = busyHistory(answer);
    const late = rank.peers_busy_ns > 0 && rank.excess_ns > 0.05 * rank.peers_busy_ns;
    body.append(
      el(
        "h2",
        {class: "view-title"},
        `Rank ${count(rank.rank)}`,
        rank.silent ? el("span", {class: "badge major"}, "silent in this window") : null,
      ),
      el(
        "dl",
        {class: "facts strip"},
        fact(
          "Host",
          el(
            "a",
            {
              href: hrefOf({
                page: "job",
                job,
                tab: "ranks",
                query: {window: query.window, host: rank.host},
              }),
            },
            name(rank.host, {longest: 60}),
          ),
          rank.device === null ? null : `, device ${rank.device}`,
        ),
        fact("Process", count(rank.pid).replaceAll(",", "")),
        fact("Role", name(rank.role_name || `role ${rank.role}`, {longest: 40})),
        fact("Step", duration(rank.step_ns)),
        fact("Busy", duration(rank.busy_ns)),
        fact("Peers busy", rank.peers_busy_ns > 0 ? duration(rank.peers_busy_ns) : "no peers"),
        fact("Excess", el("span", {class: late ? "more" : ""}, signedDuration(rank.excess_ns))),
        fact("Waits for others", duration(rank.wait_ns)),
      ),
      card(
        "Where its step goes",
        functionsBeside(answer, {job, most: MOST_FUNCTIONS, innocent: !late}),
        el(
          "a",
          {
            class: "button",
            href: hrefOf({
              page: "job",
              job,
              tab: "heatmap",
              query: {window: query.window, rank: rank.rank},
            }),
          },
          "Show in the heat map",
        ),
      ),
      card("Busy time over the windows", this.#chart.node),
      card(
        "Resources",
        answer.resources.length === 0
          ? el("p", {class: "quiet"}, "None were sampled.")
          : el(
              "div",
              {class: "scroll", tabindex: "0", role: "region", "aria-label": "Resources"},
              table(
                "Resources",
                [
                  {title: "Resource"},
                  {title: "Mean", class: "number"},
                  {title: "Most", class: "number"},
                  {title: "Samples", class: "number"},
                ],
                answer.resources.map(one => [
                  printable(one.resource, 60).replaceAll("_", " "),
                  factor(one.mean),
                  factor(one.max),
                  count(one.samples),
                ]),
              ),
            ),
      ),
      el(
        "p",
        {class: "quiet small"},
        `${count(rank.data_quality.events)} events of this rank, ` +
          (rank.data_quality.lost > 0 ? `${count(rank.data_quality.lost)} lost, ` : "none lost, ") +
          `${rank.steps > 0 ? `${count(rank.steps)} steps` : NONE} in the window.`,
      ),
    );
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
    this.#chart?.dispose();
  }
}
