// All jobs: the worst first, each with the finding that a person should read first.
import {get} from "./api.js";
import {el, replace} from "./dom.js";
import {empty} from "./page_states.js";
import {name, sentence} from "./printable.js";
import {relativeTime} from "./relative_time.js";
import {amend, current, hrefOf, withQuery} from "./route.js";
import {Section} from "./section.js";
import {compareFindings, known, openFindings, SEVERITIES} from "./severity.js";
import {count, duration, lostGpus, NONE, plural} from "./units.js";

const MOST_SHOWN = 300;
const MOST_FINDINGS = 200;

function worstByJob(findings) {
  const worst = new Map();
  for (const finding of [...findings].sort(compareFindings)) {
    const held = worst.get(finding.job) ?? {finding, lost: 0};
    held.lost += finding.lost_gpu_seconds_per_hour ?? 0;
    worst.set(finding.job, held);
  }
  return worst;
}

function ranksCell(job) {
  const missing = job.world_size - job.ranks_seen;
  return el(
    "span",
    {class: missing > 0 ? "warn" : ""},
    missing > 0 ? `${count(job.ranks_seen)} of ${count(job.world_size)}` : count(job.world_size),
  );
}

function fact(label, ...value) {
  return el("div", {class: "fact"}, el("dt", null, label), el("dd", null, value));
}

function jobRow(job, worst) {
  const severity = worst ? known(worst.finding.severity) : "none";
  return el(
    "li",
    {class: `job-row edge-${severity}`},
    el(
      "div",
      {class: "job-main"},
      el(
        "h2",
        null,
        el("a", {href: hrefOf({page: "job", job: job.job})}, name(job.job, {longest: 90})),
        job.state === "ended" ? el("span", {class: "pill"}, "ended") : null,
      ),
      worst
        ? el(
            "p",
            {class: "job-finding"},
            el(
              "a",
              {
                class: "plain",
                href: hrefOf({page: "job", job: job.job, tab: "finding", item: worst.finding.id}),
              },
              sentence(worst.finding.title, 320),
            ),
          )
        : el(
            "p",
            {class: "quiet"},
            job.state === "ended" ? "It has ended." : "No open finding: nothing holds it up.",
          ),
    ),
    el(
      "dl",
      {class: "facts"},
      fact("Open findings", openFindings(job.open_findings)),
      fact("Ranks", ranksCell(job)),
      fact("Step", job.step_ns > 0 ? duration(job.step_ns) : NONE),
      fact("Lost", worst && worst.lost > 0 ? lostGpus(worst.lost, job.world_size) : NONE),
      fact("Diagnosed", job.diagnosed_at ? relativeTime(job.diagnosed_at) : "not yet"),
    ),
  );
}

export class JobsPage {
  #list;
  #filter;

  constructor(route) {
    this.#filter = {text: route.query.q ?? "", state: route.query.state ?? ""};
    this.#list = new Section(
      signal => this.#load(signal),
      (answers, body) => this.#render(answers, body),
      {rows: 8},
    );
    const search = el("input", {
      type: "search",
      id: "job-filter",
      maxlength: "200",
      value: this.#filter.text,
      on: {input: event => this.#narrow({text: event.target.value})},
    });
    this.state = el(
      "select",
      {
        "aria-label": "Which jobs",
        on: {change: event => this.#narrow({state: event.target.value})},
      },
      [
        ["", "all jobs"],
        ["running", "running"],
        ["ended", "ended"],
      ].map(([value, text]) => el("option", {value}, text)),
    );
    this.state.value = this.#filter.state;
    this.summary = el("p", {class: "quiet", id: "job-summary"});
    this.node = el(
      "div",
      {class: "page"},
      el(
        "div",
        {class: "page-head"},
        el("div", null, el("h1", {tabindex: "-1"}, "Jobs"), this.summary),
        el(
          "div",
          {class: "controls"},
          el("span", {class: "field"}, el("label", {for: "job-filter"}, "Filter by name"), search),
          this.state,
        ),
      ),
      this.#list.node,
    );
    this.#list.refresh();
  }

  #narrow(change) {
    Object.assign(this.#filter, change);
    amend(withQuery(current(), {q: this.#filter.text, state: this.#filter.state}));
    this.#answers && this.#draw();
  }

  async #load(signal) {
    const [jobs, findings] = await Promise.all([
      this.#allJobs(signal),
      get("/v1/findings", {state: "open", muted: false, view: "brief", limit: MOST_FINDINGS}, signal),
    ]);
    return [...jobs, findings];
  }

  async #allJobs(signal) {
    const pages = [await get("/v1/jobs", {limit: 1000}, signal)];
    while (pages.at(-1).next_cursor && pages.length < 10) {
      pages.push(await get("/v1/jobs", {limit: 1000, cursor: pages.at(-1).next_cursor}, signal));
    }
    return pages;
  }

  #answers = null;
  #body = null;

  #render(answers, body) {
    this.#answers = answers;
    this.#body = body;
    this.#draw();
  }

  #draw() {
    const findings = this.#answers.at(-1).findings;
    const pages = this.#answers.slice(0, -1);
    const jobs = pages.flatMap(answer => answer.jobs);
    const text = this.#filter.text.toLowerCase();
    const shown = jobs.filter(
      job =>
        job.job.toLowerCase().includes(text) &&
        (this.#filter.state === "" || job.state === this.#filter.state),
    );
    const worst = worstByJob(findings);
    const suffering = jobs.filter(job =>
      SEVERITIES.some(severity => job.open_findings[severity] > 0),
    ).length;
    this.summary.textContent =
      jobs.length === 0
        ? ""
        : `${plural(jobs.length, "job")}, ` +
          `${suffering === 0 ? "none" : count(suffering)} with open findings`;
    const unreachable = pages.flatMap(answer => answer.unreachable_nodes);
    replace(
      this.#body,
      unreachable.length > 0
        ? el(
            "p",
            {class: "notice"},
            "Jobs of ",
            unreachable
              .slice(0, 5)
              .map((one, place) => [place > 0 ? ", " : "", name(one, {longest: 60})]),
            " are missing: those nodes do not answer.",
          )
        : null,
      jobs.length === 0
        ? empty(
            "No job has reported yet",
            "Start one with “eroica run -- COMMAND”, or point the producers at this " +
              "node's log.",
          )
        : shown.length === 0
          ? empty("No job fits the filter", "")
          : el(
              "ul",
              {class: "job-list"},
              shown.slice(0, MOST_SHOWN).map(job => jobRow(job, worst.get(job.job))),
            ),
      shown.length > MOST_SHOWN
        ? el("p", {class: "quiet"}, `${count(shown.length - MOST_SHOWN)} more: narrow the filter.`)
        : null,
    );
  }

  update() {}

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
