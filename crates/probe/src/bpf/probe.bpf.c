// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel side of the probe: who makes pages dirty, and which requests then
 * reach the device. Only BTF tracepoints are used.
 */
#include "kernel.h"
#include "events.h"
#include "file.bpf.h"
#include "ring.bpf.h"
#include "writer.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* From include/uapi/linux/fcntl.h. */
#define F_SET_RW_HINT 1036
#define F_SET_FILE_RW_HINT 1038
#define MAX_HINT 5

#define OPERATION_MASK 0xff
#define SECTOR_SHIFT 9
/* More steps than a bio of 4 GiB has pages of 4 KiB. */
#define MAX_STEPS (1 << 20)

/* Ends the direct requests of file systems that use iomap. Address 0: not in this kernel. */
extern const void iomap_dio_bio_end_io __ksym __weak;

struct page_key {
	struct file_key file;
	__u64 index;
};

/* The writer that made a folio dirty, by the folio's first page. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 262144);
	__type(key, struct page_key);
	__type(value, __u64);
} pages SEC(".maps");

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_dirty_folio, struct folio *folio, struct address_space *mapping)
{
	if (!mapping)
		return 0;

	struct inode *inode = BPF_CORE_READ(mapping, host);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);

	if (!holds_file_system((__u64)sb) || BPF_CORE_READ(sb, s_magic) == BDEVFS_MAGIC)
		return 0;

	struct scratch *scratch = scratch_of(SLOT_DIRTY);

	if (!scratch)
		return 0;

	struct page_key key = { .file = key_of(inode), .index = folio->index };
	__u64 writer = dirtying_writer(ctx, scratch);
	struct file_state *state = state_of(inode, &key.file, SLOT_DIRTY);

	bpf_map_update_elem(&pages, &key, &writer, BPF_ANY);
	if (state)
		state->writer = writer;
	return 0;
}

/* A walk over a bio's pages. Kernel pointers are kept as numbers: see ring.bpf.h. */
struct bio_walk {
	__u64 vector; /* the next bio_vec */
	__u64 folio; /* looked at last */
	__u64 writer; /* and what was found: writer, */
	__u64 inode; /* file, */
	struct file_key file; /* and its key */
	__u64 submitter; /* the thread that submitted the bio */
	__u32 done_bytes; /* of the next bio_vec */
	__u32 left_bytes; /* of the bio */
	__u32 metadata; /* 1: pages without a file belong to the file system */
	__u32 log; /* 1: to its log */
};

/* The pages so far that one writer wrote to one file. */
static __always_inline void send_run(struct io_event *io)
{
	if (io->length_bytes)
		send(io, sizeof(*io), false);
	io->offset_bytes += io->length_bytes;
	io->length_bytes = 0;
}

static __always_inline void fill_file(struct io_event *io, struct inode *inode, const struct file_key *key)
{
	io->file = *key;
	io->hint = 0;
	io->hint_granted = 0;
	if (!inode)
		return;

	struct file_state *state = state_of(inode, key, SLOT_BIO);

	if (state && state->hint) {
		io->hint = state->hint;
		io->hint_granted = state->hint_granted;
	} else {
		io->hint = granted_hint(inode);
		io->hint_granted = io->hint != 0;
	}
}

static __always_inline __u64 folio_of(struct page *page)
{
	unsigned long head = BPF_CORE_READ(page, compound_head);

	return head & 1 ? head - 1 : (__u64)page;
}

/* Pages in a folio: 1, or what a kernel that keeps the number says. */
__noinline __u32 pages_in(__u64 folio)
{
	struct page *second = (void *)folio + bpf_core_type_size(struct page);
	struct folio___nr_pages *new = (void *)folio;
	struct folio___folio_nr_pages *old = (void *)folio;

	if (BPF_CORE_READ(second, compound_head) != (folio | 1))
		return 1;
	if (bpf_core_field_exists(new->_nr_pages))
		return BPF_CORE_READ(new, _nr_pages);
	if (bpf_core_field_exists(old->_folio_nr_pages))
		return BPF_CORE_READ(old, _folio_nr_pages);
	return 1;
}

/*
 * The inode whose page cache a folio lies in, or null. Pages that never were
 * in a page cache keep other things in this field: believe only a mapping
 * whose inode points back at it.
 */
static __always_inline struct inode *host_of(struct folio *folio)
{
	struct address_space *mapping = BPF_CORE_READ(folio, mapping);

	if (!mapping || (__u64)mapping & 3)
		return NULL;

	struct inode *inode = BPF_CORE_READ(mapping, host);

	if (!inode || BPF_CORE_READ(inode, i_mapping) != mapping)
		return NULL;
	return inode;
}

