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
 * Of so many pages a generation counts among what was read for a file. Fewer
 * are read of one that was written a moment ago, to see whether it can be
 * opened. Our choice.
 */
#define MIN_READ_PAGES 16
/* A fault reads a few pages of the 16 that it maps: our choice. */
#define FAULT_PAGES 4

/*
 * A cache line. What a thread read since it began a file is for the next one
 * if it begins that from the same place: a merge fills several. From another
 * place, only what it read since it last wrote is: it has begun another work.
 * A place is an instruction and a stack pointer, which tells call paths apart
 * without a walk.
 */
struct reader {
	struct file_key file; /* read last, */
	__u64 started_ns; /* the thread's start: another may have its number later */
	__u64 number_of_writes; /* of the thread before its last read */
	__u64 place; /* where the thread began its last file */
	__u32 thread;
	__u8 generation; /* of `file` */
	__u8 lately; /* 1 + the least generation read since the thread last wrote; 0: none */
	__u8 before; /* 1 + the least read for the thread's last file; 0: none */
	__u8 zero;
	__u16 pages[GENERATIONS]; /* read of each since the thread began its last file */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* so that readers begin with a cache line */
	__uint(max_entries, 1 << READER_BITS);
	__type(key, __u32);
	__type(value, struct reader);
} readers SEC(".maps");

/* What is known of a thread; another's gives way. */
static __always_inline struct reader *reader_of(const struct task_struct *task)
{
	__u32 at = task->pid & ((1 << READER_BITS) - 1);
	struct reader *reader = bpf_map_lookup_elem(&readers, &at);

	if (reader && (reader->thread != task->pid || reader->started_ns != task->start_time))
		*reader = (struct reader){ .thread = task->pid, .started_ns = task->start_time };
	return reader;
}

static __always_inline bool is_same_file(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->generation == b->generation && a->dev == b->dev;
}

/* The thread's calls that wrote; 0 where they are not counted. */
static __always_inline __u64 number_of_writes(const struct task_struct *task)
{
	return bpf_core_field_exists(task->ioac.syscw) ? task->ioac.syscw : 0;
}

/* The running thread reads so many pages of a file. */
static __always_inline void note_read(const struct file_key *file, __u32 pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct reader *reader = reader_of(task);
	__u64 writes = number_of_writes(task);

	if (!reader)
		return;
	if (!is_same_file(&reader->file, file)) {
		struct file_state *state = bpf_map_lookup_elem(&files, file);

		reader->file = *file;
		reader->generation = state && state->generation ? state->generation - 1 : 0;
	}
	if (reader->number_of_writes != writes) {
		reader->number_of_writes = writes;
		reader->lately = 0;
	}
	if (!reader->lately || reader->generation < reader->lately - 1)
		reader->lately = reader->generation + 1;

	__u16 *read = &reader->pages[reader->generation & (GENERATIONS - 1)];

	/* More than enough is as good as enough. */
	if (*read < MIN_READ_PAGES)
		*read += pages < MIN_READ_PAGES ? pages : MIN_READ_PAGES;
}

/* The generation of a file that the running thread begins now. */
static __always_inline __u8 next_generation(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 place = mix(INSTRUCTION(regs), regs->sp);
	struct reader *reader = reader_of(task);
	__u32 least = 0; /* 1 + the least that was read */

	if (!reader)
		return 0;
	for (__u32 i = GENERATIONS; i; i--) {
		if (reader->pages[i - 1] >= MIN_READ_PAGES)
			least = i;
		reader->pages[i - 1] = 0;
	}
	if (place != reader->place)
		least = reader->number_of_writes == number_of_writes(task) ? reader->lately : 0;
	else if (!least)
		least = reader->before;
	reader->place = place;
	reader->before = least;
	return least < GENERATIONS ? least : GENERATIONS - 1;
}

#endif
