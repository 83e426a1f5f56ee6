/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who is writing: a user thread is named by its call path, a kernel thread by
 * its name. Either becomes a 64-bit hash; what the hash stands for is sent once.
 *
 *	a page is made dirty in the same system call as the last one:    the same writer
 *	the thread stands as remembered, and its stack holds the path:   the remembered writer
 *	else a kernel thread by its name, a user thread by a walk of its stack:
 *		hash kind, program image, control group, name and path
 *		send what it stands for, unless it was sent lately
 *		remember it, if the path is whole
 */
#ifndef ANABRANCH_WRITER_BPF_H
#define ANABRANCH_WRITER_BPF_H

#include "stack.bpf.h"
#ifdef HANDOVER
#include "window.bpf.h"
#endif

/* Hashes user space was told about lately. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_WRITERS);
	__type(key, __u64);
	__type(value, __u8);
} writers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct reply);
} reply SEC(".maps");

/* How many writers user space has asked to be told of again: a remembered one is looked up anew then. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} forgotten SEC(".maps");

static __always_inline __u64 *forgotten_writers(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&forgotten, &zero);
}

/* Paths that each program remembers on each processor: our choice. */
#define RECALLED_BITS 5

/* Where a thread stands; of a kernel thread, only which it is. */
struct standing {
	__u64 thread; /* with its control group, if that is asked for */
	__u64 comm[COMM_BYTES / 8];
	__u64 image;
	__u64 tgid;
	__u64 instruction;
	__u64 stack_pointer;
	__u64 frame_pointer;
};

/*
 * A writer that was found, and by what. While the thread stands at the same
 * instruction with the same stack, and the same addresses lie where the path's
 * were found, it has come the same way: a function's frame tells where its
 * caller's address lies, and so on from the innermost one.
 */
struct recalled {
	struct standing where;
	__u64 hash; /* 0: nothing */
	__u64 looked_up; /* 1 + the number forgotten before it was last found in `writers`; 0: not yet */
	__u64 count; /* frames behind the instruction */
	__u64 places[RECALLED_FRAMES];
	__u64 frames[RECALLED_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SLOTS << RECALLED_BITS);
	__type(key, __u32);
	__type(value, struct recalled);
} recalled SEC(".maps");

/* A thread's name without its digits, which only number threads of one role. */
static __always_inline __u64 mix_role(__u64 hash, const char *comm)
{
	for (int i = 0; i < COMM_BYTES; i++) {
		if (!comm[i])
			break;
		if (comm[i] < '0' || comm[i] > '9')
			hash = mix(hash, comm[i]);
	}
	return hash;
}

/*
 * While it is not known where a process has code, its stack's words tell call
 * paths apart, and user space looks for the path in them.
 */
static __always_inline bool is_early(const struct stack_event *stack)
{
	return stack->count && !stack->known;
}

__noinline __u64 publish(struct scratch *scratch)
{
	static const __u8 seen = 1;

	if (!scratch)
		return 0;

	struct stack_event *stack = &scratch->stack;
	__u64 hash = mix(stack->kind + 1, stack->image.tgid);
	bool sent;

	hash = mix(hash, stack->image.image);
	if (stack->group)
		hash = mix(hash, stack->group);
	hash = mix_role(hash, stack->comm);
	for (int i = 0; i < MAX_FRAMES && i < stack->count; i++)
		hash = mix(hash, stack->frames[i]);
	if (is_early(stack))
		for (int i = 0; i < SCAN_WORDS; i++)
			hash = mix(hash, scratch->words[i]);
	stack->hash = hash;
	stack->type = EVENT_STACK;
	if (bpf_map_lookup_elem(&writers, &hash))
		return hash;
#ifdef HANDOVER
	/* Whether or not it can be sent: a server looks here for what the ring did not bring. */
	bpf_map_update_elem(&stacks, &hash, stack, BPF_ANY);
#endif
	if (is_early(stack)) {
		stack->type = EVENT_EARLY_STACK;
		sent = send(stack, sizeof(*stack) + sizeof(scratch->words), SEND_STACKS_AT_ONCE);
	} else if (stack->scanned) {
		sent = send_words(stack);
	} else {
		sent = send(stack, sizeof(*stack), SEND_STACKS_AT_ONCE);
	}
	/* Where the ring was full, the next write sends it. */
	if (sent)
		bpf_map_update_elem(&writers, &hash, &seen, BPF_ANY);
	return hash;
}

