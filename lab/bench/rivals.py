"""Traces of raw page numbers for the programs of other schemes' authors, and the WAF that these programs print.

    python3 lab/bench/rivals.py alibaba zipfperm.u32 zipf.csv    for SepBIT's simulator (fallfish/sepbit, trace_replay)
    python3 lab/bench/rivals.py midas zipfperm.u32 zipf.txt      for MiDAS' simulator (sungkyun123/MiDAS-Simulation)
    java … gcsimulator.Simulator … --printGCInfo 1 | python3 lab/bench/rivals.py waf 6291456

One request a page: SepBIT's simulator collects one segment a request, so that a drive written in long requests has
more spare than it is given. Its clock is microseconds; here one passes with each page. `waf` counts from that request
on: the simulator prints the sum over the whole run alone. docs/schemes.md has the whole commands.
"""

import array
import re
import sys

PAGE_BYTES = 4096
EXECUTED = re.compile(r"(\d+) LBAs written")


def pages_of(path: str) -> array.array:
    pages = array.array("I")
    with open(path, "rb") as file:
        data = file.read()
    if len(data) % pages.itemsize:
        sys.exit(f"{path}: not raw page numbers of {pages.itemsize} bytes each")
    pages.frombytes(data)
    return pages


def alibaba(path: str, output: str) -> None:
    volume = output.rsplit("/", 1)[-1].removesuffix(".csv")
    with open(output, "w") as file:
        file.writelines(f"{volume},W,{page * PAGE_BYTES},{PAGE_BYTES},{time_us}\n" for time_us, page in enumerate(pages_of(path), 1))


def midas(path: str, output: str) -> None:
    with open(output, "w") as file:
        file.writelines(f"0.0 1 {page} {PAGE_BYTES}\n" for page in pages_of(path))


def waf(first_request: str) -> None:
    """Copies are the valid blocks of the segments removed, the seventh word of `rmed_seg:`."""
    begin, first, last, copied = int(first_request), None, 0, 0
    for line in sys.stdin:
        if executed := EXECUTED.search(line):
            last = int(executed[1])
            if first is None and last >= begin:
                first = last
        elif first is not None and line.startswith("rmed_seg:"):
            copied += int(line.split()[6])
    if first is None or last == first:
        sys.exit(f"the simulator wrote {last:,} pages: no more than {begin:,}")
    print(f"WAF from page {first} to {last}: {1 + copied / (last - first):.4f}")


if __name__ == "__main__":
    known = {"alibaba": (alibaba, 2), "midas": (midas, 2), "waf": (waf, 1)}
    action, words = known.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if action is None or len(sys.argv) != 2 + words:
        sys.exit(__doc__)
    action(*sys.argv[2:])
