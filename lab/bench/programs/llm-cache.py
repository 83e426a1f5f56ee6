#!/usr/bin/env python3
# drive=1GiB unit=8MiB
"""A language model's key-value cache on disk: chunks of 256 tokens, one file each, the least recently used go.

Conversations grow turn by turn and share system prompts; what is read again is young again."""
import collections
import os
import random
import sys

CHUNK, ROOM, WRITTEN = 1 << 20, 850 << 20, 7 << 30
draw = random.Random(1)
noise = draw.randbytes(2 << 20)
root = sys.argv[1] + "/chunks"
os.makedirs(root)
cache = collections.OrderedDict()
held = written = 0
conversations = [[0, draw.randrange(20)] for _ in range(300)]


def touch(name):
    """Reads a chunk if it is there, writes it otherwise."""
    global held, written
    if name in cache:
        cache.move_to_end(name)
        return
    size = int(CHUNK * draw.choice((0.25, 0.5, 1)))
    while held + size > ROOM:
        old, old_size = cache.popitem(last=False)
        os.unlink(f"{root}/{old}")
        held -= old_size
    at = draw.randrange(len(noise) - size)
    with open(f"{root}/{name}", "wb", buffering=0) as file:
        file.write(noise[at:at + size])
        os.fdatasync(file.fileno())
    cache[name] = size
    held += size
    written += size


while written < WRITTEN:
    which = min(int(draw.paretovariate(0.7)) - 1, len(conversations) - 1)
    turns, prompt = conversations[which]
    for chunk in range(6):
        touch(f"prompt-{prompt}-{chunk}.kv")
    turns += draw.randrange(1, 5)
    for chunk in range(turns):
        touch(f"talk-{which}-{prompt}-{chunk}.kv")
    if draw.random() < 0.1 or turns > 60:
        turns, prompt = 0, prompt + 20
    conversations[which] = [turns, prompt]
