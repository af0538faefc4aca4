// The node itself: whether it does its work, what its stages have done, which nodes it knows.
import {get} from "./api.js";
import {el, table} from "./dom.js";
import {name, printable} from "./printable.js";
import {relativeTime} from "./relative_time.js";
import {card, Section} from "./section.js";
import {count, NONE} from "./units.js";

const STAGE_COLUMNS = [
  {title: "Stage"},
  {title: "Tasks", class: "number"},
  {title: "Restoring", class: "number"},
  {title: "Received", class: "number"},
  {title: "Processed", class: "number"},
  {title: "Emitted", class: "number"},
  {title: "Dead letters", class: "number"},
  {title: "Dropped", class: "number"},
  {title: "Retries", class: "number"},
];

function stageRow(stage) {
  const bad = value => el("span", {class: value > 0 ? "warn" : ""}, count(value));
  return [
    name(stage.stage, {longest: 40}),
    count(stage.tasks),
    bad(stage.tasks_restoring),
    count(stage.records_received),
    count(stage.records_processed),
    count(stage.records_emitted),
    bad(stage.dead_letters),
    bad(stage.outputs_dropped),
    count(stage.retries),
  ];
}

function render(status, body) {
  body.className = "section stack";
  const fact = (label, ...value) =>
    el("div", {class: "fact"}, el("dt", null, label), el("dd", null, value));
  body.append(
    status.reasons.length > 0
      ? el(
          "ul",
          {class: "notice"},
          status.reasons.map(reason => el("li", null, printable(reason, 300))),
        )
      : "",
    el(
      "dl",
      {class: "facts strip"},
      fact(
        "State",
        el(
          "span",
          {class: status.healthy && status.ready ? "healthy" : "warn"},
          !status.healthy ? "not healthy" : status.ready ? "✓ ready" : "restoring",
        ),
      ),
      fact("Name", name(status.node, {longest: 60})),
      fact("Version", name(status.version, {longest: 40})),
      fact("Started", relativeTime(status.started)),
      fact("Jobs", count(status.jobs)),
      fact("Findings held", count(status.findings_held)),
      fact("Evicted", count(status.findings_evicted)),
      fact("Roles", printable(status.roles.join(", "), 120) || NONE),
    ),
    card(
      "Stages",
      el(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": "Stages"},
        table("What the stages of this node have done", STAGE_COLUMNS, status.stages.map(stageRow)),
      ),
    ),
    card(
      "Nodes that it knows",
      el(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": "Nodes"},
        table(
          "Nodes",
          [{title: "Node"}, {title: "Address"}, {title: "Announced"}],
          status.nodes.map(node => [
            name(node.node, {longest: 60}),
            name(node.url, {longest: 100, mono: true}),
            relativeTime(node.announced),
          ]),
        ),
      ),
    ),
  );
}

export class NodePage {
  #section = new Section(signal => get("/v1/status", {}, signal), render);

  constructor() {
    this.node = el(
      "div",
      {class: "page"},
      el("div", {class: "page-head"}, el("h1", {tabindex: "-1"}, "Node")),
      this.#section.node,
    );
    this.#section.refresh();
  }

  update() {}

  refresh() {
    this.#section.renew();
  }

  takeFinding() {}

  dispose() {
    this.#section.dispose();
  }
}
