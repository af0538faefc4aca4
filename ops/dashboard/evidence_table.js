// What a finding rests on: the culprit's number beside its peers', to one scale, with the
// threshold.
import {el, tableHead} from "./dom.js";
import {printable} from "./printable.js";
import {count, measured, NONE} from "./units.js";

export function measureWords(measure) {
  return printable(measure, 80).replaceAll("_", " ");
}

// Two bars to one scale; a tick where the threshold is.
export function barPair(culprit, peers, threshold = 0, most = 0, kind = "of-culprit") {
  const scale = Math.max(culprit ?? 0, peers ?? 0, threshold ?? 0, most);
  const bar = (value, whose) =>
    el("div", {
      class: `bar ${whose}`,
      style: {width: `${scale > 0 ? Math.max(0, (100 * (value ?? 0)) / scale) : 0}%`},
    });
  return el(
    "div",
    {class: "bars", "aria-hidden": "true"},
    bar(culprit, kind),
    bar(peers, "of-peers"),
    threshold > 0 && scale > 0
      ? el("div", {class: "threshold", style: {left: `${(100 * threshold) / scale}%`}})
      : null,
  );
}

function row(measure, [whose, others]) {
  const value = number => measured(number, measure.unit);
  return el(
    "tr",
    null,
    el("th", {scope: "row"}, measureWords(measure.name)),
    el(
      "td",
      {class: "bar-cell"},
      measure.unit === "probability"
        ? null
        : barPair(measure.culprit, measure.peers, measure.threshold),
    ),
    el("td", {class: "number culprit-text", "data-title": whose}, value(measure.culprit)),
    el("td", {class: "number", "data-title": others}, value(measure.peers)),
    el(
      "td",
      {class: `number quiet ${measure.threshold > 0 ? "" : "none"}`, "data-title": "Threshold"},
      measure.threshold > 0 ? value(measure.threshold) : NONE,
    ),
    el("td", {class: "number quiet", "data-title": "Samples"}, count(measure.samples ?? 0)),
  );
}

// Of findings that blame nobody: what is measured, beside what it is compared with.
function words(finding) {
  if (finding.culprits?.length > 0) return ["Culprit", "Peers"];
  return finding.kind === "regression" ? ["Now", "Before"] : ["Measured", "Compared with"];
}

export function evidenceTable(finding) {
  const [whose, others] = words(finding);
  const heads = [
    {title: "Measure"},
    {title: "", class: "bar-cell"},
    {title: whose, class: "number"},
    {title: others, class: "number"},
    {title: "Threshold", class: "number"},
    {title: "Samples", class: "number"},
  ];
  return el(
    "div",
    null,
    el(
      "table",
      {class: "grid evidence"},
      el("caption", {class: "unseen"}, "Evidence"),
      tableHead(heads),
      el(
        "tbody",
        null,
        finding.evidence.slice(0, 40).map(one => row(one, [whose, others])),
      ),
    ),
    legend(true, "of-culprit", whose.toLowerCase(), others.toLowerCase()),
  );
}

export function legend(withThreshold, kind, whose, others = "its peers (median)") {
  return el(
    "p",
    {class: "legend"},
    el("span", {class: `key ${kind}`}),
    whose,
    el("span", {class: "key of-peers"}),
    others,
    withThreshold ? [el("span", {class: "key tick"}), "threshold"] : null,
  );
}

// Of lists of ranks, in which most are as their peers.
export function rankLegend() {
  return el(
    "p",
    {class: "legend"},
    el("span", {class: "key of-rank"}),
    "rank",
    el("span", {class: "key of-culprit"}),
    "rank that is busy for 5 % longer than its peers",
    el("span", {class: "key of-peers"}),
    "its peers (median)",
  );
}