/* The running thread's control group, if it is asked for. */
static __always_inline __u64 current_group(void)
{
	return config.groups ? bpf_get_current_cgroup_id() : 0;
}

static __always_inline struct stack_event *new_stack(struct scratch *scratch, __u8 kind)
{
	struct stack_event *stack = &scratch->stack;

	stack->kind = kind;
	stack->scanned = SCANNED_NOT;
	stack->count = 0;
	stack->known = 0;
	stack->outside = 0;
	stack->image = (struct image_key){};
	stack->group = kind == WRITER_METADATA ? 0 : current_group();
	bpf_get_current_comm(stack->comm, COMM_BYTES);
	return stack;
}

static __always_inline bool is_jbd2(const char *comm)
{
	return comm[0] == 'j' && comm[1] == 'b' && comm[2] == 'd' && comm[3] == '2' && comm[4] == '/';
}

static __always_inline struct standing running_thread(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct mm_struct *mm = task->mm;
	struct standing now = {
		.thread = task->pid,
		.comm = { *(__u64 *)task->comm, *(__u64 *)(task->comm + 8) },
	};

	/* The group's halves are exchanged: its lower one would lie over the thread's number. */
	if (config.groups) {
		__u64 group = bpf_get_current_cgroup_id();

		now.thread ^= group << 32 | group >> 32;
	}
	if (task->flags & PF_KTHREAD || !mm)
		return now;

	struct image_key image = image_of(task);

	now.image = image.image;
	now.tgid = image.tgid;
	now.instruction = INSTRUCTION(regs);
	now.stack_pointer = regs->sp;
	now.frame_pointer = FRAME_POINTER(regs);
	return now;
}

/* Its place among what the program in `slot` remembers on this processor. */
static __always_inline struct recalled *recalled_of(const struct standing *now, __u32 slot)
{
	__u64 hash = mix(mix(now->thread, now->instruction), now->stack_pointer);
	__u32 at = (slot << RECALLED_BITS) + (hash >> (64 - RECALLED_BITS));

	return bpf_map_lookup_elem(&recalled, &at);
}

static __always_inline bool is_same(const struct standing *a, const struct standing *b)
{
	return a->thread == b->thread && a->instruction == b->instruction &&
	       a->stack_pointer == b->stack_pointer && a->frame_pointer == b->frame_pointer &&
	       a->image == b->image && a->tgid == b->tgid && a->comm[0] == b->comm[0] && a->comm[1] == b->comm[1];
}

/*
 * Does the stack still hold what was found there? Most of what that costs is
 * the call that reads: frames that lie together are read at once.
 */
static __always_inline bool holds_frames(const struct recalled *then, struct scratch *scratch)
{
	__u64 read = 0; /* where the words begin, and their bytes */
	__u64 bytes = 0;

	for (__u32 i = 0; i < RECALLED_FRAMES && i < then->count; i++) {
		__u64 place = then->places[i];

		if (place - read >= bytes) {
			read = place;
			/* Up to the last frame. The verifier sees no bound of `count`, hence the mask. */
			bytes = then->places[(then->count - 1) & (RECALLED_FRAMES - 1)] + sizeof(place) - place;
			if (bytes > sizeof(scratch->words))
				bytes = sizeof(scratch->words);
			if (bpf_probe_read_user(scratch->words, bytes, (const void *)place))
				return false;
		}

		__u32 word = (place - read) / sizeof(place) & (SCAN_WORDS - 1);

		if ((place - read) % sizeof(place) || CODE_ADDRESS(scratch->words[word]) != then->frames[i])
			return false;
	}
	return true;
}

/* The writer that the running thread is, if it has come as it came before; else 0. */
__noinline __u64 recall(__u32 slot)
{
	struct scratch *scratch = scratch_of(slot);
	struct standing now = running_thread();
	struct recalled *then = recalled_of(&now, slot);
	__u64 *count = forgotten_writers();
	__u64 lookup = count ? 1 + *(volatile __u64 *)count : 0;

	if (!scratch || !then || !then->hash || !is_same(&now, &then->where) || !holds_frames(then, scratch))
		return 0;
	/* User space wants to be told again of one that is not in there. */
	if (then->looked_up != lookup) {
		if (!bpf_map_lookup_elem(&writers, &then->hash))
			return 0;
		/* The count from before the look-up: one that is forgotten meanwhile is looked up again. */
		then->looked_up = lookup;
	}
	return then->hash;
}

