"""Overwrites by a Zipf law, as YCSB draws its keys: a trace of raw page numbers.

python3 lab/bench/zipf.py 0.99 zipf.u32: 65,536 pages in order, then 24 times as many, drawn; which page is how hot is shuffled.
anabranch replay zipf.u32 --device golden --size 256MiB --unit 512KiB --over-provisioning 10% --scheme sepbit,midas
"""

import array
import bisect
import itertools
import random
import sys

PAGES = 65_536
CAPACITIES = 24
SEED = 7


def main(exponent: float, path: str) -> None:
    draw = random.Random(SEED)
    shares = list(itertools.accumulate(1 / (rank + 1) ** exponent for rank in range(PAGES)))
    places = list(range(PAGES))
    draw.shuffle(places)
    pages = array.array("I", range(PAGES))
    for _ in range(PAGES * CAPACITIES):
        pages.append(places[bisect.bisect_left(shares, draw.random() * shares[-1])])
    with open(path, "wb") as file:
        pages.tofile(file)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2])
