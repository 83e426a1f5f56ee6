// Numbers as people read them; raw ones stay in the tables' CSV.

const KIBI = 1024;

/** Three significant digits, never in scientific notation. */
function significant(value) {
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 3));
}

/** The binary unit that suits so many bytes: its size and its name. */
function byteUnit(bytes) {
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let power = 0;
  while (power + 1 < names.length && bytes >= KIBI ** (power + 1)) power += 1;
  return { size: KIBI ** power, name: names[power] };
}

function tellBytes(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const unit = byteUnit(bytes);
  return unit.size === 1 ? `${bytes} B` : `${significant(bytes / unit.size)} ${unit.name}`;
}

/** A number on an axis: no zeros that say nothing. */
function tellTick(value) {
  return String(Number(value.toPrecision(6)));
}

/** Bytes on an axis. */
function tickBytes(bytes) {
  const unit = byteUnit(bytes);
  return `${tellTick(Number((bytes / unit.size).toPrecision(3)))} ${unit.name}`;
}

function tellTime(ns) {
  if (ns === null || ns === undefined) return "–";
  for (const [size, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (ns >= size) return `${significant(ns / size)} ${name}`;
  }
  return `${Math.round(ns)} ns`;
}

/** A time on an axis. */
function tickTime(ns) {
  for (const [size, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (ns >= size) return `${tellTick(Number((ns / size).toPrecision(3)))} ${name}`;
  }
  return `${Math.round(ns)} ns`;
}

function tellRatio(value) {
  return value === null || value === undefined ? "–" : value.toFixed(2);
}

function tellRatioExactly(value) {
  return value === null || value === undefined ? "–" : value.toFixed(3);
}

function tellShare(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  const percent = 100 * share;
  return `${percent.toFixed(Math.abs(percent) >= 10 || percent === 0 ? 0 : 1)} %`;
}

function tellCount(count) {
  if (count === null || count === undefined) return "–";
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

function tellRate(bytes, ns) {
  return ns > 0 ? `${significant(bytes / KIBI ** 2 / (ns / 1e9))} MiB/s` : "–";
}

/** Round places on an axis from `low` to `high`, about `count` of them. */
function roundTicks(low, high, count) {
  const span = high - low || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) ticks.push(at);
  return ticks;
}

/** Powers of `base` from `low` to `high`, thinned to about `count`. */
function powerTicks(low, high, base, count) {
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / count));
  const ticks = [];
  for (let power = first; power <= last; power += step) ticks.push(base ** power);
  return ticks;
}
