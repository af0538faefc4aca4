// Findings of all jobs, by severity and state.
import {get} from "./api.js";
import {el} from "./dom.js";
import {findingRow} from "./finding_row.js";
import {empty} from "./page_states.js";
import {current, go, withQuery} from "./route.js";
import {Section} from "./section.js";
import {compareFindings} from "./severity.js";
import {plural} from "./units.js";

const MOST_FINDINGS = 200;
const STATES = [
  ["open", "open"],
  ["resolved", "resolved"],
  ["", "open and resolved"],
];
const SEVERITY = [
  ["", "any severity"],
  ["critical", "critical"],
  ["major", "major and worse"],
  ["minor", "minor and worse"],
];

function select(label, choices, value, onChange) {
  const node = el(
    "select",
    {"aria-label": label, on: {change: event => onChange(event.target.value)}},
    choices.map(([choice, text]) => el("option", {value: choice}, text)),
  );
  node.value = choices.some(([choice]) => choice === value) ? value : choices[0][0];
  return node;
}

export class FindingsPage {
  #query;
  #list;
  #stateChoice;
  #severityChoice;

  constructor(route) {
    this.#query = route.query;
    this.#list = new Section(
      signal =>
        get(
          "/v1/findings",
          {
            state: this.#state() || undefined,
            severity: this.#severity() || undefined,
            view: "brief",
            limit: MOST_FINDINGS,
          },
          signal,
        ),
      (answer, body) => this.#render(answer, body),
      {rows: 8},
    );
    this.summary = el("p", {class: "quiet"});
    this.#stateChoice = select("State", STATES, this.#state(), value =>
      go(withQuery(current(), {state: value === "" ? "all" : value})),
    );
    this.#severityChoice = select("Severity", SEVERITY, this.#severity(), value =>
      go(withQuery(current(), {severity: value})),
    );
    this.node = el(
      "div",
      {class: "page"},
      el(
        "div",
        {class: "page-head"},
        el("div", null, el("h1", {tabindex: "-1"}, "Findings"), this.summary),
        el("div", {class: "controls"}, this.#stateChoice, this.#severityChoice),
      ),
      this.#list.node,
    );
    this.#list.refresh();
  }

  #state() {
    const asked = this.#query.state;
    return asked === "all"
      ? ""
      : STATES.some(([state]) => state !== "" && state === asked)
        ? asked
        : "open";
  }

  #severity() {
    return SEVERITY.some(([severity]) => severity === this.#query.severity)
      ? this.#query.severity
      : "";
  }

  #render(answer, body) {
    const findings = [...answer.findings].sort(compareFindings);
    this.summary.textContent =
      plural(findings.length, "finding") + (answer.next_cursor ? " and more" : "");
    body.append(
      findings.length === 0
        ? empty(
            "No finding fits",
            "Where nothing is found, nothing holds the jobs up by more than its noise.",
          )
        : el(
            "ul",
            {class: "finding-list"},
            findings.map(finding => findingRow(finding, {withJob: true})),
          ),
    );
  }

  update(route) {
    this.#query = route.query;
    this.#stateChoice.value = this.#state();
    this.#severityChoice.value = this.#severity();
    this.#list.refresh();
  }

  refresh() {
    this.#list.renew();
  }

  takeFinding() {
    this.refresh();
  }

  dispose() {
    this.#list.dispose();
  }
}
