// The frame of every page: where one is, whether the node is there, light or dark, the token.
import {forgetAnswers} from "./api.js";
import {connection, onConnection, tryNow} from "./connection.js";
import {el, replace} from "./dom.js";
import {printable} from "./printable.js";
import {hrefOf} from "./route.js";
import {isDark, onThemeChange, switchTheme} from "./theme.js";
import {keepToken, token} from "./token.js";
import {span} from "./units.js";

const WORDS = {
  connecting: "connecting",
  live: "live",
  restoring: "node restoring",
  unreachable: "node away",
  "no-token": "needs a token",
};

const PAGES = [
  ["jobs", "Jobs"],
  ["findings", "Findings"],
  ["node", "Node"],
];

function themeButton() {
  const button = el("button", {type: "button", class: "icon", on: {click: switchTheme}});
  const tell = () => {
    button.textContent = isDark() ? "☀" : "☾";
    button.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
    button.title = button.getAttribute("aria-label");
  };
  tell();
  onThemeChange(tell);
  return button;
}

function connectionBadge() {
  const words = el("span", {class: "connection-words"});
  const node = el(
    "span",
    {class: "connection"},
    el("span", {class: "dot", "aria-hidden": "true"}),
    words,
  );
  onConnection(status => {
    node.dataset.state = status.state;
    words.textContent = WORDS[status.state];
    node.title = status.detail || "Findings come as the node makes them";
  });
  node.dataset.state = connection().state;
  words.textContent = WORDS[connection().state];
  return node;
}

// Says that the node is away, since when, and when it is asked again.
function banner() {
  const words = el("span");
  const node = el(
    "div",
    {class: "banner", hidden: true, role: "status"},
    words,
    el("button", {type: "button", on: {click: tryNow}}, "Try now"),
  );
  const tell = () => {
    const status = connection();
    const away = status.state === "restoring" || status.state === "unreachable";
    node.hidden = !away;
    if (!away) return;
    node.dataset.state = status.state;
    const since = span((Date.now() - status.since) / 1000);
    words.textContent =
      status.state === "restoring"
        ? `The node is restoring its state (${since}): ${printable(status.detail, 200)}`
        : `The node has not answered for ${since}. What is shown is from before.`;
  };
  onConnection(tell);
  setInterval(tell, 1000);
  return node;
}

export function askForToken(main, reason) {
  const input = el("input", {
    type: "password",
    id: "token",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "4096",
    required: true,
    "aria-describedby": "token-why",
  });
  const submit = event => {
    event.preventDefault();
    const given = input.value.trim();
    if (!/^[\x21-\x7e]+$/.test(given)) {
      why.textContent = "A token is one word of printable characters.";
      return;
    }
    keepToken(given);
    forgetAnswers();
    tryNow();
    dispatchEvent(new Event("eroica-token"));
  };
  const why = el(
    "p",
    {class: "quiet", id: "token-why", role: "status"},
    token() === ""
      ? "The node answers only to those who have one. Ask whoever runs it (rest.token_file)."
      : `The node did not take the token: ${printable(reason, 200)}`,
  );
  replace(
    main,
    el(
      "div",
      {class: "state page-state"},
      el("h1", {tabindex: "-1"}, "This node wants a token"),
      why,
      el(
        "form",
        {class: "token-form", on: {submit}},
        el("label", {for: "token"}, "Token"),
        input,
        el("button", {type: "submit", class: "primary"}, "Go on"),
      ),
      el(
        "p",
        {class: "quiet small"},
        "It is kept in this tab until the tab is closed, and sent to this node only.",
      ),
    ),
  );
  input.focus();
}

export function buildShell(root) {
  const links = PAGES.map(([page, text]) =>
    el("a", {href: hrefOf({page}), "data-page": page}, text),
  );
  const main = el("main", {id: "main", tabindex: "-1"});
  const news = el("div", {class: "unseen", "aria-live": "polite", id: "news"});
  const skip = el(
    "button",
    {type: "button", class: "skip", on: {click: () => main.focus()}},
    "Skip to the page",
  );
  replace(
    root,
    skip,
    el(
      "header",
      {class: "top"},
      el("a", {class: "brand", href: "#/jobs", "aria-label": "Eroica, jobs"}, "Eroica"),
      el("nav", {"aria-label": "Pages"}, links),
      connectionBadge(),
      themeButton(),
    ),
    banner(),
    main,
    news,
  );
  const mark = page => {
    for (const link of links) {
      const here = link.dataset.page === page || (page === "job" && link.dataset.page === "jobs");
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  };
  return {
    main,
    mark,
    announce: text => {
      news.textContent = text;
    },
  };
}
