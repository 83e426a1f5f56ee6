/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The call path of the running thread: along frame pointers; else by the steps
 * that user space has found in files' tables for unwinding; else by a guess
 * from the words of its stack.
 *
 *	follow frame pointers as long as they lead into code
 *	where code is known, and these are 3 frames:  done
 *	read the stack's first words
 *	where code is known: take the step of each place to its caller, up to
 *		the first caller, or the bound:   done
 *		a step that is not known:         guess, and send the words: user space answers with the steps
 *		a place without a rule:           guess for good
 *	a guess: words that point into code behind a call
 */
#ifndef ANABRANCH_STACK_BPF_H
#define ANABRANCH_STACK_BPF_H

#include "code.bpf.h"
#include "ring.bpf.h"

/* A walk along frame pointers that yields fewer frames than this led nowhere. */
#define MIN_FRAMES 3
/* Words the stack scan takes. Our choice: PCStream (FAST'19) takes five. */
#define SCANNED_FRAMES 8
/* Frames of a call path that is unwound, and of one that is remembered, at most: our choice. */
#define RECALLED_FRAMES 16

/* The steps of call paths that user space has found, by program image and address. */
struct step_key {
	struct image_key image;
	__u64 address;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_UNWIND_STEPS);
	__type(key, struct step_key);
	__type(value, __u64);
} steps SEC(".maps");

/* The only range that may hold `address`. A binary search of fixed length. */
__noinline __u32 range_of(const struct ranges *ranges, __u64 address)
{
	__u32 at = 0;

	if (!ranges)
		return 0;
	for (__u32 step = MAX_RANGES / 2; step; step /= 2)
		if (ranges->start[(at + step) & (MAX_RANGES - 1)] <= address)
			at += step;
	return at;
}

struct walk {
	struct stack_event *stack;
	struct ranges *ranges;
	__u64 *words;
	__u64 read; /* words */
	__u64 *places;
	__u64 top; /* where the words lie */
	__u64 stack_pointer;
	__u64 frame_pointer;
	__u64 address; /* of the frame found last */
	__u64 start; /* the range of code found last; at first the program's own */
	__u64 end;
};

/* Calls stay in one object for long: look there first. */
static __always_inline bool is_code(struct walk *walk, __u64 address)
{
	if (walk->start <= address && address < walk->end)
		return true;
	if (!walk->ranges->count)
		return false;

	__u32 at = range_of(walk->ranges, address) & (MAX_RANGES - 1);

	if (address < walk->ranges->start[at] || walk->ranges->end[at] <= address)
		return false;
	walk->start = walk->ranges->start[at];
	walk->end = walk->ranges->end[at];
	return true;
}

static __always_inline bool add_frame(struct walk *walk, __u64 address, __u64 place)
{
	__u32 at = walk->stack->count;

	if (at >= MAX_FRAMES)
		return false;
	walk->stack->frames[at] = address;
	walk->places[at] = place;
	walk->stack->count = at + 1;
	return true;
}

/* A frame pointer points to the caller's frame pointer and the return address behind it. */
static long step_frame(__u32 i, void *context)
{
	struct walk *walk = context;
	__u64 frame[2];

	if (bpf_probe_read_user(frame, sizeof(frame), (const void *)walk->frame_pointer))
		return 1;

	__u64 address = CODE_ADDRESS(frame[1]);

	/* While it is not known where there is code, user space sorts it out. */
	if (walk->ranges->count && !is_code(walk, address)) {
		walk->stack->outside = address;
		return 1;
	}
	/* Stacks grow downwards: a pointer that does not lead up is no frame's. */
	if (!add_frame(walk, address, walk->frame_pointer + sizeof(frame[0])) || frame[0] <= walk->frame_pointer)
		return 1;
	walk->frame_pointer = frame[0];
	return 0;
}

/* A word of the stack. Most of what that costs is the call that reads: the first words were read at once. */
static __always_inline bool read_word(struct walk *walk, __u64 address, __u64 *word)
{
	__u64 bytes = address - walk->top;

	if (bytes % sizeof(*word) || bytes / sizeof(*word) >= walk->read)
		return !bpf_probe_read_user(word, sizeof(*word), (const void *)address);
	*word = walk->words[bytes / sizeof(*word) & (SCAN_WORDS - 1)];
	return true;
}

