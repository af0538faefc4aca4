// One finding: what to do, who, what it costs; the culprit against its peers; who waits for it;
// why.
import {acknowledge, muteDialog, unmute} from "./actions.js";
import {get, path} from "./api.js";
import {CulpritView} from "./culprit_view.js";
import {el} from "./dom.js";
import {evidenceTable} from "./evidence_table.js";
import {annotation, facts, MOST_CULPRITS, victims, whatToDo, why} from "./finding_parts.js";
import {kindWords, marksOf, who} from "./finding_row.js";
import {sentence} from "./printable.js";
import {hrefOf} from "./route.js";
import {card, Section} from "./section.js";
import {known, severityBadge} from "./severity.js";
import {duration} from "./units.js";
import {chainEdges, communicatorNames, connectedWaits, waitEdges} from "./wait_edges.js";
import {waitGraph} from "./wait_graph.js";

function culpritRanks(finding) {
  return (finding.culprits ?? []).map(culprit => culprit.rank).filter(rank => rank !== undefined);
}

export class FindingView {
  #route;
  #section;
  #waits = null;
  #waitsCard = null;
  #culprit = null;
  #finding = null;
  #job = null;

  constructor(route) {
    this.#route = route;
    this.#section = new Section(
      signal => this.#load(signal),
      (answers, body) => this.#render(answers, body),
      {rows: 8},
    );
    this.node = el("article", {class: "stack finding-view"}, this.#section.node);
    this.#section.refresh();
  }

  #load(signal) {
    return Promise.all([
      get(path("findings", this.#route.item), {}, signal),
      get(path("jobs", this.#route.job), {}, signal),
    ]);
  }

  #render([{finding}, {job}], body) {
    this.#finding = finding;
    this.#job = job;
    body.className = "section stack";
    const back = el(
      "a",
      {
        href: hrefOf({
          page: "job",
          job: this.#route.job,
          query: {window: this.#route.query.window},
        }),
      },
      "‹ All findings of the job",
    );
    const muted = finding.annotation?.muted;
    body.append(
      el(
        "header",
        {class: `finding-head edge-${known(finding.severity)}`},
        el("p", {class: "small"}, back),
        el(
          "div",
          {class: "finding-line"},
          severityBadge(finding.severity),
          el("span", {class: "quiet"}, kindWords(finding)),
          marksOf(finding),
        ),
        el("h2", {class: "finding-sentence"}, sentence(finding.title, 900)),
        el("p", {class: "quiet"}, who(finding)),
        this.#windowOf(finding) === this.#route.query.window
          ? null
          : el(
              "p",
              {class: "quiet small"},
              `It is resolved: what follows is of its last window, ${this.#windowOf(finding)}.`,
            ),
        annotation(finding),
        el(
          "div",
          {class: "controls"},
          el(
            "button",
            {
              type: "button",
              id: "acknowledge",
              class: "primary",
              on: {click: () => acknowledge(finding, () => this.refresh())},
            },
            "Acknowledge…",
          ),
          muted
            ? el(
                "button",
                {
                  type: "button",
                  id: "unmute",
                  on: {click: () => unmute(finding, () => this.refresh())},
                },
                "Unmute",
              )
            : el(
                "button",
                {
                  type: "button",
                  id: "mute",
                  on: {click: () => muteDialog(finding, () => this.refresh())},
                },
                "Mute…",
              ),
        ),
      ),
      el(
        "div",
        {class: "columns"},
        whatToDo(finding),
        el(
          "section",
          {class: "card"},
          el("header", {class: "card-head"}, el("h2", null, "At a glance")),
          facts(finding, job),
        ),
      ),
      finding.evidence?.length > 0
        ? card(
            culpritRanks(finding).length > 0 ? "The culprit against its peers" : "Evidence",
            evidenceTable(finding),
          )
        : null,
      this.#sideBySide(finding, culpritRanks(finding)) ?? "",
      culpritRanks(finding).length > 0 || finding.chain?.length > 0 ? this.#chain() : "",
      el(
        "section",
        {class: "card"},
        el("header", {class: "card-head"}, el("h2", null, "Why")),
        why(finding),
      ),
      finding.victims?.length > 0 ? victims(finding) : "",
    );
  }

  // What is resolved does not show in the newest window: its own last one is looked at.
  #windowOf(finding) {
    const asked = this.#route.query.window;
    if (asked !== undefined || finding.state !== "resolved") return asked;
    return `${this.#job.window_kind}-${finding.windows.last}`;
  }

  #sideBySide(finding, ranks) {
    if (ranks.length === 0) return null;
    const key = ranks.join();
    if (this.#culprit?.key === key) {
      this.#culprit.setWindow(this.#windowOf(finding));
      return this.#culprit.node;
    }
    this.#culprit?.dispose();
    const shown = ranks.slice(0, MOST_CULPRITS);
    const window = this.#windowOf(finding);
    this.#culprit = new CulpritView(this.#route.job, shown, finding.function, window);
    this.#culprit.key = key;
    return this.#culprit.node;
  }

  async #loadWaits(signal) {
    const window = this.#windowOf(this.#finding);
    const of = what => path("jobs", this.#route.job, what);
    try {
      return await Promise.all([
        get(of("waits"), {window, limit: 2000}, signal),
        get(of("communicators"), {window, limit: 1000}, signal),
      ]);
    } catch (error) {
      // Where the window is no longer held the finding's own chain still is.
      if (error.status === 404) return [];
      throw error;
    }
  }

  #renderWaits([answer, communicators], body) {
    const finding = this.#finding;
    const ranks = culpritRanks(finding);
    const edges = answer ? waitEdges(answer, communicatorNames(communicators)) : [];
    const seen = connectedWaits(edges, ranks);
    const lost = finding.lost_ns_per_step;
    body.append(
      waitGraph(seen.length > 0 ? seen : chainEdges(finding, ranks), {
        job: this.#route.job,
        roots: ranks,
        cost: lost > 0 ? `every step takes ${duration(lost)} longer` : "",
        atLeast: answer?.omitted > 0,
        empty: "Nobody waits in this window because of it.",
      }),
      this.#chainInWords(finding) ?? "",
    );
  }

  #chain() {
    if (this.#waits) {
      this.#waits.draw();
      this.#waits.renew();
    } else {
      this.#waits = new Section(
        signal => this.#loadWaits(signal),
        (answer, body) => this.#renderWaits(answer, body),
      );
      this.#waitsCard = card("Who waits for whom", this.#waits.node);
      this.#waits.refresh();
    }
    return this.#waitsCard;
  }

  #chainInWords(finding) {
    if (!finding.chain?.length) return null;
    return el(
      "details",
      null,
      el("summary", null, "The chain in words"),
      el(
        "ol",
        {class: "chain"},
        finding.chain.slice(0, 40).map(effect => el("li", null, sentence(effect.description, 300))),
      ),
    );
  }

  update(route) {
    const moved = route.query.window !== this.#route.query.window;
    this.#route = route;
    this.#section.refresh();
    if (!moved || !this.#finding) return;
    this.#culprit?.setWindow(this.#windowOf(this.#finding));
    this.#waits?.refresh();
  }

  refresh() {
    this.#section.renew();
    this.#culprit?.refresh();
    this.#waits?.renew();
  }

  dispose() {
    this.#section.dispose();
    this.#culprit?.dispose();
    this.#waits?.dispose();
  }
}
