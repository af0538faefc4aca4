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
import {chainEdges, connectedWaits, waitEdges} from "./wait_edges.js";
import {waitGraph} from "./wait_graph.js";

export class FindingView {
  #route;
  #section;
  #waits = null;
  #culprit = null;

  constructor(route) {
    this.#route = route;
    this.#section = new Section(
      signal => get(path("findings", route.item), {}, signal),
      (answer, body) => this.#render(answer.finding, body),
      {rows: 8},
    );
    this.node = el("article", {class: "stack finding-view"}, this.#section.node);
    this.#section.refresh();
  }

  #render(finding, body) {
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
          facts(finding),
        ),
      ),
      finding.evidence?.length > 0
        ? card("The culprit against its peers", evidenceTable(finding))
        : null,
      this.#sideBySide(finding) ?? "",
      this.#chain(finding),
      el(
        "section",
        {class: "card"},
        el("header", {class: "card-head"}, el("h2", null, "Why")),
        why(finding),
      ),
      finding.victims?.length > 0 ? victims(finding) : "",
    );
  }

  #sideBySide(finding) {
    const ranks = (finding.culprits ?? [])
      .map(culprit => culprit.rank)
      .filter(rank => rank !== undefined);
    if (ranks.length === 0) return null;
    this.#culprit?.dispose();
    this.#culprit = new CulpritView(
      this.#route.job,
      ranks.slice(0, MOST_CULPRITS),
      finding.function,
      this.#route.query.window,
    );
    return this.#culprit.node;
  }

  #chain(finding) {
    const ranks = (finding.culprits ?? [])
      .map(culprit => culprit.rank)
      .filter(rank => rank !== undefined);
    this.#waits?.dispose();
    const cost =
      finding.lost_ns_per_step > 0
        ? `every step takes ${duration(finding.lost_ns_per_step)} longer`
        : "";
    this.#waits = new Section(
      async signal => {
        try {
          return await get(
            path("jobs", this.#route.job, "waits"),
            {window: this.#route.query.window, limit: 2000},
            signal,
          );
        } catch (error) {
          // Where the window is no longer held the finding's own chain still is.
          if (error.status === 404) return null;
          throw error;
        }
      },
      (answer, body) => {
        const seen = answer ? connectedWaits(waitEdges(answer), ranks) : [];
        const edges = seen.length > 0 ? seen : chainEdges(finding, ranks);
        body.append(
          waitGraph(edges, {
            job: this.#route.job,
            roots: ranks,
            cost,
            empty: "Nobody waits in this window because of it.",
          }),
          this.#chainInWords(finding) ?? "",
        );
      },
    );
    this.#waits.refresh();
    return card("Who waits for whom", this.#waits.node);
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
    if (!moved) return;
    this.#culprit?.setWindow(route.query.window);
    this.#waits?.refresh();
  }

  refresh() {
    this.#section.refresh();
    this.#culprit?.refresh();
    this.#waits?.refresh();
  }

  dispose() {
    this.#section.dispose();
    this.#culprit?.dispose();
    this.#waits?.dispose();
  }
}
