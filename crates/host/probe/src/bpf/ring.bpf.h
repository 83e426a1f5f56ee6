/* SPDX-License-Identifier: GPL-2.0 */
/* The way to user space: configuration, scratch memory, ring buffer, losses. */
#ifndef ANABRANCH_RING_BPF_H
#define ANABRANCH_RING_BPF_H

#include "kernel.h"
#include "events.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/*
 * What the kernel keeps at an address. From 6.2 on a program may say what lies
 * there and read it like its own memory; before, each read is a call, which
 * costs several times as much.
 */
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

#define TYPED(pointer) ((typeof(pointer))bpf_rdonly_cast(pointer, bpf_core_type_id_kernel(typeof(*(pointer)))))
/* To negate a pointer twice leaves a number, which the verifier lets go anywhere. */
#define READ(pointer, ...)                                                                               \
	({                                                                                               \
		__u64 found = bpf_ksym_exists(bpf_rdonly_cast) ?                                         \
				      (__u64)TYPED(pointer)->READ_PATH(__VA_ARGS__) :                    \
				      (__u64)BPF_CORE_READ(pointer, __VA_ARGS__);                        \
		asm volatile("%0 = -%0\n\t%0 = -%0" : "+r"(found));                                      \
		(typeof((pointer)->READ_PATH(__VA_ARGS__)))found;                                        \
	})
#define READ_PATH_1(a) a
#define READ_PATH_2(a, b) a->b
#define READ_PATH_3(a, b, c) a->b->c
#define READ_PATH_OF(a, b, c, path, ...) path
#define READ_PATH(...) READ_PATH_OF(__VA_ARGS__, READ_PATH_3, READ_PATH_2, READ_PATH_1, )(__VA_ARGS__)

/* A kernel's pointer as a number: negated twice, the verifier takes it for one. */
static __always_inline __u64 address_of(const void *pointer)
{
	__u64 address = (__u64)pointer;

	asm volatile("%0 = -%0\n\t%0 = -%0" : "+r"(address));
	return address;
}

/*
 * What is remembered. The handover to a server of the device keeps within
 * 32 MiB with all its maps, on up to some 80 processors; a capture lives
 * shorter and affords more.
 */
#ifdef HANDOVER
#define PAGE_BUCKET_BITS 17
#define MAX_FILES 16384
#define MAX_IMAGES 512
#define MAX_WRITERS 4096
#define MAX_UNWIND_STEPS 4096
/* A server wants to know the writer at the first request. */
#define SEND_STACKS_AT_ONCE true
#else
#define PAGE_BUCKET_BITS 18
#define MAX_FILES 65536
#define MAX_IMAGES 2048
#define MAX_WRITERS 16384
#define MAX_UNWIND_STEPS 16384
#define SEND_STACKS_AT_ONCE false
#endif

/* More than a struct bio of any kernel takes. Our choice. */
#define BIO_WORDS 32

/* Read-only before the programs are loaded: the verifier leaves out the branches that its values rule out. */
const volatile struct config config SEC(".rodata.config");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} ring SEC(".maps");

/* Records that found the ring full. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

/* Too large for a BPF stack. Each program has a slot of its own. */
struct scratch {
	__u64 bio[BIO_WORDS]; /* the request at hand, as the kernel has it */
	__u64 bio_address; /* where it has it */
	__u64 places[MAX_FRAMES]; /* where the frames' addresses lay on the thread's stack */
	struct stack_event stack;
	__u64 words[SCAN_WORDS]; /* behind the stack event: the two are sent as one */
	struct file_event file;
	struct io_event io;
	__u64 placement; /* behind the request: the two are sent as one */
};

enum slot {
	SLOT_DIRTY,
	SLOT_BIO,
	SLOT_QUEUED,
#ifdef HANDOVER
	SLOT_LATE,
#endif
	SLOT_HINT,
#ifndef HANDOVER
	SLOT_RENAME,
	SLOT_PASSED,
#endif
	SLOTS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

static __always_inline struct scratch *scratch_of(__u32 slot)
{
	return bpf_map_lookup_elem(&scratch, &slot);
}

/*
 * This and other functions are not static on purpose: the verifier checks such
 * a function once, not at each place that calls it, and the programs stay
 * within what it is willing to check. Their arguments are therefore numbers or
 * memory; a kernel pointer travels as a number.
 */
__noinline __u64 wake_flag(bool urgent)
{
	/*
	 * Waking user space for each record would cost more than the record: wake it
	 * when the ring fills, or when a process may be gone before it is looked at.
	 */
	if (urgent || bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > config.wake_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

__noinline int count_lost(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&lost, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

static __always_inline bool send(void *record, __u64 bytes, bool urgent)
{
	if (bpf_ringbuf_output(&ring, record, bytes, wake_flag(urgent)) == 0)
		return true;
	count_lost();
	return false;
}

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static __always_inline bool is_same_file(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->generation == b->generation && a->dev == b->dev;
}

/* Is this the target, or a partition of it when the target is a whole disk? */
static __always_inline bool on_target(struct block_device *device)
{
	if (!device)
		return false;
	return READ(device, bd_dev) == config.device ||
	       READ(device, bd_disk, part0, bd_dev) == config.device;
}

/* File systems that are learnt, the newest: our choice. */
#define LEARNT 16

/*
 * Numbers of file systems on the target whose super blocks do not name it: they
 * may lie on several devices (btrfs), or on one that is made of the target (LVM,
 * RAID). Their first request tells them, if user space did not know them.
 */
static __u32 learnt[LEARNT];
static __u32 learnt_count;

/* A function of its own: the verifier follows its branches once, and not for each call. */
__noinline bool is_learnt(__u32 number)
{
	for (int i = 0; i < LEARNT; i++)
		if (learnt[i] == number)
			return true;
	return false;
}

static __always_inline bool is_own_number(__u32 number)
{
	/* 0 stands for a free place in `learnt`, and for a file system that user space did not find. */
	return number == config.device || (number && (number == config.file_system || is_learnt(number)));
}

static __always_inline void learn(__u32 number)
{
	if (number && !is_own_number(number))
		/* Two processors may take one place: the number that is lost is learnt again with its next request. */
		learnt[learnt_count++ & (LEARNT - 1)] = number;
}

/* The usual case, a file system right on the target, is decided by one number. */
__noinline bool holds_file_system(__u64 super_block)
{
	struct super_block *sb = (void *)super_block;

	return is_own_number(READ(sb, s_dev)) || on_target(READ(sb, s_bdev));
}

#endif
