// The parts of a finding's page that need nothing but the finding: what to do, the facts, why,
// whom it held up.
import {el, table} from "./dom.js";
import {kindWords} from "./finding_row.js";
import {name, sentence} from "./printable.js";
import {relativeTime} from "./relative_time.js";
import {hrefOf} from "./route.js";
import {count, duration, lostGpus, percent, plural, span} from "./units.js";

export const MOST_CULPRITS = 12;
const MOST_VICTIMS = 60;

function fact(label, ...value) {
  return el("div", {class: "fact"}, el("dt", null, label), el("dd", null, value));
}

function culpritLinks(finding) {
  const {culprits} = finding;
  return el(
    "ul",
    {class: "culprits"},
    culprits.slice(0, MOST_CULPRITS).map(culprit =>
      el(
        "li",
        null,
        culprit.rank === undefined
          ? "host "
          : el(
              "a",
              {
                href: hrefOf({page: "job", job: finding.job, tab: "rank", item: culprit.rank}),
              },
              `rank ${count(culprit.rank)}`,
            ),
        culprit.peer === undefined ? null : ` to rank ${count(culprit.peer)}`,
        culprit.host
          ? [
              culprit.rank === undefined ? "" : " on ",
              name(culprit.host, {longest: 60, mono: true}),
            ]
          : null,
        culprit.device === undefined
          ? null
          : el("span", {class: "quiet"}, `, device ${culprit.device}`),
      ),
    ),
    culprits.length > MOST_CULPRITS
      ? el("li", {class: "quiet"}, `and ${count(culprits.length - MOST_CULPRITS)} more`)
      : null,
  );
}

// What is open lasts until now, unless its job has ended.
function lasted(finding, job) {
  const begin = Date.parse(finding.first_seen);
  const goesOn = finding.state !== "resolved" && job.state === "running";
  const end = goesOn ? Date.now() : Date.parse(finding.last_seen);
  return Number.isNaN(begin) || Number.isNaN(end) ? null : span((end - begin) / 1000);
}

export function facts(finding, job) {
  const quality = finding.data_quality ?? {};
  return el(
    "dl",
    {class: "facts column"},
    finding.lost_gpu_seconds_per_hour > 0
      ? fact(
          "Lost",
          el("strong", null, lostGpus(finding.lost_gpu_seconds_per_hour, quality.world_size ?? 0)),
        )
      : null,
    finding.lost_ns_per_step > 0
      ? fact("Cost", `${duration(finding.lost_ns_per_step)} a step`)
      : null,
    finding.victims_total > 0 ? fact("Held up", plural(finding.victims_total, "rank")) : null,
    fact(
      finding.state === "resolved" || job.state === "ended" ? "Lasted" : "Lasts for",
      lasted(finding, job) ?? "–",
    ),
    finding.first_seen ? fact("First seen", relativeTime(finding.first_seen)) : null,
    finding.last_seen ? fact("Last seen", relativeTime(finding.last_seen)) : null,
    finding.steps?.first >= 0
      ? fact("Steps", `${count(finding.steps.first)} – ${count(finding.steps.last)}`)
      : null,
    fact("Confidence", `${percent(finding.confidence ?? 0)}`),
    fact("Kind", kindWords(finding)),
  );
}

export function whatToDo(finding) {
  const ran = finding.function
    ? el(
        "div",
        {class: "ran"},
        el("h3", null, "What it ran"),
        el("p", null, name(finding.function, {longest: 160, mono: true})),
        callers(finding),
      )
    : null;
  return el(
    "section",
    {class: "card todo"},
    el("header", {class: "card-head"}, el("h2", null, "What to do next")),
    el(
      "p",
      {class: "action"},
      finding.suggested_action ? sentence(finding.suggested_action) : "Nothing is suggested.",
    ),
    el("h3", null, finding.culprits?.length > 0 ? "Who" : "Nobody is to blame"),
    finding.culprits?.length > 0 ? culpritLinks(finding) : null,
    ran,
  );
}

// of: a finding or a function.
export function callers(of) {
  const stack = (of.stack ?? "").split(" > ").filter(one => one !== "");
  if (stack.length < 2) return null;
  const shown = stack.length > 14 ? [...stack.slice(0, 4), null, ...stack.slice(-9)] : stack;
  return el(
    "details",
    null,
    el("summary", null, `Called through ${plural(stack.length - 1, "function")}`),
    el(
      "ol",
      {class: "stack-trace"},
      shown.map(one =>
        el(
          "li",
          null,
          one === null
            ? el("span", {class: "quiet"}, `${count(stack.length - 13)} more`)
            : name(one, {longest: 140, mono: true}),
        ),
      ),
    ),
  );
}

export function annotation(finding) {
  const {acknowledged, muted} = finding.annotation ?? {};
  const line = (word, action, more) =>
    el(
      "p",
      {class: "notice"},
      `${word} by `,
      name(action.by, {longest: 60}),
      " ",
      relativeTime(action.at),
      more,
      action.note ? [": ", sentence(action.note, 400)] : null,
    );
  return [
    acknowledged ? line("Acknowledged", acknowledged) : null,
    muted ? line("Muted", muted, [", ends ", relativeTime(muted.until)]) : null,
  ];
}

export function why(finding) {
  const quality = finding.data_quality ?? {};
  const lost = quality.events_lost ?? 0;
  return [
    finding.explanation ? el("p", null, sentence(finding.explanation, 1600)) : null,
    finding.caveats?.length > 0
      ? el(
          "ul",
          {class: "caveats"},
          finding.caveats.slice(0, 12).map(one => el("li", null, sentence(one, 400))),
        )
      : null,
    el(
      "p",
      {class: "quiet small"},
      `${count(quality.ranks_seen ?? 0)} of ${count(quality.world_size ?? 0)} ranks seen, ` +
        `${count(quality.events ?? 0)} events, ` +
        `${lost === 0 ? "none lost" : `${count(lost)} lost`}. Finding `,
      el("span", {class: "mono"}, finding.id),
      ".",
    ),
  ];
}

export function victims(finding) {
  const all = [...(finding.victims ?? [])].sort((a, b) => b.lost_ns - a.lost_ns);
  const rows = all
    .slice(0, MOST_VICTIMS)
    .map(victim => [
      el(
        "a",
        {href: hrefOf({page: "job", job: finding.job, tab: "rank", item: victim.rank})},
        `rank ${count(victim.rank)}`,
      ),
      duration(victim.lost_ns),
      duration(victim.lost_ns_per_step),
    ]);
  return el(
    "details",
    {class: "card fold"},
    el("summary", null, el("h2", null, `${plural(all.length, "rank")} held up`)),
    el(
      "div",
      {class: "scroll", tabindex: "0", role: "region", "aria-label": "Ranks held up"},
      table(
        "Ranks that were held up",
        [
          {title: "Rank"},
          {title: "Lost", class: "number"},
          {title: "Lost a step", class: "number"},
        ],
        rows,
      ),
    ),
    all.length > MOST_VICTIMS
      ? el("p", {class: "quiet"}, `and ${count(all.length - MOST_VICTIMS)} more`)
      : null,
  );
}
