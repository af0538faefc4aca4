// Values to colours, as 256 steps of 32-bit pixels. Diverging around 0 for excess (slower is warm,
// faster is cool), sequential for what is never negative. Next to 0 excess has no colour, so that
// noise does not; then the steps are finer, so that a mild excess shows beside a gross one.
import {themeColour} from "./theme.js";

const STEPS = 128;
const BEND = 0.75;
const QUIET = 0.03; // share of the full colour

function mix(a, b, share) {
  return a.map((part, place) => Math.round(part + (b[place] - part) * share));
}

function pixel([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export class ColourScale {
  // reach: the value that has the full colour. usual: the colour of 0.
  constructor(reach, diverging, usual = "--heat-none") {
    this.reach = Math.max(reach, 1);
    this.diverging = diverging;
    const none = themeColour(usual);
    const warm = [none, themeColour("--heat-warm"), themeColour("--heat-hot")];
    const cool = themeColour("--heat-cool");
    this.absent = pixel(themeColour("--heat-absent"));
    this.#table = new Uint32Array(2 * STEPS + 1);
    for (let step = 0; step <= STEPS; ++step) {
      const share = step / STEPS;
      const hot =
        share < 0.5 ? mix(warm[0], warm[1], share * 2) : mix(warm[1], warm[2], share * 2 - 1);
      this.#table[STEPS + step] = pixel(hot);
      this.#table[STEPS - step] = pixel(mix(none, cool, share));
    }
  }

  #table;

  pixelOf(value) {
    const quiet = this.diverging ? QUIET : 0;
    const size = Math.max(0, Math.abs(value) / this.reach - quiet) / (1 - quiet);
    const share = Math.min(1, size ** BEND);
    const step = Math.round(share * STEPS);
    return this.#table[value < 0 ? STEPS - step : STEPS + step];
  }

  cssOf(value) {
    const colour = this.pixelOf(value);
    return `rgb(${colour & 255} ${(colour >> 8) & 255} ${(colour >> 16) & 255})`;
  }
}

// The value that only a few in a thousand exceed, so that one giant does not pale all others.
export function reachOf(sizes) {
  const sorted = sizes.sort();
  const usual = sorted[Math.floor(sorted.length * 0.9995)] ?? 0;
  return Math.max(usual, (sorted.at(-1) ?? 0) / 4);
}
