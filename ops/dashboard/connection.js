// Whether the node is there, and its findings as they come. One stream for the whole page; where it
// ends, it is opened again behind the last event, later and later up to a bound.
import {ApiError, get, openStream} from "./api.js";
import {readEvents} from "./event_stream.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;
const SILENCE_MS = 90000;

// state: connecting, live, restoring, unreachable, no-token
const status = {state: "connecting", since: Date.now(), retryAt: 0, detail: ""};
const stateListeners = new Set();
const findingListeners = new Set();
const recoveryListeners = new Set();
let lastEventId = "";
let wasAway = false;
let wake = () => {};

function on(listeners, listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const onConnection = listener => on(stateListeners, listener);
export const onFinding = listener => on(findingListeners, listener);
export const onRecovery = listener => on(recoveryListeners, listener);
export const connection = () => ({...status});

function set(state, detail = "", retryAt = 0) {
  if (state !== status.state) status.since = Date.now();
  Object.assign(status, {state, detail, retryAt});
  for (const listener of stateListeners) listener(connection());
}

function setLive() {
  set("live");
  if (!wasAway) return;
  wasAway = false;
  for (const listener of recoveryListeners) listener();
}

// Tries again at once: somebody asked for it, or a token came.
export function tryNow() {
  wake();
}

function sleep(milliseconds) {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, milliseconds);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

function tellFinding(event) {
  if (event.id) lastEventId = event.id;
  if (event.type !== "finding") return;
  let finding;
  try {
    finding = JSON.parse(event.data);
  } catch {
    return;
  }
  for (const listener of findingListeners) listener(finding);
}

async function follow() {
  const stop = new AbortController();
  let timer = 0;
  const rearm = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stop.abort(), SILENCE_MS);
  };
  rearm();
  try {
    const response = await openStream(lastEventId, stop.signal);
    setLive();
    await readEvents(response.body, tellFinding, rearm);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

function explain(error, retryAt) {
  if (error.status === 401) set("no-token", error.message);
  else if (error.status === 503) set("restoring", error.message, retryAt);
  else set("unreachable", error.message, retryAt);
}

async function probe() {
  try {
    await get("/v1/status");
    return null;
  } catch (error) {
    return error;
  }
}

export async function keepConnected() {
  let wait = FIRST_WAIT_MS;
  for (;;) {
    const opened = Date.now();
    let error = null;
    try {
      await follow();
    } catch (thrown) {
      error = thrown instanceof ApiError ? thrown : null;
    }
    wasAway = true; // without an event so far nothing says where to go on: all is asked for anew
    // A stream that simply ends says nothing of why.
    error ??= await probe();
    if (Date.now() - opened > LONGEST_WAIT_MS) wait = FIRST_WAIT_MS;
    const pause = wait * (0.75 + Math.random() / 2);
    if (error) explain(error, Date.now() + pause);
    await sleep(status.state === "no-token" ? 2 ** 31 - 1 : pause);
    wait = Math.min(2 * wait, LONGEST_WAIT_MS);
    if (!error) wait = FIRST_WAIT_MS;
  }
}
