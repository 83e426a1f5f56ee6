/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel side tells user space. Every record begins with its type;
 * src/event.rs reads the same layouts, field by field. All numbers are in the
 * machine's own byte order.
 */
#ifndef ANABRANCH_EVENTS_H
#define ANABRANCH_EVENTS_H

#define MAX_FRAMES 24
#define MAX_RANGES 128
#define SCAN_WORDS 128
#define STACK_WORDS 1024 /* 8 KiB have nginx's and slapd's first four calls; 1 KiB had 0.3 of them */
#define COMM_BYTES 16
#define NAME_BYTES 256
#define DIRECTORY_BYTES 32
#define MAX_MAPPINGS 32
#define PATH_BYTES 192
#define REQUEST_HINT_NONE 255
#define MAX_SAMPLES 16
#define OPERATIONS 4

enum event_type {
	EVENT_IO = 1,
	EVENT_STACK = 2,
	EVENT_PROCESS = 3,
	EVENT_FILE = 4,
	EVENT_EARLY_STACK = 5, /* a stack event, and the stack's first SCAN_WORDS words behind it */
	EVENT_PASSED = 6, /* a request that a program passed to an NVMe drive itself, and a word behind it: 1 + its placement, 0 for none */
	EVENT_STACK_WORDS = 7, /* struct stack_words */
};

/* As anabranch_trace::Operation. */
enum operation {
	OPERATION_READ = 0,
	OPERATION_WRITE = 1,
	OPERATION_DISCARD = 2,
	OPERATION_FLUSH = 3,
};

enum writer_kind {
	WRITER_USER = 0,
	WRITER_JOURNAL = 1,
	WRITER_METADATA = 2,
	WRITER_KERNEL = 3,
};

/* One file, told apart from an earlier one that had the same inode number. */
struct file_key {
	__u64 ino;
	__u32 generation;
	__u32 dev;
};

/* One program image: a process between two calls of execve. */
struct image_key {
	__u64 image;
	__u32 tgid;
	__u32 zero; /* IMPORTANT: maps compare keys byte by byte, and padding may hold anything */
};

/* A request to the target device, or the part of it that one writer caused. */
struct io_event {
	__u32 type;
	__u8 operation;
	__u8 hint;
	__u8 hint_granted;
	__u8 request_hint; /* what the request itself carries; REQUEST_HINT_NONE: no kernel field */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 offset_bytes;
	__u64 length_bytes;
	__u64 writer; /* the hash of a stack event; 0: nobody; means nothing on a read */
	struct file_key file; /* all 0: no file */
};

/* Why a stack's words were searched for return addresses. */
enum scanned {
	SCANNED_NOT = 0,
	SCANNED_UNTIL_TOLD = 1, /* a step of the path is not known yet */
	SCANNED_FOR_GOOD = 2, /* a file on the path has no rule for it */
};

/* Who writes; sent once for each hash that was not seen lately. */
struct stack_event {
	__u32 type;
	__u8 kind; /* enum writer_kind */
	__u8 scanned; /* enum scanned: frames after the first are guesses from the stack's words */
	__u8 count; /* frames */
	__u8 known; /* the image's executable ranges were known */
	__u64 hash;
	struct image_key image;
	__u64 outside; /* the address at which the walk left known code; 0: nowhere */
	__u64 stack_pointer;
	__u64 frame_pointer;
	__u64 group; /* the number of its control group (version 2); 0: not asked for, or the file system's own write */
	char comm[COMM_BYTES];
	__u64 frames[MAX_FRAMES]; /* innermost first */
};

/*
 * A stack whose path is not known, and what lies on it: user space finds the
 * path, and answers with its steps.
 */
struct stack_words {
	struct stack_event stack;
	__u64 count; /* words */
	__u64 words[STACK_WORDS]; /* from the stack pointer on */
};

/* A part of a program's memory that it may execute. */
struct mapping {
	__u64 start;
	__u64 end;
	__u64 file_offset;
	__u64 ino; /* of the file that it is mapped from; 0: of none */
	__u32 dev;
	__u32 path_bytes; /* 0: not known */
	char path[PATH_BYTES]; /* names from the file up to its file system's root, a zero byte behind each */
};

/*
 * A program image that is new, with the code it has now where the kernel can
 * list it: the process may be gone before user space looks at it. User space
 * answers with the ranges of its code.
 */
struct process_head {
	__u32 type;
	__u32 count; /* mappings */
	struct image_key image;
	__u64 ranges; /* of code, found so far */
};

struct process_event {
	struct process_head head;
	struct mapping mappings[MAX_MAPPINGS]; /* not sent where there are none */
};

/* A file; sent when it is first seen, and when it is first seen to be written. */
struct file_event {
	__u32 type;
	__u32 generation; /* 1 + its generation; 0: no write was seen yet */
	struct file_key file;
	char name[NAME_BYTES]; /* ends with a zero byte */
	char directory[DIRECTORY_BYTES]; /* the one below the root that it lies in; likewise */
};

/* Where a program image has code: sorted, disjoint; unused slots hold all ones. */
struct ranges {
	__u64 count; /* 0: asked for, not known yet */
	__u64 start[MAX_RANGES];
	__u64 end[MAX_RANGES];
};

/*
 * The step from a place in code to its caller (src/unwinding.rs): bytes from
 * the pointer that it goes by to where the caller's stack begins, below which
 * lies the return address; in 16 bits above these, how far below that the
 * caller's frame pointer was saved, 0 if it was not; and above 48 the kind.
 */
enum step_kind {
	STEP_BY_STACK_POINTER = 1,
	STEP_BY_FRAME_POINTER = 2,
	STEP_LAST = 3, /* nobody called */
	STEP_UNKNOWN = 4, /* the file has no rule */
};

/*
 * Where the thread stands, in place of a return address: another rule may hold
 * there. No address of a program has this bit.
 */
#define STANDS_HERE (1ULL << 63)

struct step {
	__u64 address;
	__u64 step;
};

/* What user space answers. */
struct reply {
	__u64 forgotten; /* the hash of a writer that is to be sent again; 0: none */
	__u64 has_ranges;
	struct image_key image;
	struct ranges ranges;
	__u64 count; /* steps */
	struct step steps[MAX_FRAMES];
};

/*
 * The samples of the device's pages that user space wants to be told of, and
 * what was left out for that: shared memory, src/sampling.rs.
 */
struct sampling {
	__u64 shape; /* samples, at most MAX_SAMPLES, and above bit 32 the halvings of their rate; 0: all is told */
	__u64 page_bytes;
	__u64 hashes[MAX_SAMPLES];
	__u64 requests[OPERATIONS]; /* left out */
	__u64 bytes[OPERATIONS];
};

/* What user space decides before the programs are loaded. */
struct config {
	__u32 device; /* kernel dev_t: major << 20 | minor */
	__u32 page_shift;
	__u32 reads; /* 1: report reads too */
	__u32 queued_flag; /* in a bio's flags: block_bio_queue has fired for it */
	__u64 wake_bytes; /* wake user space when this much waits in the ring */
	__u32 groups; /* 1: writers of different control groups are different writers */
	__u32 is_late; /* 1: the tracepoint's programs take what the kprobe's was skipped on */
	__u32 generations; /* 1: what a thread reads tells the generation of the files it begins */
	__u32 file_system; /* on the device, of a number of its own (btrfs): as s_dev; 0: none is known yet */
};

#endif
