#!/usr/bin/env python3
"""LMCache's own disk cache, without a GPU: its storage manager writes chunks of a model's keys and values to files, the
least recently used go.

Chunks are of 256 tokens of a model of 24 layers with two heads of 64 for keys and values, 16 bits a number: 3 MiB.
Conversations grow turn by turn and share system prompts. What is cached is read again, the rest is stored; no model runs.
ROOM_MIB is what the cache may hold, WRITTEN_MIB what is written, ODIRECT=1 turns on LMCache's `use_odirect`."""
import os
import random
import subprocess
import sys
import threading
import time

os.environ["LMCACHE_TRACK_USAGE"] = "false"
import torch
from lmcache.utils import CacheEngineKey
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.event_manager import EventManager
from lmcache.v1.memory_management import MemoryFormat
from lmcache.v1.metadata import LMCacheMetadata
from lmcache.v1.storage_backend.storage_manager import StorageManager

LAYERS, TOKENS, HEADS, HEAD = 24, 256, 2, 64
NUMBERS, KIND = torch.bfloat16, torch.Size([2, LAYERS, TOKENS, HEADS * HEAD])
CHUNK_MIB = 3
room, most = (int(os.environ.get(name, value)) for name, value in (("ROOM_MIB", "850"), ("WRITTEN_MIB", "7168")))
draw = random.Random(1)
noise = torch.randint(-2**15, 2**15, (2 * KIND.numel(),), dtype=torch.int16, generator=torch.Generator().manual_seed(1))
config = LMCacheEngineConfig.from_defaults(
    chunk_size=TOKENS, local_cpu=True, max_local_cpu_size=0.1, local_disk=f"file://{sys.argv[1]}/chunks",
    max_local_disk_size=room / 1024, extra_config={"use_odirect": os.environ.get("ODIRECT") == "1"})
model = LMCacheMetadata(model_name="model", world_size=1, local_world_size=1, worker_id=0, local_worker_id=0,
                        kv_dtype=NUMBERS, kv_shape=(LAYERS, 2, TOKENS, HEADS, HEAD))
manager = StorageManager(config, model, EventManager())
stored = 0


def flush():
    """A small machine's memory: what is written reaches the drive within a second."""
    while not done.wait(1):
        subprocess.run(["sync", "--file-system", sys.argv[1]], check=True)


def touch(name):
    """Reads a chunk if it is cached, stores it otherwise."""
    global stored
    key = CacheEngineKey("model", 1, 0, name, NUMBERS)
    if manager.contains(key):
        if (chunk := manager.get(key)) is not None:
            chunk.ref_count_down()
        return
    chunk = manager.allocate(KIND, NUMBERS, MemoryFormat.KV_2LTD)
    start = draw.randrange(KIND.numel())
    chunk.tensor.view(torch.int16).copy_(noise[start:start + KIND.numel()].view(KIND))
    manager.batched_put([key], [chunk])
    stored += CHUNK_MIB


def converse():
    """Conversations until enough is stored."""
    conversations = [[0, which, draw.randrange(20)] for which in range(300)]
    newest = len(conversations)
    while stored < most:
        talk = conversations[min(int(draw.paretovariate(0.7)) - 1, len(conversations) - 1)]
        for chunk in range(4):
            touch(talk[2] << 32 | chunk)
        talk[0] += draw.randrange(1, 3)
        for chunk in range(talk[0]):
            touch(1 << 60 | talk[1] << 16 | chunk)
        if draw.random() < 0.1 or talk[0] > 24:
            talk[:], newest = [0, newest, draw.randrange(20)], newest + 1


done = threading.Event()
threading.Thread(target=flush, daemon=True).start()
try:
    converse()
    time.sleep(1)
    manager.close()
finally:
    done.set()
    os._exit(0)  # LMCache leaves a thread of its own, which would be waited for
