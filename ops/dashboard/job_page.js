// The page of one job: how it is, its windows, and tabs that look at one window from all sides.
import {captureDialog} from "./actions.js";
import {get, path} from "./api.js";
import {el, replace} from "./dom.js";
import {FindingView} from "./finding_view.js";
import {FunctionView} from "./function_view.js";
import {FunctionsView} from "./functions_view.js";
import {HeatMapView} from "./heat_map_view.js";
import {LinksView} from "./links_view.js";
import {OverviewView} from "./overview_view.js";
import {notFound} from "./page_states.js";
import {name} from "./printable.js";
import {QualityView} from "./quality_view.js";
import {RankView} from "./rank_view.js";
import {RanksView} from "./ranks_view.js";
import {relativeTime} from "./relative_time.js";
import {current, go, hrefOf, withQuery} from "./route.js";
import {Section} from "./section.js";
import {openFindings} from "./severity.js";
import {count, duration, lostGpus, NONE, percent} from "./units.js";
import {WaitsView} from "./waits_view.js";

const TABS = [
  ["overview", "Findings"],
  ["heatmap", "Heat map"],
  ["functions", "Functions"],
  ["ranks", "Ranks"],
  ["waits", "Waits"],
  ["links", "Links"],
  ["quality", "Data quality"],
];
const VIEWS = {
  overview: OverviewView,
  finding: FindingView,
  heatmap: HeatMapView,
  functions: FunctionsView,
  function: FunctionView,
  ranks: RanksView,
  rank: RankView,
  waits: WaitsView,
  links: LinksView,
  quality: QualityView,
};
const OF_TAB = {finding: "overview", function: "functions", rank: "ranks"};
const MOST_WINDOWS = 200;

export class JobPage {
  #route;
  #head;
  #view = null;
  #viewKey = "";
  #newest = "";

  constructor(route) {
    this.#route = route;
    this.#head = new Section(
      signal => this.#loadHead(signal),
      (answers, body) => this.#renderHead(answers, body),
      {rows: 3},
    );
    this.body = el("div", {class: "tab-body"});
    this.tabs = el("nav", {class: "tabs", "aria-label": "Views of the job"});
    this.picker = el("div", {class: "window-picker"});
    this.capture = el(
      "button",
      {type: "button", id: "capture", on: {click: () => captureDialog(this.#route.job)}},
      "Capture…",
    );
    this.title = el("h1", {tabindex: "-1"}, name(route.job, {longest: 120}));
    this.pill = el("span", {class: "pill", hidden: true}, "ended");
    this.node = el(
      "div",
      {class: "page"},
      el(
        "div",
        {class: "page-head"},
        el(
          "div",
          {class: "job-title"},
          el(
            "p",
            {class: "crumbs"},
            el("a", {href: "#/jobs"}, "Jobs"),
            el("span", {"aria-hidden": "true"}, " / "),
          ),
          this.title,
          this.pill,
        ),
        el("div", {class: "controls"}, this.capture),
      ),
      this.#head.node,
      el("div", {class: "tab-bar"}, this.tabs, this.picker),
      this.body,
    );
    this.#drawTabs();
    this.#head.refresh();
    this.#showView();
  }

  async #loadHead(signal) {
    const job = this.#route.job;
    try {
      return await Promise.all([
        get(path("jobs", job), {}, signal),
        get(path("jobs", job, "windows"), {limit: MOST_WINDOWS}, signal),
        get("/v1/findings", {job, view: "brief", limit: 1000}, signal),
      ]);
    } catch (error) {
      if (error.status === 404) this.#showMissing();
      throw error;
    }
  }

  #showMissing() {
    this.#view?.dispose();
    this.#view = null;
    replace(
      this.node,
      notFound(
        "No such job",
        "This node knows no job of that name. It may have been forgotten after it ended.",
        {href: "#/jobs", text: "All jobs"},
      ),
    );
  }

