// Names from outside (jobs, hosts, functions) in front of people. Whoever named them may have put
// in what reverses the reading direction, hides, or fills the screen: such characters are written
// as \u202e, and what is too long is cut in the middle. The whole name stays on hover up to a bound.
import {el} from "./dom.js";

// Controls, bidirectional controls, zero-width and other invisible characters, lone surrogates.
const HIDDEN = new RegExp(
  [
    "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e",
    "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]",
    "|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
  ].join(""),
  "g",
);
const LONGEST_HOVER = 600;

function escape(character) {
  if (character === "\n") return "\\n";
  if (character === "\r") return "\\r";
  if (character === "\t") return "\\t";
  const code = character.charCodeAt(0);
  return code < 256
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

export function printable(text, longest = 200) {
  const whole = typeof text === "string" ? text : String(text ?? "");
  let cut = whole;
  if (whole.length > longest) {
    const head = Math.ceil((longest - 1) * 0.7);
    cut = `${whole.slice(0, head)}…${whole.slice(whole.length - (longest - 1 - head))}`;
  }
  return cut.replace(HIDDEN, escape);
}

// A name on its own: kept apart from the direction of the text around it.
export function name(text, {longest = 120, mono = false} = {}) {
  const shown = printable(text, longest);
  const cut = String(text ?? "").length > longest;
  return el(
    "bdi",
    {
      class: mono ? "name mono" : "name",
      title: cut ? printable(text, LONGEST_HOVER) : undefined,
    },
    shown,
  );
}

// Sentences of findings: names stand inside them.
export function sentence(text, longest = 700) {
  return el("bdi", {class: "sentence"}, printable(text, longest));
}
