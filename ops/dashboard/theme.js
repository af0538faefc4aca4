// Light and dark: as the system says until somebody chooses. Canvases ask here for colours.

const KEY = "eroica.theme";
const listeners = new Set();
const dark = matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is switched off
  }
}

export function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : dark.matches;
}

function tell() {
  for (const listener of listeners) listener();
}

export function startTheme() {
  const theme = chosen();
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  dark.addEventListener("change", tell);
}

export function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is left.
  }
  tell();
}

// Returns a function that ends it.
export function onThemeChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// [red, green, blue] of a custom property, e.g. "--critical".
export function themeColour(property) {
  const probe = document.createElement("span");
  probe.style.setProperty("color", `var(${property})`);
  probe.style.setProperty("display", "none");
  document.body.append(probe);
  const parts = getComputedStyle(probe).color.match(/[\d.]+/g) ?? [0, 0, 0];
  probe.remove();
  return parts.slice(0, 3).map(Number);
}

export function cssColour([red, green, blue], alpha = 1) {
  return `rgb(${red} ${green} ${blue} / ${alpha})`;
}
