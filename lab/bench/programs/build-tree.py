#!/usr/bin/env python3
# drive=160MiB unit=2MiB
"""A build tree under git: each round some sources change, what depends on them is compiled, archived and linked again, and committed.

The assembler makes the objects out of given bytes, so that the round takes the time of writing rather than of optimizing."""
import os
import random
import subprocess
import sys

LIBRARIES, SOURCES, ROUNDS = 12, 24, 150
draw = random.Random(1)
tree = sys.argv[1] + "/tree"
os.makedirs(tree)
os.chdir(tree)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write_source(library, source):
    size = int(min(max(draw.lognormvariate(10.6, 1.0), 2000), 600_000))
    with open(f"l{library}/s{source}.inc", "wb") as file:
        file.write(draw.randbytes(size // 4))
    with open(f"l{library}/s{source}.s", "w") as file:
        file.write(f'.data\n.globl d{library}_{source}\nd{library}_{source}:\n.incbin "l{library}/s{source}.inc"\n.fill {size}, 1, {size % 251}\n')


def build(changed):
    for library, source in changed:
        run("as", "-o", f"l{library}/s{source}.o", f"l{library}/s{source}.s")
    for library in {library for library, _ in changed}:
        archive = f"lib{library}.a"
        if os.path.exists(archive):
            os.unlink(archive)
        run("ar", "rc", archive, *(f"l{library}/s{source}.o" for source in range(SOURCES)))
    run("ld", "-r", "--whole-archive", "-o", "program.new", *(f"lib{library}.a" for library in range(LIBRARIES)))
    os.rename("program.new", "program")


run("git", "init", "--quiet")
run("git", "config", "user.email", "a@b")
run("git", "config", "user.name", "a")
with open(".gitignore", "w") as file:
    file.write("*.o\n*.a\nprogram*\n")
for library in range(LIBRARIES):
    os.mkdir(f"l{library}")
everything = [(library, source) for library in range(LIBRARIES) for source in range(SOURCES)]
for each in everything:
    write_source(*each)
build(everything)
for number in range(ROUNDS):
    libraries = draw.sample(range(LIBRARIES), 2)
    changed = [(library, source) for library in libraries for source in draw.sample(range(SOURCES), 4)]
    for each in changed:
        write_source(*each)
    build(everything if number % 25 == 24 else changed)
    run("git", "add", "--all")
    run("git", "commit", "--quiet", "-m", str(number))
    if number % 30 == 29:
        # The history is kept short, as by a shallow clone: what is older goes.
        run("git", "checkout", "--quiet", "--orphan", f"r{number}")
        run("git", "commit", "--quiet", "-m", "again")
        run("git", "branch", "-D", "--quiet", *subprocess.check_output(["git", "for-each-ref", "--format=%(refname:short)", "refs/heads"], text=True)
            .replace(f"r{number}\n", "").split())
        run("git", "reflog", "expire", "--expire=now", "--all")
        run("git", "gc", "--quiet", "--prune=now")
    os.sync()
