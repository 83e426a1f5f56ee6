"""A tree of 75 MiB to back up, off the drive: a fifth of its files change each day, a few as a whole, others in part."""
import os
import random
import sys

tree, day = sys.argv[1], int(sys.argv[2])
draw = random.Random(day + 1)
FILES = 300
os.makedirs(tree, exist_ok=True)
for file in range(FILES):
    path = f"{tree}/{file}"
    if not os.path.exists(path):
        with open(path, "wb") as new:
            new.write(draw.randbytes(int(min(max(draw.lognormvariate(11.6, 1.3), 2000), 8 << 20))))
    elif draw.random() < (0.45 if file % 5 == 0 else 0.05):
        size = os.path.getsize(path)
        with open(path, "r+b") as old:
            at = draw.randrange(size) if draw.random() < 0.5 else 0
            old.seek(at)
            old.write(draw.randbytes(size - at))