/* What was found is the whole of what can be found. */
static __always_inline bool is_whole(const struct stack_event *stack)
{
	if (stack->scanned == SCANNED_FOR_GOOD)
		return stack->count > SCANNED_FRAMES;
	return !is_early(stack) && !stack->scanned;
}

/* Remembers the writer that `slot`'s scratch tells of: the running thread. */
__noinline int remember(__u64 hash, __u32 slot)
{
	struct scratch *scratch = scratch_of(slot);
	struct standing now = running_thread();
	struct recalled *then = recalled_of(&now, slot);

	/* A longer path would be compared in part, so that another one could pass for it. */
	if (!scratch || !then || !is_whole(&scratch->stack) || scratch->stack.count > RECALLED_FRAMES)
		return 0;
	then->where = now;
	then->count = 0;
	/* The first frame is the instruction. */
	for (__u32 i = 1; i < RECALLED_FRAMES && i < scratch->stack.count; i++) {
		then->places[i - 1] = scratch->places[i];
		then->frames[i - 1] = scratch->stack.frames[i];
		then->count = i;
	}
	then->looked_up = 0;
	then->hash = hash;
	return 0;
}

/* The running thread as a writer. */
static __always_inline __u64 current_writer(struct scratch *scratch, __u32 slot)
{
	__u64 hash = recall(slot);

	if (hash)
		return hash;

	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_event *stack = new_stack(scratch, WRITER_USER);

	if (task->flags & PF_KTHREAD) {
		stack->kind = is_jbd2(stack->comm) ? WRITER_JOURNAL : WRITER_KERNEL;
	} else {
		stack->image.tgid = task->tgid;
		walk_stack(task, scratch);
	}
	hash = publish(scratch);
	remember(hash, slot);
	return hash;
}

/* Threads of which a processor remembers a system call: our choice. */
#define CALL_BITS 5

/* The last system call of a thread in which it made a page dirty. */
struct call {
	__u64 thread;
	__u64 started_ns; /* another thread may have its number later */
	__u64 number_of_writes; /* of the thread before this one */
	__u64 stack_pointer;
	__u64 writer;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << CALL_BITS);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

/* Is `task` in a system call that writes, and which of its writes is it? */
static __always_inline bool identify_call(struct task_struct *task, struct call *call)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	/* `syscw` counts calls that write. Faults of a mapping have no count by which to tell two apart. */
	if (task->flags & PF_KTHREAD || !IS_WRITE(SYSCALL_NUMBER(regs)))
		return false;
	if (!bpf_core_field_exists(task->ioac.syscw))
		return false;
	call->number_of_writes = task->ioac.syscw;
	call->stack_pointer = regs->sp;
	return true;
}

/* As current_writer, but one large write that makes many pages dirty pays for one walk. */
static __always_inline __u64 dirtying_writer(struct scratch *scratch, __u32 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call call = { .thread = task->pid, .started_ns = task->start_time };
	__u32 at = call.thread & ((1 << CALL_BITS) - 1);
	struct call *last = bpf_map_lookup_elem(&calls, &at);

	if (!last || !identify_call(task, &call))
		return current_writer(scratch, slot);
	if (last->thread == call.thread && last->started_ns == call.started_ns &&
	    last->number_of_writes == call.number_of_writes && last->stack_pointer == call.stack_pointer)
		return last->writer;
	call.writer = current_writer(scratch, slot);
	*last = call;
	return call.writer;
}

/* The file system's own writes. */
__noinline __u64 file_system_writer(bool log, __u32 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *scratch = scratch_of(slot);

	if (!scratch)
		return 0;

	struct stack_event *stack = new_stack(scratch, WRITER_METADATA);

	/* Any thread may be made to write them out, so a user thread's name would say nothing. */
	if (!(task->flags & PF_KTHREAD))
		stack->comm[0] = 0;
	if (log || is_jbd2(stack->comm))
		stack->kind = WRITER_JOURNAL;
	return publish(scratch);
}

#endif