/* The folio's writer if it is known, else its file's last. */
static __always_inline void find_file_writer(struct bio_walk *walk, struct folio *folio)
{
	struct page_key key = { .file = walk->file, .index = BPF_CORE_READ(folio, index) };
	__u64 *writer = bpf_map_lookup_elem(&pages, &key);
	struct file_state *state = bpf_map_lookup_elem(&files, &key.file);

	if (writer)
		walk->writer = *writer;
	else if (state && state->writer)
		walk->writer = state->writer;
}

/* Finds the writer of `walk->folio`, and its file if it has one. */
__noinline int find_writer(struct bio_walk *walk)
{
	if (!walk)
		return 0;

	struct folio *folio = (void *)walk->folio;
	struct inode *inode = host_of(folio);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);

	walk->inode = 0;
	walk->file = (struct file_key){};
	walk->writer = walk->submitter;
	if (inode && BPF_CORE_READ(sb, s_magic) == BDEVFS_MAGIC) {
		walk->writer = file_system_writer(walk->log);
	} else if (inode && holds_file_system((__u64)sb)) {
		walk->inode = (__u64)inode;
		walk->file = key_of(inode);
		find_file_writer(walk, folio);
	} else if (walk->metadata) {
		walk->writer = file_system_writer(walk->log);
	}
	return 0;
}

__noinline int continue_run(const struct bio_walk *walk, __u32 bytes)
{
	struct scratch *scratch = scratch_of(SLOT_BIO);

	if (!scratch || !walk)
		return 0;

	struct io_event *io = &scratch->io;
	bool same = io->writer == walk->writer && io->file.ino == walk->file.ino &&
		    io->file.generation == walk->file.generation;

	if (!io->length_bytes || !same) {
		struct file_key key = walk->file;

		send_run(io);
		io->writer = walk->writer;
		fill_file(io, (void *)walk->inode, &key);
	}
	io->length_bytes += bytes;
	return 0;
}

/* One step: what of the next bio_vec lies in one folio. */
static long step_folio(__u32 i, void *context)
{
	struct bio_walk *walk = context;
	struct bio_vec vector;

	if (!walk->left_bytes || bpf_probe_read_kernel(&vector, sizeof(vector), (void *)walk->vector))
		return 1;

	__u64 at = (__u64)vector.bv_offset + walk->done_bytes;
	__u64 page_bytes = 1ULL << config.page_shift;
	__u64 struct_bytes = bpf_core_type_size(struct page);
	__u64 page = (__u64)vector.bv_page + (at >> config.page_shift) * struct_bytes;
	__u64 folio = folio_of((void *)page);
	__u64 before = (page - folio) / struct_bytes * page_bytes + (at & (page_bytes - 1));
	__u64 bytes = pages_in(folio) * page_bytes;

	/* A folio that was split under our hands: go on page by page. */
	bytes = bytes > before ? bytes - before : page_bytes - (at & (page_bytes - 1));
	if (bytes > vector.bv_len - walk->done_bytes)
		bytes = vector.bv_len - walk->done_bytes;
	if (bytes > walk->left_bytes)
		bytes = walk->left_bytes;
	if (folio != walk->folio) {
		walk->folio = folio;
		find_writer(walk);
	}
	continue_run(walk, bytes);

	walk->left_bytes -= bytes;
	walk->done_bytes += bytes;
	if (walk->done_bytes >= vector.bv_len) {
		walk->vector += sizeof(vector);
		walk->done_bytes = 0;
	}
	return 0;
}

static __always_inline void walk_pages(struct bio *bio, __u64 submitter, struct io_event *io)
{
	bool metadata = bio->bi_opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_META) & 1;
	/* More is to follow at once: of metadata, only jbd2 and the XFS log write so. */
	bool idle = bio->bi_opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_IDLE) & 1;
	struct bio_walk walk = {
		.vector = (__u64)bio->bi_io_vec + bio->bi_iter.bi_idx * sizeof(struct bio_vec),
		.submitter = submitter,
		.done_bytes = bio->bi_iter.bi_bvec_done,
		.left_bytes = bio->bi_iter.bi_size,
		.metadata = metadata,
		.log = metadata && idle,
	};

	bpf_loop(MAX_STEPS, step_folio, &walk, 0);
	send_run(io);
}

/* The file of a direct write, where the file system uses the kernel's iomap for it. */
static __always_inline struct inode *direct_inode(struct bio *bio)
{
	if (!bpf_core_field_exists(struct iomap_dio, iocb))
		return NULL;
	if (!&iomap_dio_bio_end_io || bio->bi_end_io != &iomap_dio_bio_end_io)
		return NULL;

	struct iomap_dio *dio = bio->bi_private;

	return BPF_CORE_READ(dio, iocb, ki_filp, f_inode);
}

