"""Changes entries of two GDBM tables in the directory given: of one, whose entries keep their size, and one whose entries do not."""
import dbm.gnu
import random
import sys

KEYS, CHANGES = 16_000, 1_000_000
draw = random.Random(1)
noise = draw.randbytes(1 << 20)
seen, bodies = (dbm.gnu.open(f"{sys.argv[1]}/{name}.gdbm", "cf") for name in ("seen", "bodies"))
for change in range(KEYS + CHANGES):
    key = change if change < KEYS else int(KEYS * draw.random() ** 1.5)
    at = draw.randrange(len(noise) - 20_000)
    seen[f"{key:012d}"] = noise[at:at + 200]
    if change % 3:
        bodies[f"<{key}@host>"] = noise[at:at + int(min(max(draw.lognormvariate(7.3, 0.8), 50), 20_000))]
    elif f"<{key}@host>" in bodies:
        del bodies[f"<{key}@host>"]
    if change % 200_000 == 199_999:
        bodies.reorganize()
