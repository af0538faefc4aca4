// One finding in a list: severity, the sentence, who, what it costs, since when.
import {el} from "./dom.js";
import {name, printable, sentence} from "./printable.js";
import {relativeTime} from "./relative_time.js";
import {hrefOf} from "./route.js";
import {known, severityBadge} from "./severity.js";
import {count, duration, lostGpus} from "./units.js";

const KINDS = {
  slow_rank: "slow rank",
  imbalance: "imbalance",
  communication: "communication",
  hang: "hang",
  step_time: "step time",
  regression: "regression",
  contention: "contention",
  monitoring_gap: "monitoring gap",
};

export function kindWords(finding) {
  const kind = KINDS[finding.kind] ?? printable(finding.kind, 40);
  return finding.subkind
    ? `${kind} · ${printable(finding.subkind, 40).replaceAll("_", " ")}`
    : kind;
}

// "rank 17 on node0002", "8 ranks on node0512", "link rank 3 – rank 9", "nobody is to blame".
export function who(finding) {
  const culprits = finding.culprits ?? [];
  if (culprits.length === 0) return el("span", {class: "quiet"}, "nobody is to blame");
  const [first] = culprits;
  const hosts = new Set(culprits.map(culprit => culprit.host).filter(host => host));
  const ranks = culprits.filter(culprit => culprit.rank !== undefined);
  const where =
    hosts.size === 1
      ? [" on ", name([...hosts][0], {longest: 48})]
      : hosts.size > 1
        ? [` on ${count(hosts.size)} hosts`]
        : [];
  if (ranks.length === 0) {
    return el(
      "span",
      null,
      hosts.size > 0 ? ["host ", name([...hosts][0], {longest: 48})] : "unnamed",
    );
  }
  if (first.peer !== undefined && culprits.length === 1) {
    return el("span", null, `link from rank ${first.rank} to rank ${first.peer}`, where);
  }
  const few = ranks.length <= 3;
  return el(
    "span",
    null,
    few
      ? `${ranks.length === 1 ? "rank" : "ranks"} ${ranks.map(culprit => culprit.rank).join(", ")}`
      : `${count(ranks.length)} ranks`,
    where,
  );
}

export function marksOf(finding) {
  const {acknowledged, muted} = finding.annotation ?? {};
  return [
    finding.state === "resolved" ? el("span", {class: "pill resolved"}, "resolved") : null,
    acknowledged
      ? el(
          "span",
          {class: "pill", title: printable(acknowledged.note, 300)},
          "acknowledged by ",
          name(acknowledged.by, {longest: 30}),
        )
      : null,
    muted && Date.parse(muted.until) > Date.now()
      ? el(
          "span",
          {class: "pill", title: printable(muted.note, 300)},
          "muted, ends ",
          relativeTime(muted.until),
        )
      : null,
  ];
}

export function findingRow(finding, {withJob = false, query = {}} = {}) {
  const href = hrefOf({page: "job", job: finding.job, tab: "finding", item: finding.id, query});
  const worldSize = finding.data_quality?.world_size ?? 0;
  return el(
    "li",
    {
      class:
        `finding-row edge-${known(finding.severity)} ` +
        (finding.state === "resolved" ? "is-resolved" : ""),
      "data-finding": finding.id,
    },
    el(
      "div",
      {class: "finding-line"},
      severityBadge(finding.severity),
      el("a", {class: "finding-title", href}, sentence(finding.title, 420)),
    ),
    el(
      "div",
      {class: "finding-meta"},
      withJob
        ? el(
            "span",
            null,
            el(
              "a",
              {href: hrefOf({page: "job", job: finding.job})},
              name(finding.job, {longest: 60}),
            ),
          )
        : null,
      el("span", null, who(finding)),
      finding.lost_gpu_seconds_per_hour > 0
        ? el("span", null, `${lostGpus(finding.lost_gpu_seconds_per_hour, worldSize)} lost`)
        : null,
      finding.lost_ns_per_step > 0
        ? el("span", null, `${duration(finding.lost_ns_per_step)} a step`)
        : null,
      el("span", {class: "quiet"}, kindWords(finding)),
      finding.first_seen
        ? el("span", {class: "quiet"}, "first seen ", relativeTime(finding.first_seen))
        : null,
      marksOf(finding),
    ),
  );
}
