"""Compiles the sources of a project as they change: ccache.py SOURCES BUILT. An object's length is in its source, so that the compiler has little to do."""
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sources, built = sys.argv[1:]
FILES, ROUNDS = 150, 500
draw = random.Random(1)
lengths = [int(min(max(draw.lognormvariate(10.6, 1.1), 2_000), 2 << 20)) for _ in range(FILES)]
versions = [0] * FILES
branches = []


def compile_one(file):
    source = f"{sources}/{file}.c"
    with open(source, "w") as text:
        text.write(f'const int version_{file} = {versions[file]};\nasm(".data; .fill {lengths[file] + versions[file] % 97}");\n')
    subprocess.run(["ccache", "cc", "-c", "-o", f"{built}/{file}.o", source], check=True)


with ThreadPoolExecutor(2) as pool:
    list(pool.map(compile_one, range(FILES)))
    for turn in range(1, ROUNDS):
        if turn % 10 == 0:
            # Another branch, or one from before, whose objects may still be in the cache.
            branches = [*branches[-3:], versions.copy()]
            versions = draw.choice(branches).copy()
            todo = range(FILES)
        else:
            # A few files, or a header that many have.
            todo = draw.sample(range(FILES), draw.choice((3, 10, 10, 30, 90)))
            for file in todo:
                versions[file] = turn
        if turn % 25 == 24:
            for name in os.listdir(built):
                os.unlink(f"{built}/{name}")
            todo = range(FILES)
        list(pool.map(compile_one, todo))
