// What a job suffers from, in sentences, and its steps with marks where findings lie.
import {get, path} from "./api.js";
import {el} from "./dom.js";
import {findingRow} from "./finding_row.js";
import {empty} from "./page_states.js";
import {card, Section} from "./section.js";
import {compareFindings} from "./severity.js";
import {StepChart} from "./step_chart.js";
import {plural} from "./units.js";

const MOST_ROWS = 200;

export class OverviewView {
  #job;
  #findings;
  #steps;
  #chart = null;

  constructor(route) {
    this.#job = route.job;
    this.#findings = new Section(
      signal => get("/v1/findings", {job: this.#job, view: "brief", limit: 1000}, signal),
      (answer, body) => this.#renderFindings(answer, body),
      {rows: 6},
    );
    this.#steps = new Section(
      signal => get(path("jobs", this.#job, "steps"), {}, signal),
      (answer, body) => this.#renderSteps(answer, body),
      {rows: 5},
    );
    this.node = el(
      "div",
      {class: "stack"},
      this.#findings.node,
      card("Step time", this.#steps.node),
    );
    this.refresh();
  }

  #renderFindings({findings}, body) {
    const sorted = [...findings].sort(compareFindings);
    const open = sorted.filter(finding => finding.state !== "resolved");
    const resolved = sorted.filter(finding => finding.state === "resolved");
    body.append(
      open.length === 0
        ? el(
            "div",
            {class: "all-well"},
            el("p", {class: "state-title"}, "✓ Nothing holds this job up"),
            el(
              "p",
              {class: "quiet"},
              "Ranks differ by no more than their noise in the windows that were diagnosed.",
            ),
          )
        : el(
            "ul",
            {class: "finding-list", id: "open-findings"},
            open.slice(0, MOST_ROWS).map(finding => findingRow(finding)),
          ),
    );
    if (resolved.length > 0) {
      body.append(
        el(
          "details",
          {class: "resolved-list"},
          el("summary", null, plural(resolved.length, "resolved finding")),
          el(
            "ul",
            {class: "finding-list"},
            resolved.slice(0, MOST_ROWS).map(finding => findingRow(finding)),
          ),
        ),
      );
    }
  }

  #renderSteps(answer, body) {
    if (answer.steps.step.length === 0) {
      this.#chart?.dispose();
      this.#chart = null;
      body.append(
        empty("No steps are held", "The job marks no steps, or its windows are no longer kept."),
      );
      return;
    }
    if (this.#chart) {
      body.append(this.#chart.node);
      this.#chart.show(answer);
      return;
    }
    this.#chart = new StepChart(this.#job, answer);
    body.append(this.#chart.node);
  }

  update() {
    this.refresh();
  }

  refresh() {
    this.#findings.renew();
    this.#steps.renew();
  }

  dispose() {
    this.#findings.dispose();
    this.#steps.dispose();
    this.#chart?.dispose();
  }
}