/*
 * One step to the caller, as user space found it in the file's table for
 * unwinding. Until it has, the walk ends as SCANNED_UNTIL_TOLD.
 */
static long unwind_frame(__u32 i, void *context)
{
	struct walk *walk = context;
	struct step_key key = { .image = walk->stack->image, .address = walk->address };
	__u64 *found = bpf_map_lookup_elem(&steps, &key);
	__u64 step = found ? *found : 0;
	__u64 caller = step >> 48 == STEP_BY_FRAME_POINTER ? walk->frame_pointer : walk->stack_pointer;
	__u64 saved = step >> 32 & 0xffff;
	__u64 address;

	if (step >> 48 == STEP_LAST)
		walk->stack->scanned = SCANNED_NOT;
	if (step >> 48 == STEP_UNKNOWN)
		walk->stack->scanned = SCANNED_FOR_GOOD;
	if (!step || step >> 48 > STEP_BY_FRAME_POINTER)
		return 1;
	caller += (__u32)step;
	/* Stacks grow downwards, and user space has no more words of this one. */
	if (caller <= walk->stack_pointer || caller - walk->top > STACK_WORDS * sizeof(address)) {
		walk->stack->scanned = SCANNED_NOT;
		return 1;
	}
	if (!read_word(walk, caller - sizeof(address), &address))
		return 1;
	/* Some threads begin with nothing below them. */
	if (!address)
		walk->stack->scanned = SCANNED_NOT;
	/* Other code may lie where the step was found: a library was unloaded. */
	if (!is_code(walk, address)) {
		walk->stack->outside = address;
		return 1;
	}
	if (saved && !read_word(walk, caller - saved, &walk->frame_pointer))
		return 1;
	add_frame(walk, address, caller - sizeof(address));
	walk->stack_pointer = caller;
	walk->address = address;
	if (walk->stack->count < RECALLED_FRAMES)
		return 0;
	walk->stack->scanned = SCANNED_NOT;
	return 1;
}

/* Follows the steps that are known. Answers whether they lead all the way. */
static __always_inline bool unwind(struct walk *walk)
{
	struct stack_event *stack = walk->stack;

	/* Of what frame pointers found, only where the thread stands is certain. */
	stack->count = 1;
	stack->scanned = SCANNED_UNTIL_TOLD;
	walk->stack_pointer = stack->stack_pointer;
	walk->frame_pointer = stack->frame_pointer;
	walk->address = stack->frames[0] | STANDS_HERE;
	bpf_loop(RECALLED_FRAMES, unwind_frame, walk, 0);
	return !stack->scanned;
}

#if defined(__TARGET_ARCH_x86)
/* The longest call instruction. */
#define CALL_BYTES 7

/* Whether code is exactly one `FF /2` of so many bytes. */
static __always_inline bool is_indirect_call(const __u8 *code, int bytes)
{
	__u8 mode = code[1] >> 6, reg = code[1] & 7;
	bool scaled = mode != 3 && reg == 4;
	int displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0;

	if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
		return false;
	/* RIP-relative, or a SIB byte without a base: a displacement of 32 bits (Intel SDM, volume 2, 2.1). */
	if (!mode && (reg == 5 || (scaled && bytes > 2 && (code[2] & 7) == 5)))
		displacement = 4;
	return bytes == 2 + scaled + displacement;
}

/* Whether the code before an address ends with a call: `return_address.rs` has the same test, and its source. */
static __always_inline bool follows_call(__u64 address)
{
	__u8 before[CALL_BYTES];

	/* Code that is not in memory passes: an eBPF program cannot wait for a page fault. */
	if (bpf_probe_read_user(before, sizeof(before), (const void *)(address - sizeof(before))))
		return true;
	if (before[CALL_BYTES - 5] == 0xe8)
		return true;
#pragma unroll
	for (int bytes = 2; bytes <= CALL_BYTES; bytes++)
		if (is_indirect_call(before + CALL_BYTES - bytes, bytes))
			return true;
	return false;
}
#else
static __always_inline bool follows_call(__u64 address)
{
	return true;
}
#endif

