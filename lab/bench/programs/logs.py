"""Lines of fourteen services, of which some say much and some little, and of an audit: logs.py DIRECTORY CONFIGURATION STATE"""
import os
import random
import subprocess
import sys

SERVICES, WRITTEN = 14, 850 << 20
draw = random.Random(1)
root = sys.argv[1]
words = [draw.randbytes(draw.randrange(2, 9)).hex() for _ in range(3000)]
for service in range(SERVICES):
    os.mkdir(f"{root}/service-{service}")
os.mkdir(root + "/audit")
paths = [f"{root}/service-{service}/{kind}.log" for service in range(SERVICES) for kind in ("out", "error")] + [root + "/audit/audit.log"]
weights = [1 / (1 + service) * share for service in range(SERVICES) for share in (1, 0.15)] + [1.2]
written = turn = 0
while written < WRITTEN:
    for path in draw.choices(paths, weights, k=60):
        lines = "\n".join(f"2026-01-01T00:00:{turn % 60:02} " + " ".join(draw.choices(words, k=30)) for _ in range(100)) + "\n"
        # A service writes by appending; after a rotation to the new file.
        with open(path, "a") as log:
            log.write(lines)
        written += len(lines)
    turn += 1
    if turn % 8 == 0:
        subprocess.run(["logrotate", "-s", sys.argv[3], sys.argv[2]], check=True)
