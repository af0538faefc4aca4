// The token of this tab. Kept for the session only, sent in a header, never put in an address.

const KEY = "eroica.token";
let held = null;

export function token() {
  if (held !== null) return held;
  try {
    held = sessionStorage.getItem(KEY) ?? "";
  } catch {
    held = ""; // storage is switched off: it is asked for on each visit
  }
  return held;
}

export function keepToken(text) {
  held = text;
  try {
    if (text === "") sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, text);
  } catch {
    // It holds until the page is left.
  }
}
