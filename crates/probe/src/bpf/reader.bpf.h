/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread has read before it begins a file. The output of a merge is
 * younger than its inputs: a file is of one generation more than the least of
 * those that were read for it, and of generation 0 if none was. So the levels
 * of a log-structured tree are told apart that one call path writes.
 */
#ifndef ANABRANCH_READER_BPF_H
#define ANABRANCH_READER_BPF_H

#include "ring.bpf.h"

struct file_state {
	__u64 writer; /* the last one that made a page of the file dirty */
	__u8 hint; /* asked for by F_SET_RW_HINT */
	__u8 hint_granted;
	__u8 generation; /* 1 + the file's; 0: no write was seen yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FILES);
	__type(key, struct file_key);
	__type(value, struct file_state);
} files SEC(".maps");

/* Threads that are remembered, generations that are told apart (later ones count as the last): our choice. */
#define READER_BITS 12
#define GENERATIONS 8
/*
 * Of so many pages a file's generation counts. Fewer are read of a file that
 * was written a moment ago, to see whether it can be opened. Our choice.
 */
#define MIN_READ_PAGES 16
/* A fault reads a few pages of the 16 that it maps: our choice. */
#define FAULT_PAGES 4

/* A cache line. */
struct reader {
	struct file_key file; /* read last, */
	__u64 started_ns; /* the thread's start: another may have its number later */
	__u32 thread;
	__u16 generation; /* of `file` */
	__u16 before; /* 1 + the least generation read for the thread's last file; 0: none */
	__u32 pages[GENERATIONS]; /* read of files of each, since the thread began its last file */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* so that readers begin with a cache line */
	__uint(max_entries, 1 << READER_BITS);
	__type(key, __u32);
	__type(value, struct reader);
} readers SEC(".maps");

/* The place of the running thread, which may be another's. */
static __always_inline struct reader *reader_of(const struct task_struct *task)
{
	__u32 at = task->pid & ((1 << READER_BITS) - 1);

	return bpf_map_lookup_elem(&readers, &at);
}

static __always_inline bool is_reader(const struct reader *reader, const struct task_struct *task)
{
	return reader->thread == task->pid && reader->started_ns == task->start_time;
}

static __always_inline bool is_same_file(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->generation == b->generation && a->dev == b->dev;
}

/* The running thread reads so many pages of a file. */
static __always_inline void note_read(const struct file_key *file, __u32 pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct reader *reader = reader_of(task);

	if (!reader)
		return;
	if (!is_reader(reader, task))
		*reader = (struct reader){ .thread = task->pid, .started_ns = task->start_time };
	if (!is_same_file(&reader->file, file)) {
		struct file_state *state = bpf_map_lookup_elem(&files, file);

		reader->file = *file;
		reader->generation = state && state->generation ? state->generation - 1 : 0;
	}
	reader->pages[reader->generation & (GENERATIONS - 1)] += pages;
}

/* The generation of a file that the running thread begins now. */
static __always_inline __u8 next_generation(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct reader *reader = reader_of(task);
	__u32 above = 0; /* 1 + the least that was read */

	if (!reader || !is_reader(reader, task))
		return 0;
	for (__u32 i = GENERATIONS; i; i--) {
		if (reader->pages[i - 1] >= MIN_READ_PAGES)
			above = i;
		reader->pages[i - 1] = 0;
	}
	/* A merge that fills several files may have read nothing since it began the last one. */
	if (above)
		reader->before = above;
	return reader->before < GENERATIONS ? reader->before : GENERATIONS - 1;
}

#endif
