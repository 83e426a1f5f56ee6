// The middle and the range of several figures: never the best as if it were the mean.

/** The middle of some values, and their range where there are several. */
function medianAndRange(values, tell) {
  const sorted = [...values].sort((a, b) => a - b);
  const median = tell((sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2);
  const [least, most] = [tell(sorted[0]), tell(sorted[sorted.length - 1])];
  return least === most ? median : `${median} (${least} to ${most})`;
}
