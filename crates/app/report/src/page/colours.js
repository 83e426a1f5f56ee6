// Colours that colour-blind readers can tell apart, on light and on dark grounds.

// Okabe and Ito (2008), "Color Universal Design", without black, with violet for its second blue and its yellow
// darkened; and the same hues for a dark ground, lighter. looks.rs holds how far apart they are.
const HUES = 7;
const ON_LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#5b2a9b", "#d55e00", "#6b5900"];
const ON_DARK = ["#3f92dc", "#eba81d", "#1fb88f", "#dd93bd", "#8a5cf6", "#ea7536", "#f2ee6b"];
const NEUTRAL = "#8a94a3";

// Viridis (van der Walt and Smith, 2015): lightness rises evenly, also without colour.
const VIRIDIS = [
  [68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37],
];

/** A colour of the theme, as the page shows it now. */
function theme(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** The n-th hue; they repeat. */
function hue(number) {
  return (theme("is-dark") === "1" ? ON_DARK : ON_LIGHT)[number % HUES];
}

function mixed(from, to, share) {
  return from.map((part, at) => Math.round(part + (to[at] - part) * share));
}

/** The colour of a value from 0 to 1, dark to bright. */
function scaleColour(value) {
  const at = Math.min(0.9999, Math.max(0, value)) * (VIRIDIS.length - 1);
  const [red, green, blue] = mixed(VIRIDIS[Math.floor(at)], VIRIDIS[Math.floor(at) + 1], at % 1);
  return `rgb(${red}, ${green}, ${blue})`;
}

/** Black or white, whichever reads better on a colour of the scale. */
function inkOnScale(value) {
  return value > 0.55 ? "#111418" : "#ffffff";
}

// Lines of a scheme, the plain one first.
const DASHES = [undefined, [8, 4], [2, 4], [10, 3, 2, 3], [4, 8]];

/** The colour and the line of a scheme, by its look: the same on every page. */
function lineOf(look) {
  const isPlain = look === undefined || look.hue === null;
  const colour = isPlain ? (look?.dash ? NEUTRAL : theme("ink")) : hue(look.hue);
  return { colour, dash: DASHES[look?.dash ?? 0] };
}

// Streams: eight hues far from each other; streams of garbage collection have the same, paler.
const STREAMS_ON_LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#a8961c", "#6a3fa0", "#7a4b2a"];
const STREAMS_ON_DARK = ["#3f92dc", "#eba81d", "#1fb88f", "#dd93bd", "#ea7536", "#cdbd55", "#a586dd", "#b98a66"];

/** A stream: the default one is neutral, others have a hue; internal ones are paler. */
function streamColour(id, isInternal) {
  if (id === 0) return NEUTRAL;
  const hues = theme("is-dark") === "1" ? STREAMS_ON_DARK : STREAMS_ON_LIGHT;
  const own = hues[(isInternal ? id : id - 1) % hues.length];
  if (!isInternal) return own;
  const parts = [1, 3, 5].map((at) => parseInt(own.slice(at, at + 2), 16));
  const [red, green, blue] = mixed(parts, [255, 255, 255], 0.55);
  return `rgb(${red}, ${green}, ${blue})`;
}
