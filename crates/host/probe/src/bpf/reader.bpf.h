/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread has read before it begins a file. The output of a merge is
 * younger than its inputs: a file is of one generation more than the least of
 * those that were read for it, and of generation 0 if none was. So the levels
 * of a log-structured tree are told apart that one call path writes. An error
 * does not stay: the next merge with a younger file mends it.
 *
 *	a thread reads a file:
 *		it has written since it last read:  what it read lately is now before
 *		lately[the file's generation] += pages
 *	a thread begins a file:
 *		from another place, or 64 pages lately:    1 + the least generation read lately, 0 if none
 *		else 16 pages of a generation in all:      1 + the least of these
 *		else:                                      as its last file
 */
#ifndef ANABRANCH_READER_BPF_H
#define ANABRANCH_READER_BPF_H

#include "file.bpf.h"
#include "ring.bpf.h"

/* Threads that are remembered, generations that are told apart (later ones count as the last): our choice. */
#define READER_BITS 12
#define GENERATIONS 8
/*
 * Of so many pages a generation counts among what was read for a file. Fewer
 * are read of one that was written a moment ago, to see whether it can be
 * opened. Our choice.
 */
#define MIN_READ_PAGES 16
/* In so many pages that are read at a stretch a merge has read of all its inputs: our choice. */
#define STRETCH_PAGES 64
/* Counts of pages, to which this much can be added. */
#define MAX_READ_PAGES 0x7fff
/* A fault reads a few pages of the 16 that it maps: our choice. */
#define FAULT_PAGES 4

/* Unrolled, these loops take more stack than Linux 6.1 leaves: it adds up all calls, to 512 bytes. */
#define STEP_BY_STEP _Pragma("clang loop unroll(disable)")

/*
 * A cache line. What a thread read since it last wrote is for the file that it
 * begins. Where that is too little to tell, a merge that goes on, which fills
 * several files from the same place, has what was read since it began the last
 * one. A place is an instruction and a stack pointer, which tells call paths
 * apart without a walk.
 */
struct reader {
	struct file_key file; /* read last, */
	__u64 thread; /* its number and its start: another may have its number later */
	__u64 number_of_writes; /* of the thread before its last read */
	__u32 place; /* where the thread began its last file, */
	__u8 begun; /* and the generation of that */
	__u8 generation; /* of `file` */
	__u16 zero;
	__u16 lately[GENERATIONS]; /* pages read of each since the thread last wrote */
	__u8 before[GENERATIONS]; /* before that, since the thread began its last file; up to MIN_READ_PAGES */
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
	__u64 thread = mix(task->pid, task->start_time);
	struct reader *reader = bpf_map_lookup_elem(&readers, &at);

	if (reader && reader->thread != thread)
		*reader = (struct reader){ .thread = thread };
	return reader;
}

/* If the thread has written since it last read, what it read before that is no longer what it read lately. */
static __always_inline void forget_lately(struct reader *reader, const struct task_struct *task)
{
	/* Calls that wrote; where they are not counted, all is one stretch. */
	__u64 writes = bpf_core_field_exists(task->ioac.syscw) ? task->ioac.syscw : 0;

	if (reader->number_of_writes == writes)
		return;
	reader->number_of_writes = writes;
	STEP_BY_STEP for (__u32 i = 0; i < GENERATIONS; i++) {
		__u32 pages = reader->before[i] + reader->lately[i];

		/* More is of no use, and would not fit the byte. */
		reader->before[i] = pages < MIN_READ_PAGES ? pages : MIN_READ_PAGES;
		reader->lately[i] = 0;
	}
}

/* The running thread reads so many pages of a file. */
static __always_inline void note_read(const struct file_key *file, __u32 pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct reader *reader = reader_of(task);

	if (!reader)
		return;
	if (!is_same_file(&reader->file, file)) {
		struct file_state *state = bpf_map_lookup_elem(&files, file);

		reader->file = *file;
		reader->generation = state && state->generation ? state->generation - 1 : 0;
	}
	forget_lately(reader, task);

	__u16 *read = &reader->lately[reader->generation & (GENERATIONS - 1)];

	if (*read < MAX_READ_PAGES)
		*read += pages < MAX_READ_PAGES ? pages : MAX_READ_PAGES;
}

/*
 * 1 where `value` is at least `least`, else 0; both below 2^31. Without a
 * branch: of two in each turn of a loop the verifier would follow each
 * sequence, 4^8 of them, for half a second in each program that begins files.
 */
static __always_inline __u32 is_at_least(__u32 value, __u32 least)
{
	__u32 difference = value - least;

	asm volatile("" : "+r"(difference));
	return ~difference >> 31;
}

/* 1 + the number of the lowest bit that is set; 0: none. */
static __always_inline __u32 lowest(__u32 bits)
{
	STEP_BY_STEP for (__u32 i = 0; i < GENERATIONS; i++)
		if (bits >> i & 1)
			return i + 1;
	return 0;
}

/* The generation of a file that the running thread begins now. */
__noinline __u32 next_generation(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 place = mix(INSTRUCTION(regs), regs->sp) >> 32;
	struct reader *reader = reader_of(task);
	__u32 lately = 0; /* a bit for each generation read lately, */
	__u32 before = 0; /* and for those of which enough was, then or before */
	__u32 pages = 0;

	if (!reader)
		return 0;
	forget_lately(reader, task);
	STEP_BY_STEP for (__u32 i = 0; i < GENERATIONS; i++) {
		__u32 read = reader->lately[i];

		pages += read;
		lately |= is_at_least(read, 1) << i;
		before |= is_at_least(reader->before[i] + read, MIN_READ_PAGES) << i;
		reader->lately[i] = 0;
		reader->before[i] = 0;
	}
	/* From another place another work begins; and of a long stretch what was read before does not count. */
	if (place != reader->place || pages >= STRETCH_PAGES)
		reader->begun = lowest(lately);
	else if (before)
		reader->begun = lowest(before);
	if (reader->begun >= GENERATIONS)
		reader->begun = GENERATIONS - 1;
	reader->place = place;
	return reader->begun;
}

#endif
