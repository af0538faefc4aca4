// A part of a page that loads on its own: it shows that it loads, what failed and how to go on, and
// renders again only when what it shows has changed.
import {el, replace} from "./dom.js";
import {failed, loading, waiting} from "./page_states.js";

const LATE_MS = 150;
const RETRY_MS = 4000;

export class Section {
  #load;
  #render;
  #stop = null;
  #shown = undefined;
  #timer = 0;
  #loading = false;
  #late = 0;

  // load: signal to a promise of answers (compared by identity); render: answers, body.
  constructor(load, render, {rows = 4} = {}) {
    this.#load = load;
    this.#render = render;
    this.node = el("div", {class: "section"});
    this.#late = setTimeout(() => {
      if (this.#shown === undefined) replace(this.node, loading(rows));
    }, LATE_MS);
  }

  // As refresh, but what is being loaded already comes to its end: for what is done again and again.
  renew() {
    return this.#loading ? undefined : this.refresh();
  }

  async refresh() {
    this.#stop?.abort();
    clearTimeout(this.#timer);
    const stop = new AbortController();
    this.#stop = stop;
    this.#loading = true;
    try {
      const answers = await this.#load(stop.signal);
      if (stop.signal.aborted) return;
      this.node.classList.remove("stale");
      if (this.#shown !== undefined && same(this.#shown, answers)) return;
      this.#shown = answers;
      this.draw();
    } catch (error) {
      if (stop.signal.aborted) return;
      this.#fail(error);
    } finally {
      if (this.#stop === stop) this.#loading = false;
    }
  }

  // The same answers once more, where something else has changed.
  draw() {
    if (this.#shown === undefined) return;
    const focused = focusKey(this.node);
    const open = [...this.node.querySelectorAll("details")].map(one => one.open);
    this.node.replaceChildren();
    this.#render(this.#shown, this.node);
    this.node.querySelectorAll("details").forEach((one, place) => {
      if (open[place]) one.open = true;
    });
    if (focused) this.node.querySelector(focused)?.focus({preventScroll: true});
  }

  #fail(error) {
    if (error.status === undefined) {
      console.error(error);
      replace(
        this.node,
        failed({status: -1, message: String(error.message)}, () => this.refresh()),
      );
      return;
    }
    if (error.passing) this.#timer = setTimeout(() => this.refresh(), RETRY_MS);
    if (error.passing && this.#shown !== undefined) {
      this.node.classList.add("stale");
      return;
    }
    this.#shown = undefined;
    clearTimeout(this.#late);
    replace(
      this.node,
      error.passing || error.status === 401 ? waiting(error) : failed(error, () => this.refresh()),
    );
  }

  dispose() {
    this.#stop?.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#late);
  }
}

// What finds the focused element again after it was made anew.
function focusKey(node) {
  const focused = document.activeElement;
  if (!focused || focused === document.body || !node.contains(focused)) return null;
  if (focused.id) return `#${CSS.escape(focused.id)}`;
  const href = focused.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : null;
}

function same(a, b) {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((one, place) => one === b[place]);
}

// A titled card around a node.
export function card(title, body, ...aside) {
  return el(
    "section",
    {class: "card"},
    el(
      "header",
      {class: "card-head"},
      el("h2", null, title),
      el("div", {class: "card-aside"}, aside),
    ),
    body,
  );
}
