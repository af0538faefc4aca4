// How far the diagnosis of a job can be relied on: what came, what was lost, who is silent.
import {get, path} from "./api.js";
import {el, table} from "./dom.js";
import {empty} from "./page_states.js";
import {relativeTime} from "./relative_time.js";
import {current, hrefOf, withQuery} from "./route.js";
import {card, Section} from "./section.js";
import {count, duration, NONE, percent, plural} from "./units.js";

const KINDS = [
  ["events", "used", "what the diagnosis rests on"],
  ["late", "late", "came after their window had closed"],
  ["lost", "lost", "rings or the network were full"],
  ["sampled", "sampled out", "left out on purpose"],
  ["outside", "outside", "lay between the steps that make up the windows"],
];

const COLUMNS = [
  {title: "Window"},
  {title: "Began"},
  {title: "Ranks", class: "number"},
  {title: "Silent", class: "number"},
  {title: "Step", class: "number"},
  {title: "Used", class: "number"},
  {title: "Late", class: "number"},
  {title: "Lost", class: "number"},
  {title: "Outside", class: "number"},
  {title: "Suppressed steps", class: "number"},
];

export class QualityView {
  #route;
  #section;

  constructor(route) {
    this.#route = route;
    this.#section = new Section(
      signal =>
        Promise.all([
          get(path("jobs", route.job), {}, signal),
          get(path("jobs", route.job, "windows"), {limit: 200}, signal),
        ]),
      (answers, body) => this.#render(answers, body),
      {rows: 8},
    );
    this.node = el("div", {class: "stack"}, this.#section.node);
    this.#section.refresh();
  }

  #render([{job}, {windows}], body) {
    body.className = "section stack";
    body.append(
      card("Events of the newest window", this.#events(job)),
      card(
        "Windows that are held",
        windows.length === 0
          ? empty(
              "No windows are held",
              "Details of windows are kept for a while after a job has ended.",
            )
          : el(
              "div",
              {class: "scroll", tabindex: "0", role: "region", "aria-label": "Windows"},
              table(
                "Windows",
                COLUMNS,
                windows.map(window => this.#row(window)),
              ),
            ),
      ),
    );
  }

  #events(job) {
    const quality = job.data_quality;
    const all = KINDS.reduce((sum, [key]) => sum + quality[key], 0);
    const missing = job.world_size - job.ranks_seen;
    const verdict =
      quality.lost === 0 && missing === 0
        ? el("p", {class: "healthy"}, "✓ Every rank reports and no event was lost.")
        : el("p", {class: "warn"}, [
            missing > 0 ? `${plural(missing, "rank")} did not report. ` : "",
            quality.lost > 0
              ? `${plural(quality.lost, "event")} lost ` +
                `(${percent(quality.lost / Math.max(1, all))}): ` +
                "what is said of those ranks rests on less."
              : "",
          ]);
    return el(
      "div",
      null,
      verdict,
      el(
        "dl",
        {class: "facts"},
        KINDS.map(([key, word, meaning]) =>
          el(
            "div",
            {class: "fact"},
            el("dt", {title: meaning}, `Events ${word}`),
            el(
              "dd",
              {class: key === "lost" && quality[key] > 0 ? "warn" : ""},
              count(quality[key]),
              el("span", {class: "quiet small"}, ` ${all > 0 ? percent(quality[key] / all) : ""}`),
            ),
            el("dd", {class: "quiet small"}, meaning),
          ),
        ),
      ),
      job.suppressed_steps > 0
        ? el(
            "p",
            {class: "quiet small"},
            `Nothing is said of ${plural(job.suppressed_steps, "step")} of it: ` +
              "warm-up, checkpoints or evaluations, in which ranks rightly differ.",
          )
        : null,
    );
  }

  #row(window) {
    const warn = value => (value > 0 ? el("span", {class: "warn"}, count(value)) : NONE);
    const steps =
      window.first_step === null
        ? window.window
        : `steps ${count(window.first_step)} – ${count(window.last_step)}`;
    const quality = window.data_quality;
    return [
      el(
        "a",
        {
          href: hrefOf(
            withQuery({...current(), tab: "heatmap", item: undefined}, {window: window.window}),
          ),
        },
        steps,
      ),
      relativeTime(window.start),
      count(window.ranks_seen),
      warn(window.ranks_silent),
      duration(window.step_ns.median),
      count(quality.events),
      warn(quality.late),
      warn(quality.lost),
      count(quality.outside),
      count(window.suppressed_steps),
    ];
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
  }
}