  #renderHead([{job}, {windows}, {findings}], body) {
    const open = findings.filter(finding => finding.state !== "resolved");
    const lost = open.reduce((sum, finding) => sum + (finding.lost_gpu_seconds_per_hour ?? 0), 0);
    const quality = job.data_quality;
    const all = quality.events + quality.lost;
    const fact = (label, ...value) =>
      el("div", {class: "fact"}, el("dt", null, label), el("dd", null, value));
    const missing = job.world_size - job.ranks_seen;
    this.pill.hidden = job.state !== "ended";
    this.capture.hidden = job.state === "ended";
    body.append(
      el(
        "dl",
        {class: "facts strip", id: "job-facts"},
        fact("Open findings", openFindings(job.open_findings)),
        fact(
          "GPUs lost",
          lost > 0 ? lostGpus(lost, job.world_size) : `0 of ${count(job.world_size)}`,
        ),
        fact("Step", job.step_ns > 0 ? duration(job.step_ns) : NONE),
        fact(
          "Ranks",
          el(
            "span",
            {class: missing > 0 ? "warn" : ""},
            missing > 0
              ? `${count(job.ranks_seen)} of ${count(job.world_size)} report`
              : `${count(job.world_size)}, all report`,
          ),
        ),
        fact(
          "Events lost",
          el(
            "span",
            {class: quality.lost > 0 ? "warn" : ""},
            all > 0 ? (quality.lost === 0 ? "none" : percent(quality.lost / all)) : NONE,
          ),
        ),
        fact("Diagnosed", job.diagnosed_at ? relativeTime(job.diagnosed_at) : "not yet"),
      ),
    );
    this.#drawPicker(windows);
    const moved = this.#newest !== "" && this.#newest !== job.newest_window;
    this.#newest = job.newest_window;
    if (moved) this.#view?.refresh?.();
  }

  #drawPicker(windows) {
    if (windows.length === 0) {
      this.picker.replaceChildren();
      return;
    }
    const asked = this.#route.query.window ?? "latest";
    const names = windows.map(window => window.window);
    const place = asked === "latest" ? 0 : names.indexOf(asked);
    const choose = window =>
      go(withQuery(current(), {window: window === "latest" ? undefined : window}));
    const words = window =>
      window.first_step === null
        ? window.window
        : `steps ${count(window.first_step)} – ${count(window.last_step)}`;
    const select = el(
      "select",
      {id: "window", on: {change: event => choose(event.target.value)}},
      el("option", {value: "latest"}, "newest window"),
      asked !== "latest" && place < 0
        ? el("option", {value: asked}, `${asked} (no longer held)`)
        : null,
      windows.map(window => el("option", {value: window.window}, words(window))),
    );
    select.value = asked;
    const step = (label, text, to, id) =>
      el(
        "button",
        {
          type: "button",
          class: "icon",
          "aria-label": label,
          id,
          disabled: to === undefined,
          on: {click: () => choose(to)},
        },
        text,
      );
    const hadFocus = document.activeElement?.id;
    replace(
      this.picker,
      el("label", {for: "window"}, "Window"),
      step("Earlier window", "‹", place < 0 ? names[0] : names[place + 1], "window-earlier"),
      select,
      step(
        "Later window",
        "›",
        asked === "latest" || place < 0 ? undefined : place === 0 ? "latest" : names[place - 1],
        "window-later",
      ),
    );
    if (["window", "window-earlier", "window-later"].includes(hadFocus))
      document.getElementById(hadFocus)?.focus();
  }

  #drawTabs() {
    const shown = OF_TAB[this.#route.tab] ?? this.#route.tab;
    const {window} = this.#route.query;
    replace(
      this.tabs,
      TABS.map(([tab, text]) =>
        el(
          "a",
          {
            href: hrefOf({page: "job", job: this.#route.job, tab, query: {window}}),
            "aria-current": tab === shown ? "page" : undefined,
          },
          text,
        ),
      ),
    );
    requestAnimationFrame(() =>
      this.tabs
        .querySelector("[aria-current]")
        ?.scrollIntoView({block: "nearest", inline: "nearest"}),
    );
  }

  #showView() {
    const {tab, item} = this.#route;
    const key = `${tab} ${item ?? ""}`;
    if (this.#view && key === this.#viewKey) {
      this.#view.update(this.#route);
      return;
    }
    this.#view?.dispose();
    this.#viewKey = key;
    this.#view = new VIEWS[tab](this.#route);
    replace(this.body, this.#view.node);
    this.node.dataset.tab = tab;
    this.picker.hidden = tab === "overview";
  }

  update(route) {
    this.#route = route;
    this.#drawTabs();
    this.#showView();
    this.#head.refresh();
    get(path("jobs", route.job, "windows"), {limit: MOST_WINDOWS})
      .then(answer => this.#drawPicker(answer.windows))
      .catch(() => {});
  }

  refresh() {
    this.#head.renew();
    this.#view?.refresh?.();
  }

  takeFinding(finding) {
    if (finding.job !== this.#route.job) return;
    this.refresh();
  }

  dispose() {
    this.#head.dispose();
    this.#view?.dispose();
  }
}
