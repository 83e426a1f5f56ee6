#!/usr/bin/env python3
# drive=256MiB unit=2MiB
"""RocksDB with long values in blob files, which are collected as they age, and another column family in universal compaction: documents and an index of them."""
import random
import sys

from rocksdict import DBCompactionStyle, DBCompressionType, Options, Rdict

from flushing import flush_each_second

DOCUMENTS, CHANGES = 10_000, 85_000
draw = random.Random(1)
noise = draw.randbytes(1 << 20)


def options(buffer):
    chosen = Options(raw_mode=True)
    chosen.create_if_missing(True)
    chosen.create_missing_column_families(True)
    chosen.set_compression_type(DBCompressionType.none())
    chosen.set_write_buffer_size(buffer)
    chosen.set_target_file_size_base(2 << 20)
    chosen.set_max_total_wal_size(8 << 20)
    return chosen


documents = options(4 << 20)
documents.set_enable_blob_files(True)
documents.set_min_blob_size(512)
documents.set_blob_file_size(4 << 20)
documents.set_enable_blob_gc(True)
documents.set_blob_gc_age_cutoff(0.5)
documents.set_blob_gc_force_threshold(0.3)
documents.set_max_bytes_for_level_base(1 << 20)
index = options(1 << 20)
index.set_compaction_style(DBCompactionStyle.universal())

flush_each_second()
store = Rdict(sys.argv[1] + "/blobdb", documents, {"index": index})
entries = store.get_column_family("index")
for change in range(DOCUMENTS + CHANGES):
    document = change if change < DOCUMENTS else int(DOCUMENTS * draw.random() ** 2)
    key = b"%012d" % (document * 7919 % DOCUMENTS)
    at = draw.randrange(len(noise) - 64_000)
    store[key] = noise[at:at + int(min(max(draw.lognormvariate(8.6, 0.8), 100), 64_000))]
    for word in range(4):
        entries[b"%04d" % int(4000 * draw.random() ** 2) + key] = noise[at:at + 60]
store.close()