static __always_inline void send_whole(struct bio *bio, __u64 writer, struct inode *inode, struct io_event *io)
{
	struct file_key key = {};

	if (inode)
		key = key_of(inode);
	fill_file(io, inode, &key);
	io->writer = writer;
	io->length_bytes = bio->bi_iter.bi_size;
	send_run(io);
}

static __always_inline void on_write(void *ctx, struct bio *bio, struct scratch *scratch)
{
	__u64 submitter = current_writer(ctx, scratch);
	struct inode *inode = direct_inode(bio);

	if (inode)
		send_whole(bio, submitter, inode, &scratch->io);
	else
		walk_pages(bio, submitter, &scratch->io);
}

/* A read has no writer, but a file. */
static __always_inline void on_read(struct bio *bio, struct scratch *scratch)
{
	struct inode *inode = direct_inode(bio);

	if (inode)
		send_whole(bio, 0, inode, &scratch->io);
	else
		walk_pages(bio, 0, &scratch->io);
}

static __always_inline void on_flush(struct scratch *scratch)
{
	struct io_event *io = &scratch->io;

	io->operation = OPERATION_FLUSH;
	io->offset_bytes = 0;
	io->writer = 0;
	io->hint = 0;
	io->hint_granted = 0;
	io->file = (struct file_key){};
	send(io, sizeof(*io), false);
}

static __always_inline void begin_event(struct bio *bio, __u8 operation, struct scratch *scratch)
{
	struct block_device *device = bio->bi_bdev;
	struct io_event *io = &scratch->io;
	__u64 sector = bio->bi_iter.bi_sector;

	/* Requests to a partition are already counted from the disk's start here. */
	if (device->bd_dev == config.device)
		sector -= device->bd_start_sect;
	io->type = EVENT_IO;
	io->operation = operation;
	io->time_ns = bpf_ktime_get_ns();
	io->offset_bytes = sector << SECTOR_SHIFT;
	io->length_bytes = 0;
}

/* A discard in all but name: zeroes that may be had by unmapping. */
static __always_inline bool is_discard(__u32 opf)
{
	__u32 code = opf & OPERATION_MASK;

	if (code == REQ_OP_WRITE_ZEROES)
		return !(opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_NOUNMAP) & 1);
	return code == REQ_OP_DISCARD || code == REQ_OP_SECURE_ERASE;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio, struct bio *bio)
{
	if (!on_target(bio->bi_bdev))
		return 0;

	struct scratch *scratch = scratch_of(SLOT_BIO);
	__u32 opf = bio->bi_opf;
	__u32 code = opf & OPERATION_MASK;

	if (!scratch)
		return 0;
	begin_event(bio, OPERATION_WRITE, scratch);
	if (is_discard(opf)) {
		scratch->io.operation = OPERATION_DISCARD;
		send_whole(bio, current_writer(ctx, scratch), NULL, &scratch->io);
	} else if (code == REQ_OP_WRITE_ZEROES) {
		send_whole(bio, current_writer(ctx, scratch), NULL, &scratch->io);
	} else if (code == REQ_OP_WRITE && bio->bi_iter.bi_size) {
		on_write(ctx, bio, scratch);
	} else if (code == REQ_OP_WRITE) {
		on_flush(scratch);
	} else if (code == REQ_OP_READ && config.reads) {
		scratch->io.operation = OPERATION_READ;
		on_read(bio, scratch);
	}
	return 0;
}

static __always_inline struct inode *inode_of_descriptor(__u32 descriptor)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **slots = BPF_CORE_READ(table, fd);
	struct file *file = NULL;

	if (descriptor >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), slots + descriptor);
	return file ? BPF_CORE_READ(file, f_inode) : NULL;
}

/*
 * The way out of a system call knows both what was asked and what came of it.
 * Some programs pass an enumeration of four bytes where the kernel reads eight:
 * it refuses the garbage behind it, but what was meant is in the low half.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_syscall_exit, struct pt_regs *regs, long result)
{
	if (SYSCALL_NUMBER(regs) != FCNTL)
		return 0;

	__u32 command = SYSCALL_ARGUMENT_2(regs);
	__u32 hint = 0;

	if (command != F_SET_RW_HINT && command != F_SET_FILE_RW_HINT)
		return 0;

	struct inode *inode = inode_of_descriptor(SYSCALL_ARGUMENT_1(regs));

	if (!inode || !holds_file_system((__u64)BPF_CORE_READ(inode, i_sb)))
		return 0;
	if (bpf_probe_read_user(&hint, sizeof(hint), (const void *)(unsigned long)SYSCALL_ARGUMENT_3(regs)))
		return 0;

	if (hint > MAX_HINT)
		return 0;

	struct file_key key = key_of(inode);
	struct file_state *state = state_of(inode, &key, SLOT_HINT);

	if (state) {
		state->hint = hint;
		state->hint_granted = result == 0;
	}
	return 0;
}
