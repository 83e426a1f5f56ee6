"""Changes a home directory and takes a snapshot of it by rsync, again and again: snapshots.py HOME SNAPSHOTS."""
import os
import random
import shutil
import subprocess
import sys

home, snapshots = sys.argv[1:]
FILES, FOLDERS, ROUNDS = 1800, 60, 150
draw = random.Random(1)
noise = draw.randbytes(8 << 20)
sizes = [int(min(max(draw.lognormvariate(9.3, 1.5), 100), 6 << 20)) for _ in range(FILES)]


def write(file):
    start = draw.randrange(len(noise) - sizes[file])
    with open(f"{home}/{file % FOLDERS}/{file}", "wb") as out:
        out.write(noise[start:start + sizes[file]])


def full():
    room = os.statvfs(snapshots)
    return room.f_bavail < 0.2 * room.f_blocks


for folder in range(FOLDERS):
    os.mkdir(f"{home}/{folder}")
for file in range(FILES):
    write(file)
kept = []
for turn in range(ROUNDS):
    # Somebody works in a few folders; some files everywhere are changed all the time.
    for folder in draw.sample(range(FOLDERS), 4):
        for file in range(folder, FILES, FOLDERS):
            if draw.random() < 0.7:
                write(file)
    for _ in range(100):
        write(int(FILES * draw.random() ** 3))
    link = [f"--link-dest={snapshots}/{kept[-1]}"] if kept else []
    subprocess.run(["rsync", "--archive", "--delete", *link, home + "/", f"{snapshots}/{turn}"], check=True)
    kept.append(turn)
    # The last four, of the twelve before them each third; the oldest first, where there is no room.
    for old in kept.copy():
        if turn - old >= 4 and old % 3 or turn - old >= 16 and old % 12 or len(kept) > 2 and full():
            shutil.rmtree(f"{snapshots}/{old}")
            kept.remove(old)
