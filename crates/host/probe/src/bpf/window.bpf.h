/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The handover: which writer's pages are on their way to the target. Whoever
 * serves the device reads the window, which both sides have in memory, and
 * clears what it has served. src/window.rs reads the same layouts.
 */
#ifndef ANABRANCH_WINDOW_BPF_H
#define ANABRANCH_WINDOW_BPF_H

#include "ring.bpf.h"

#define PAGE_BITS 12
#define BUCKET_BITS 18
#define BUCKETS (1 << BUCKET_BITS)
#define SLOTS_PER_BUCKET 4
#define MAX_SOURCES 16384

/* A slot is one word, so that no reader sees half of it: tag << 32 | number; 0: free. */
struct bucket {
	__u64 slots[SLOTS_PER_BUCKET];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BUCKETS);
	__type(key, __u32);
	__type(value, struct bucket);
} window SEC(".maps");

/* Whose pages they are: a writer, and the file it writes to. */
struct source_key {
	__u64 writer;
	struct file_key file;
	__u32 hint;
	__u32 hint_granted;
};

/* A source's number, from 1 on. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_SOURCES);
	__type(key, struct source_key);
	__type(value, __u32);
} numbers SEC(".maps");

/* What a number stands for, at the number modulo the size. */
struct source {
	__u64 number; /* 0: being written */
	struct source_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_SOURCES);
	__type(key, __u32);
	__type(value, struct source);
} sources SEC(".maps");

/* Counted since the maps were made. */
struct tally {
	__u64 last_number;
	__u64 filled; /* pages */
	__u64 evicted; /* pages that gave way to others before they were served */
	__u64 late; /* requests that the tracepoint took */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} tallies SEC(".maps");

static __always_inline struct tally *tally(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&tallies, &zero);
}

static __always_inline void count_late(void)
{
	struct tally *counts = tally();

	if (counts)
		__sync_fetch_and_add(&counts->late, 1);
}

/* The source of each program's last pages on a processor. */
struct last_source {
	struct source_key key;
	__u64 number; /* 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct last_source);
} last_sources SEC(".maps");

/* Whether a number still stands for what it stood for: so many newer ones may have come. */
static __always_inline bool is_current(__u64 number)
{
	__u32 at = number & (MAX_SOURCES - 1);
	struct source *source = bpf_map_lookup_elem(&sources, &at);

	return source && source->number == number;
}

static __always_inline bool is_same_source(const struct source_key *a, const struct source_key *b)
{
	return a->writer == b->writer && is_same_file(&a->file, &b->file) && a->hint == b->hint &&
	       a->hint_granted == b->hint_granted;
}

__noinline __u32 number_of(const struct source_key *key)
{
	struct tally *counts = tally();
	__u32 *known;

	if (!key || !counts)
		return 0;
	known = bpf_map_lookup_elem(&numbers, key);
	/* `numbers` forgets by use and `sources` by age: the number found may stand for another source by now. */
	if (known && is_current(*known))
		return *known;

	__u32 number = __sync_fetch_and_add(&counts->last_number, 1) + 1;
	__u32 at = number & (MAX_SOURCES - 1);
	struct source *source = bpf_map_lookup_elem(&sources, &at);

	if (!source || !number)
		return 0;
	/* Exchanges are barriers: no reader sees the number and not yet what it stands for. */
	__sync_lock_test_and_set(&source->number, 0);
	source->key = *key;
	__sync_lock_test_and_set(&source->number, number);
	/* Last: whoever finds the number finds what it stands for. */
	bpf_map_update_elem(&numbers, key, &number, BPF_ANY);
	return number;
}

/* The same, where the last pages were the same source's without a search. */
static __always_inline __u32 number_again(const struct source_key *key, __u32 slot)
{
	struct last_source *last = bpf_map_lookup_elem(&last_sources, &slot);

	if (!last)
		return 0;
	if (!last->number || !is_same_source(key, &last->key) || !is_current(last->number)) {
		last->number = 0;
		last->key = *key;
		last->number = number_of(key);
	}
	return last->number;
}

struct fill {
	__u64 page;
	__u64 number;
};

/* As `place_of` in src/window.rs. */
static long fill_page(__u32 i, void *context)
{
	struct fill *fill = context;
	__u64 page = fill->page + i;
	__u64 high = page >> BUCKET_BITS;
	__u32 at = (page ^ high * 0x9e3779b1) & (BUCKETS - 1);
	struct bucket *bucket = bpf_map_lookup_elem(&window, &at);
	struct tally *counts = tally();
	/* 1 more, since 0 is the tag of a free slot. */
	__u64 tag = high + 1;
	__u64 entry = tag << 32 | fill->number;

	if (!bucket || !counts)
		return 1;
	__sync_fetch_and_add(&counts->filled, 1);
	for (int slot = 0; slot < SLOTS_PER_BUCKET; slot++) {
		/* Written again before it was served: the later writer counts. */
		if (bucket->slots[slot] >> 32 == tag) {
			bucket->slots[slot] = entry;
			return 0;
		}
	}
	/* Another processor may take the free slot first: then the next one. */
	for (int slot = 0; slot < SLOTS_PER_BUCKET; slot++)
		if (!bucket->slots[slot] && !__sync_val_compare_and_swap(&bucket->slots[slot], 0, entry))
			return 0;
	/* The page that gives way has no writer then, and never this one's: the tag is another. */
	bucket->slots[page & (SLOTS_PER_BUCKET - 1)] = entry;
	__sync_fetch_and_add(&counts->evicted, 1);
	return 0;
}

/* The pages of a write, all of one source, are on their way. */
__noinline int fill_window(const struct io_event *io, __u32 slot)
{
	if (!io || io->operation != OPERATION_WRITE || !io->length_bytes)
		return 0;

	struct source_key key = {
		.writer = io->writer,
		.file = io->file,
		.hint = io->hint,
		.hint_granted = io->hint_granted,
	};
	struct fill fill = {
		.page = io->offset_bytes >> PAGE_BITS,
		.number = number_again(&key, slot),
	};
	__u64 last = (io->offset_bytes + io->length_bytes - 1) >> PAGE_BITS;

	if (fill.number)
		bpf_loop(last - fill.page + 1, fill_page, &fill, 0);
	return 0;
}

/* The words for a writer and a file, for a server that was not there when they were sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct stack_event);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct file_key);
	__type(value, struct file_event);
} names SEC(".maps");

#endif
