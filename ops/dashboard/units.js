// Numbers as people read them: three significant digits, a unit that fits.

export const NONE = "–";

function digits(value) {
  const size = Math.abs(value);
  if (size >= 100 || value === 0) return value.toFixed(0);
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function count(value) {
  return Math.round(value).toLocaleString("en-US");
}

export function duration(ns) {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return NONE;
  const size = Math.abs(ns);
  if (size === 0) return "0";
  if (size < 999.5) return `${digits(ns)} ns`;
  if (size < 999.5e3) return `${digits(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${digits(ns / 1e6)} ms`;
  if (size < 99.95e9) return `${digits(ns / 1e9)} s`;
  return span(ns / 1e9);
}

// Seconds as minutes, hours or days: "14 min", "2 h 05 min", "3 d 4 h".
export function span(seconds) {
  const whole = Math.round(Math.abs(seconds));
  if (whole < 100) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// For axes: without zeros that say nothing.
export function tick(ns) {
  return duration(ns).replace(/\.0+(?= )|(\.\d*?)0+(?= )/, "$1");
}

export function signedDuration(ns) {
  return ns > 0 ? `+${duration(ns)}` : duration(ns).replace("-", "−");
}

export function bytes(value) {
  const size = Math.abs(value);
  if (size < 1000) return `${count(value)} B`;
  if (size < 999.5e3) return `${digits(value / 1e3)} kB`;
  if (size < 999.5e6) return `${digits(value / 1e6)} MB`;
  if (size < 999.5e9) return `${digits(value / 1e9)} GB`;
  return `${digits(value / 1e12)} TB`;
}

export function rate(gbPerSecond) {
  if (gbPerSecond === null || gbPerSecond === undefined) return NONE;
  if (gbPerSecond >= 0.9995 || gbPerSecond === 0) return `${digits(gbPerSecond)} GB/s`;
  return `${digits(gbPerSecond * 1000)} MB/s`;
}

export function percent(share) {
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return "< 0.1 %";
  return `${Math.abs(value) < 10 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0)} %`;
}

export function factor(value) {
  return value === 0 ? "0" : Math.abs(value) < 0.001 ? value.toExponential(1) : digits(value);
}

// What lost GPU seconds an hour are in GPUs that do nothing: "1.35 of 4 GPUs".
export function lostGpus(secondsPerHour, worldSize) {
  const gpus = secondsPerHour / 3600;
  const shown =
    gpus >= 99.95 ? count(gpus) : gpus === 0 ? "0" : gpus < 0.005 ? "< 0.01" : digits(gpus);
  return worldSize > 0 ? `${shown} of ${count(worldSize)} GPUs` : `${shown} GPUs`;
}

// A measure of a finding's evidence (docs/reference/evidence.md).
export function measured(value, unit) {
  if (typeof value !== "number") return NONE;
  switch (unit) {
    case "ns":
      return duration(value);
    case "count":
      return count(value);
    case "GB/s":
      return rate(value);
    case "bytes":
      return bytes(value);
    case "probability":
      return value === 0 ? "0" : value < 0.001 ? value.toExponential(1) : percent(value);
    default:
      return factor(value);
  }
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
