// Who waited for whom in a window: the graph, and the largest waits one by one.
import {get, path} from "./api.js";
import {el, table} from "./dom.js";
import {empty} from "./page_states.js";
import {name} from "./printable.js";
import {rankLink} from "./rank_link.js";
import {card, Section} from "./section.js";
import {count, duration, plural} from "./units.js";
import {communicatorNames, connectedWaits, rootsOf, waitEdges} from "./wait_edges.js";
import {waitGraph} from "./wait_graph.js";

const MOST_ROWS = 20;
const MOST_COMMUNICATORS = 50;

const COLUMNS = [{title: "Waits"}, {title: "For"}, {title: "Wait", class: "number"}, {title: "In"}];
const OF_COMMUNICATORS = [
  {title: "Communicator"},
  {title: "Members", class: "number"},
  {title: "Operations", class: "number"},
  {title: "Wait", class: "number"},
  {title: "Transfer", class: "number"},
  {title: "Waited for most"},
];

export class WaitsView {
  #route;
  #waits;

  constructor(route) {
    this.#route = route;
    this.#waits = new Section(
      signal => this.#load(signal),
      (answers, body) => this.#render(answers, body),
    );
    this.node = el("div", {class: "stack"}, this.#waits.node);
    this.refresh();
  }

  #load(signal) {
    const {job, query} = this.#route;
    const {window} = query;
    return Promise.all([
      get(path("jobs", job, "waits"), {window, limit: 2000}, signal),
      get(path("jobs", job, "communicators"), {window, limit: 1000}, signal),
    ]);
  }

  #render([waits, communicators], body) {
    body.className = "section stack";
    const [graph, list] = [el("div"), el("div")];
    this.#renderWaits(waits, communicatorNames(communicators), graph);
    this.#renderCommunicators(communicators, list);
    body.append(card("Who waits for whom", graph), card("Communicators", list));
  }

  #renderWaits(answer, names, body) {
    const edges = waitEdges(answer, names);
    if (edges.length === 0) {
      body.append(empty("Nobody waits", "No rank waited for another in this window."));
      return;
    }
    const roots = rootsOf(edges);
    body.append(
      waitGraph(connectedWaits(edges, roots), {
        job: this.#route.job,
        roots,
        cost: "",
        atLeast: answer.omitted > 0,
        empty: "The waits lead to nobody in particular: they are spread over all ranks.",
      }),
      el("h3", null, "Largest waits"),
      el(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": "Largest waits"},
        table(
          "Largest waits",
          COLUMNS,
          answer.waits
            .slice(0, MOST_ROWS)
            .map(wait => [
              rankLink(this.#route, wait.waiting),
              rankLink(this.#route, wait.waited_for),
              duration(wait.wait_ns),
              [
                name(names.get(wait.communicator) || wait.communicator, {longest: 60}),
                wait.point_to_point ? el("span", {class: "tag"}, "point to point") : null,
              ],
            ]),
        ),
      ),
      answer.waits.length + answer.omitted > MOST_ROWS
        ? el(
            "p",
            {class: "quiet small"},
            `${plural(answer.waits.length + answer.omitted - MOST_ROWS, "smaller wait")} left out.`,
          )
        : "",
    );
  }

  #renderCommunicators({communicators: all}, body) {
    const communicators = all.slice(0, MOST_COMMUNICATORS);
    if (communicators.length === 0) {
      body.append(empty("No collectives were seen in this window", ""));
      return;
    }
    body.append(
      el(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": "Communicators"},
        table(
          "Communicators",
          OF_COMMUNICATORS,
          communicators.map(one => [
            [
              name(one.name || one.communicator, {longest: 60}),
              one.description
                ? el("span", {class: "tag"}, name(one.description, {longest: 40}))
                : null,
            ],
            one.missing > 0
              ? el("span", {class: "warn"}, `${count(one.members)}, ${count(one.missing)} silent`)
              : count(one.members),
            one.incomplete > 0
              ? el(
                  "span",
                  {class: "warn"},
                  `${count(one.operations)}, ${count(one.incomplete)} never joined`,
                )
              : count(one.operations),
            duration(one.wait_ns),
            duration(one.transfer_ns),
            one.culprit
              ? [
                  rankLink(this.#route, one.culprit.rank),
                  el(
                    "div",
                    {class: "quiet small"},
                    `last in ${count(one.culprit.arrived_last)}, ` +
                      `${duration(one.culprit.caused_wait_ns)} of waits`,
                  ),
                ]
              : "–",
          ]),
        ),
      ),
    );
  }

  update(route) {
    this.#route = route;
    this.refresh();
  }

  refresh() {
    this.#waits.renew();
  }

  dispose() {
    this.#waits.dispose();
  }
}
