"""Versions of two branches of a system, committed, checked out and pruned: ostree.py TREE REPOSITORY DEPLOYED."""
import os
import random
import shutil
import subprocess
import sys

tree, repository, deployed = sys.argv[1:]
PACKAGES, ROUNDS = 70, 160
draw = random.Random(1)
noise = draw.randbytes(8 << 20)
sizes = [[int(min(max(draw.lognormvariate(9.2, 1.5), 100), 4 << 20)) for _ in range(draw.randrange(4, 36))] for _ in range(PACKAGES)]


def ostree(*arguments):
    subprocess.run(["ostree", f"--repo={repository}", *arguments], check=True, stdout=subprocess.DEVNULL)


def upgrade(branch, package):
    folder = f"{tree}/{branch}/usr/lib/p{package}"
    os.makedirs(folder, exist_ok=True)
    for number, size in enumerate(sizes[package]):
        # Not all files of a package differ.
        if draw.random() < 0.7 or not os.path.exists(f"{folder}/{number}"):
            start = draw.randrange(len(noise) - size)
            with open(f"{folder}/{number}", "wb") as file:
                file.write(noise[start:start + size])


for package in range(PACKAGES):
    upgrade("stable", package)
shutil.copytree(f"{tree}/stable", f"{tree}/testing")
for turn in range(ROUNDS):
    branch = "stable" if turn % 4 == 0 else "testing"
    for package in draw.sample(range(PACKAGES), draw.randrange(3, 24) if branch == "stable" else draw.randrange(2, 9)):
        upgrade(branch, package)
    ostree("commit", f"--branch={branch}", f"--subject={turn}", "--no-bindings", f"{tree}/{branch}")
    ostree("checkout", "-U", "-H", branch, f"{deployed}/{turn}")
    for old in os.listdir(deployed):
        if int(old) < turn - 2:
            shutil.rmtree(f"{deployed}/{old}")
    if turn % 3 == 2:
        ostree("prune", "--refs-only", "--depth=2")
