// What stands where nothing can be shown yet, or at all: loading, empty, failed, waiting, not
// found.
import {el} from "./dom.js";
import {printable} from "./printable.js";

export function loading(rows = 4) {
  return el(
    "div",
    {class: "skeleton", role: "status"},
    el("span", {class: "unseen"}, "Loading"),
    Array.from({length: rows}, (_, place) =>
      el("div", {
        class: "bone",
        "aria-hidden": "true",
        style: {width: `${92 - 13 * (place % 4)}%`},
      }),
    ),
  );
}

export function empty(title, explanation, ...more) {
  return el(
    "div",
    {class: "state"},
    el("p", {class: "state-title"}, title),
    explanation ? el("p", {class: "quiet"}, explanation) : null,
    more,
  );
}

// The node does not answer or is not ready; it is asked again by itself.
export function waiting(error) {
  const words = error.status === 503 ? "The node is not ready yet." : "Waiting for the node.";
  return el(
    "p",
    {class: "state quiet", role: "status"},
    `${words} This part loads as soon as it answers.`,
  );
}

const WORDS = {
  400: "The node does not take this request",
  403: "This token may not see it",
  404: "There is nothing here",
};

export function failed(error, retry) {
  return el(
    "div",
    {class: "state"},
    el("p", {class: "state-title"}, WORDS[error.status] ?? "This could not be loaded"),
    el("p", {class: "quiet"}, printable(error.message, 300)),
    error.status === 404 ? null : el("button", {type: "button", on: {click: retry}}, "Try again"),
  );
}

export function notFound(what, detail, back) {
  return el(
    "div",
    {class: "state page-state"},
    el("h1", {tabindex: "-1"}, what),
    el("p", {class: "quiet"}, detail),
    el("p", null, el("a", {href: back.href}, back.text)),
  );
}
