// The address of what is shown, behind the '#': names of jobs do not reach the server's log, and
// back, forward and a copied link lead to the same place.
//   #/jobs   #/findings   #/node
//   #/job/NAME  #/job/NAME/finding/ID  #/job/NAME/heatmap  .../functions  .../function/ID
//   .../ranks  .../rank/17  .../waits
//   .../links  .../quality      each with ?window=steps-12&rank=17&metric=beta ...

export const TABS = [
  "overview",
  "finding",
  "heatmap",
  "functions",
  "function",
  "ranks",
  "rank",
  "waits",
  "links",
  "quality",
];
const WITH_ITEM = ["finding", "function", "rank"];

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return null; // a stray '%'
  }
}

// {page: "jobs"|"findings"|"node"|"job"|"unknown", job, tab, item, query}
export function parseRoute(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const parts = path
    .split("/")
    .filter(part => part !== "")
    .map(decode);
  const query = Object.fromEntries(new URLSearchParams(search));
  if (parts.includes(null)) return {page: "unknown", query};
  if (parts.length === 0) return {page: "jobs", query};
  if (parts.length === 1 && ["jobs", "findings", "node"].includes(parts[0])) {
    return {page: parts[0], query};
  }
  const [page, job, tab = "overview", item] = parts;
  const wantsItem = WITH_ITEM.includes(tab);
  const wellFormed =
    page === "job" &&
    job &&
    TABS.includes(tab) &&
    parts.length <= 4 &&
    wantsItem === (item !== undefined);
  return wellFormed ? {page, job, tab, item, query} : {page: "unknown", query};
}

export function hrefOf({page, job, tab, item, query = {}}) {
  let path = `#/${page}`;
  if (page === "job") {
    path += `/${encodeURIComponent(job)}`;
    if (tab && tab !== "overview") path += `/${tab}`;
    if (item !== undefined) path += `/${encodeURIComponent(item)}`;
  }
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString();
  return search ? `${path}?${search}` : path;
}

export function current() {
  return parseRoute(location.hash);
}

// The same page with other query values; undefined removes one.
export function withQuery(route, changes) {
  return {...route, query: {...route.query, ...changes}};
}

export function go(route) {
  location.hash = hrefOf(route);
}

// Without an entry of its own in the history.
export function amend(route) {
  history.replaceState(null, "", hrefOf(route));
}