static long scan_word(__u32 i, void *context)
{
	struct walk *walk = context;
	__u64 address = CODE_ADDRESS(walk->words[i & (SCAN_WORDS - 1)]);

	/* Words that were pushed for another reason split one call path into many. */
	if (!is_code(walk, address) || !follows_call(address))
		return 0;
	return !add_frame(walk, address, walk->top + i * sizeof(address)) || walk->stack->count > SCANNED_FRAMES;
}

/*
 * Code built without frame pointers leaves no chain to follow. Where no steps
 * are known, PCStream's answer (FAST'19): read the stack upwards from its
 * pointer and take the first words that point into code, of those that lie
 * behind a call: a program that keeps addresses of functions or of places to
 * jump to on its stack would have a path for each. Where the thread stands is
 * certain and comes first.
 */
static __always_inline void scan_stack(struct walk *walk)
{
	walk->stack->count = 1;
	bpf_loop(walk->read, scan_word, walk, 0);
}

static __always_inline void read_words(struct walk *walk)
{
	const void *top = (const void *)walk->top;

	if (!bpf_probe_read_user(walk->words, SCAN_WORDS * 8, top))
		walk->read = SCAN_WORDS;
	/* Near the stack's end there is less to read; what cannot be read is zeroed. */
	else if (!bpf_probe_read_user(walk->words, SCAN_WORDS, top))
		walk->read = SCAN_WORDS / 8;
}

static __always_inline struct ranges *ranges_of(struct image_key *image)
{
	struct ranges *ranges = bpf_map_lookup_elem(&images, image);

	if (ranges && ranges->count)
		return ranges;
	tell_process();
	return bpf_map_lookup_elem(&images, image);
}

static __always_inline void walk_stack(struct task_struct *task, struct scratch *scratch)
{
	struct stack_event *stack = &scratch->stack;
	struct mm_struct *mm = task->mm;

	/* A thread that is exiting has no memory left to walk. */
	if (!mm)
		return;
	stack->image = image_of(task);

	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct walk walk = {
		.stack = stack,
		.ranges = ranges_of(&stack->image),
		.words = scratch->words,
		.places = scratch->places,
		.top = regs->sp,
		.frame_pointer = FRAME_POINTER(regs),
		.start = mm->start_code,
		.end = mm->end_code,
	};

	if (!walk.ranges)
		return;
	stack->known = walk.ranges->count != 0;
	stack->stack_pointer = regs->sp;
	stack->frame_pointer = FRAME_POINTER(regs);
	stack->frames[0] = INSTRUCTION(regs);
	stack->count = 1;
	bpf_loop(MAX_FRAMES, step_frame, &walk, 0);
	if (stack->known && stack->count >= MIN_FRAMES)
		return;
	/* Where code is not known, too: the words go along with an early stack. */
	read_words(&walk);
	if (stack->known && !unwind(&walk))
		scan_stack(&walk);
}

/* Words that are read at once where a stack ends: our choice. */
#define LAST_WORDS 16

/*
 * Sends a stack with its words. Near the stack's end there are fewer of them.
 * An early stack has a shorter record: those come in crowds, each write's with
 * other words.
 */
static __always_inline bool send_words(const struct stack_event *stack)
{
	struct stack_words *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	const void *top = (const void *)stack->stack_pointer;
	__u64 count = 0;

	if (!event) {
		count_lost();
		return false;
	}
	event->stack = *stack;
	event->stack.type = EVENT_STACK_WORDS;
#pragma unroll
	for (int at = 0; at < STACK_WORDS; at += SCAN_WORDS) {
		if (bpf_probe_read_user(&event->words[at], SCAN_WORDS * 8, top + at * 8))
			break;
		count = at + SCAN_WORDS;
	}
#pragma unroll
	for (int i = 0; i < SCAN_WORDS / LAST_WORDS; i++) {
		__u32 at = count & (STACK_WORDS - LAST_WORDS);

		if (count >= STACK_WORDS || bpf_probe_read_user(&event->words[at], LAST_WORDS * 8, top + at * 8))
			break;
		count = at + LAST_WORDS;
	}
	event->count = count;
	bpf_ringbuf_submit(event, wake_flag(SEND_STACKS_AT_ONCE));
	return true;
}

#endif
