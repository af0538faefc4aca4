// Severities by colour and by word, and the order in which findings are listed.
import {el} from "./dom.js";

export const SEVERITIES = ["critical", "major", "minor", "info"];

const SHAPES = {critical: "◆", major: "▲", minor: "●", info: "■"};

export function known(severity) {
  return SEVERITIES.includes(severity) ? severity : "info";
}

export function severityBadge(severity) {
  return el(
    "span",
    {class: `badge ${known(severity)}`},
    el("span", {"aria-hidden": "true", class: "shape"}, SHAPES[known(severity)]),
    known(severity),
  );
}

// "2 critical, 1 minor" as badges; a word where there are none.
export function openFindings(counts) {
  const shown = SEVERITIES.filter(severity => counts[severity] > 0);
  if (shown.length === 0) return el("span", {class: "healthy"}, "✓ none");
  return el(
    "span",
    {class: "badges"},
    shown.map(severity =>
      el(
        "span",
        {class: `badge ${severity}`},
        el("span", {"aria-hidden": "true", class: "shape"}, SHAPES[severity]),
        `${counts[severity]} ${severity}`,
      ),
    ),
  );
}

export function compareFindings(a, b) {
  const open = finding => (finding.state === "resolved" ? 1 : 0);
  return (
    open(a) - open(b) ||
    SEVERITIES.indexOf(known(a.severity)) - SEVERITIES.indexOf(known(b.severity)) ||
    (b.lost_gpu_seconds_per_hour ?? 0) - (a.lost_gpu_seconds_per_hour ?? 0) ||
    (a.id < b.id ? -1 : 1)
  );
}
