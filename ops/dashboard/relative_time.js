// "12 s ago", with the moment itself on hover; renewed while the page is open.
import {el} from "./dom.js";
import {NONE, span} from "./units.js";

const EVERY_MS = 5000;
let localTime = null; // one for all moments: to make one takes milliseconds

function words(milliseconds) {
  const seconds = (Date.now() - milliseconds) / 1000;
  if (Math.abs(seconds) < 2) return "just now";
  return seconds >= 0 ? `${span(seconds)} ago` : `in ${span(seconds)}`;
}

export function relativeTime(rfc3339) {
  const moment = Date.parse(rfc3339);
  if (Number.isNaN(moment)) return el("span", null, NONE);
  const date = new Date(moment);
  localTime ??= new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "long"});
  return el(
    "time",
    {
      datetime: date.toISOString(),
      title: `${date
        .toISOString()
        .replace("T", " ")
        .replace(/\.\d+Z$/, " UTC")} (${localTime.format(date)})`,
      "data-moment": moment,
    },
    words(moment),
  );
}

export function keepTimesFresh() {
  setInterval(() => {
    for (const node of document.querySelectorAll("time[data-moment]")) {
      const fresh = words(Number(node.dataset.moment));
      if (node.textContent !== fresh) node.textContent = fresh;
    }
  }, EVERY_MS);
}
