// Asks the node. Answers are kept with their ETag: what has not changed comes back as the very same
// object, so that whoever shows it can tell.
import {token} from "./token.js";

const MOST_KEPT = 24;
const TIMEOUT_MS = 20000;
const kept = new Map();
const underWay = new Map();
const listeners = new Set();

// status 0: no answer at all.
export class ApiError extends Error {
  constructor(status, title, detail) {
    super(detail || title);
    this.status = status;
    this.title = title;
  }

  // The node is not there or not ready: it may be again soon.
  get passing() {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 429;
  }
}

// Called with every ApiError, before it is thrown. Returns a function that ends it.
export function onApiError(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function path(...parts) {
  return "/v1/" + parts.map(part => encodeURIComponent(String(part))).join("/");
}

function headers(extra) {
  const held = token();
  return held === "" ? extra : {...extra, Authorization: `Bearer ${held}`};
}

async function problemOf(response) {
  let title = `the node answered ${response.status}`;
  let detail = "";
  if ((response.headers.get("Content-Type") ?? "").includes("json")) {
    const problem = await response.json().catch(() => ({}));
    if (typeof problem.title === "string") title = problem.title;
    if (typeof problem.detail === "string") detail = problem.detail;
  }
  return new ApiError(response.status, title, detail);
}

function fail(error) {
  for (const listener of listeners) listener(error);
  throw error;
}

async function send(url, options) {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await fetch(url, {...options, signal, cache: "no-store", credentials: "omit"});
  } catch {
    return fail(new ApiError(0, "no answer", "The node does not answer."));
  }
}

function keep(key, etag, answer) {
  kept.delete(key);
  kept.set(key, {etag, answer});
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
}

// What is asked for twice at once is asked once: several parts of a page show the same answer.
export async function get(url, query = {}, signal = undefined) {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(asked.map(([key, value]) => [key, String(value)])).toString();
  const target = search ? `${url}?${search}` : url;
  let answer = underWay.get(target);
  if (!answer) {
    answer = load(target).finally(() => {
      if (underWay.get(target) === answer) underWay.delete(target);
    });
    underWay.set(target, answer);
  }
  const loaded = await answer;
  signal?.throwIfAborted();
  return loaded;
}

async function load(target) {
  const before = kept.get(target);
  const extra = {Accept: "application/json"};
  if (before) extra["If-None-Match"] = before.etag;
  const response = await send(target, {headers: headers(extra)});
  if (response.status === 304 && before) return before.answer;
  if (!response.ok) return fail(await problemOf(response));
  let answer;
  try {
    answer = await response.json();
  } catch {
    return fail(new ApiError(0, "no answer", "The node's answer broke off."));
  }
  const etag = response.headers.get("ETag");
  if (etag) keep(target, etag, answer);
  return answer;
}

export async function post(url, body) {
  const extra = {"Content-Type": "application/json", Accept: "application/json"};
  const response = await send(url, {
    method: "POST",
    headers: headers(extra),
    body: JSON.stringify(body),
  });
  if (!response.ok) return fail(await problemOf(response));
  underWay.clear(); // what was asked before does not tell of it
  return response.json();
}

// The response of the stream; its body is read by event_stream.js.
export async function openStream(lastEventId, signal) {
  const extra = {Accept: "text/event-stream"};
  if (lastEventId) extra["Last-Event-ID"] = lastEventId;
  let response;
  try {
    response = await fetch("/v1/findings/stream?view=brief", {
      headers: headers(extra),
      signal,
      cache: "no-store",
      credentials: "omit",
    });
  } catch {
    throw new ApiError(0, "no answer", "The node does not answer.");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

export function forgetAnswers() {
  kept.clear();
  underWay.clear();
}
