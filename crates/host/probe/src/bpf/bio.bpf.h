/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose pages a bio carries: from page to folio, to file and to writer.
 *
 *	for each folio of each bio_vec:
 *		page cache of the block device:  the file system's own, if one holds it; else of the submitter
 *		of a file on the target:         of the folio's writer, else the file's last, else the submitter
 *		btrfs, compressed or direct:     of a submitting program, else as above by the request's file
 *		of none of these:                the file system's own if marked as metadata; else of the submitter
 *		the same writer and file as before:  the run goes on
 *		else:                                send the run, begin another
 */
#ifndef ANABRANCH_BIO_BPF_H
#define ANABRANCH_BIO_BPF_H

#include "file.bpf.h"
#include "page.bpf.h"
#include "ring.bpf.h"
#include "writer.bpf.h"
#ifdef HANDOVER
#include "window.bpf.h"
#endif

/* More steps than a bio of 4 GiB has pages of 4 KiB. */
#define MAX_STEPS (1 << 20)
#define LAST_GIB (-1UL << 30)
#define OPERATION_MASK 0xff
#define SECTOR_SHIFT 9

/* A walk over a bio's pages. Kernel pointers are kept as numbers: see ring.bpf.h. */
struct bio_walk {
	__u64 vector; /* the next bio_vec */
	__u64 folio; /* looked at last */
	__u64 mapping; /* that it lies in; what was found: */
	__u64 writer; /* the writer, */
	__u64 inode; /* the file or 0, */
	struct file_key file; /* and its key */
	__u64 submitter; /* the thread that submitted the bio */
	__u64 hidden; /* the inode that pages without a file belong to (btrfs), or 0 */
	__u64 hidden_index; /* of the first of its pages */
	__u32 done_bytes; /* of the next bio_vec */
	__u32 left_bytes; /* of the bio */
	__u32 metadata; /* 1: pages without a file belong to the file system */
	__u32 log; /* 1: to its log */
	__u32 slot; /* the program's */
	__u32 by_kernel; /* 1: the submitter is a thread of the kernel */
};

/* The pages so far that one writer wrote to one file. */
static __always_inline void send_run(struct io_event *io, __u32 slot)
{
#ifdef HANDOVER
	fill_window(io, slot);
#else
	if (io->length_bytes)
		send(io, sizeof(*io), false);
#endif
	io->offset_bytes += io->length_bytes;
	io->length_bytes = 0;
}

/* The hint of the event's file. `is_written`: by the running thread. */
static __always_inline void fill_file(struct io_event *io, struct inode *inode, __u32 slot, bool is_written)
{
	io->hint = 0;
	io->hint_granted = 0;
	if (!inode)
		return;

	struct file_state *state = state_of(inode, &io->file, slot, is_written);

	if (state)
		follow_name(inode, state, slot);
	/* What was asked for goes first: the inode keeps a granted hint alone, maybe one from before the capture. */
	if (state && state->hint) {
		io->hint = state->hint;
		io->hint_granted = state->hint_granted;
	} else {
		io->hint = granted_hint(inode);
		io->hint_granted = io->hint != 0;
	}
}

/*
 * The head of the folio a page belongs to. Bit 0 marks a tail page; the rest is
 * the head's address or, in the last GiB of the address space, where no page
 * structure lies, the mask that leads from the tail's address to the head's.
 */
static __always_inline __u64 folio_of(__u64 address)
{
	struct page *page = (void *)address;
	struct page___info *new = (void *)address;
	unsigned long head;

	if (bpf_core_field_exists(page->compound_head))
		head = READ(page, compound_head);
	else
		head = READ(new, compound_info);
	if (!(head & 1))
		return address;
	return head >= LAST_GIB ? address & head : head - 1;
}

/* Pages in a folio: 1, or what a kernel that keeps the number says. */
__noinline __u32 pages_in(__u64 folio)
{
	struct folio___nr_pages *new = (void *)folio;
	struct folio___folio_nr_pages *old = (void *)folio;

	/* IMPORTANT: first. The number lies in the second page's structure, which a folio of one page does not have. */
	if (folio_of(folio + bpf_core_type_size(struct page)) != folio)
		return 1;
	if (bpf_core_field_exists(new->_nr_pages))
		return READ(new, _nr_pages);
	if (bpf_core_field_exists(old->_folio_nr_pages))
		return READ(old, _folio_nr_pages);
	return 1;
}

/* The inode whose page cache this is, or null. */
static __always_inline struct inode *host_of(struct address_space *mapping)
{
	/* The lowest bits mark anonymous and movable pages, whose field is no address_space. */
	if (!mapping || (__u64)mapping & 3)
		return NULL;

	struct inode *inode = READ(mapping, host);

	/* Pages that never were in a page cache keep other things there: believe a mapping whose inode points back. */
	if (!inode || READ(inode, i_mapping) != mapping)
		return NULL;
	return inode;
}

/*
 * Whether a file system, or another that keeps the device for itself, writes to
 * this inode of a block device. Where nobody does, whoever opens the node does.
 * A file system on it may be one that is to be learnt.
 */
static __always_inline bool is_held(struct inode *inode)
{
	struct bdev_inode *both = NULL;

	if (!bpf_core_field_exists(both->vfs_inode))
		return true;
	both = (void *)inode - bpf_core_field_offset(both->vfs_inode);
	if (!READ(both, bdev.bd_holder))
		return false;
	learn(READ(both, bdev.bd_dev));
	return true;
}

/*
 * Whether a page's file system lies on the target: right on it, or on a device
 * that is made of it and hands the page down.
 */
static __always_inline bool lies_here(const struct bio_walk *walk, struct super_block *sb)
{
	unsigned long flags = 0;

	if (holds_file_system((__u64)sb))
		return true;
	/* A page's flags are its first word in all kernels. */
	bpf_probe_read_kernel(&flags, sizeof(flags), (void *)walk->folio);
	/*
	 * A program may also hand over a page of a file that it has mapped, of any
	 * file system: that one is not being written back.
	 */
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_writeback) & 1))
		return false;
	learn(READ(sb, s_dev));
	return true;
}

/* btrfs keeps its metadata in the page cache of an inode of its own. */
static __always_inline bool is_btrfs_metadata(const struct bio_walk *walk, struct super_block *sb)
{
	return walk->metadata && READ(sb, s_magic) == BTRFS_MAGIC;
}

/* Finds the file that `walk->mapping` is of or, where it is of none, the writer of all its pages. */
static __always_inline void find_owner(struct bio_walk *walk)
{
	struct inode *inode = host_of((void *)walk->mapping);
	struct super_block *sb = inode ? READ(inode, i_sb) : NULL;

	walk->inode = 0;
	walk->file = (struct file_key){};
	walk->writer = walk->submitter;
	/* The block device's own cache: metadata of a file system such as ext4, or whoever writes to the node. */
	if (inode && READ(sb, s_magic) == BDEVFS_MAGIC) {
		if (is_held(inode))
			walk->writer = file_system_writer(walk->log, walk->slot);
	} else if (inode && lies_here(walk, sb) && !is_btrfs_metadata(walk, sb)) {
		walk->inode = (__u64)inode;
		walk->file = key_of(inode);
	} else if (!inode && walk->hidden) {
		walk->inode = walk->hidden;
		walk->file = key_of((struct inode *)walk->hidden);
	} else if (walk->metadata) {
		walk->writer = file_system_writer(walk->log, walk->slot);
	}
}

/* The folio's writer if it is known, else its file's last. */
static __always_inline __u64 file_writer(struct bio_walk *walk, __u64 index)
{
	struct file_key key = walk->file;
	__u64 writer = page_writer(&key, index);

	if (writer)
		return writer;

	struct file_state *state = bpf_map_lookup_elem(&files, &key);

	return state && state->writer ? state->writer : walk->submitter;
}

/* The writer of pages that hide their file: who submits them, or, where that is a kernel's thread, the file's. */
static __always_inline __u64 hidden_writer(struct bio_walk *walk)
{
	return walk->by_kernel ? file_writer(walk, walk->hidden_index) : walk->submitter;
}

/* Finds the writer of `walk->folio`, and its file if it has one. Neighbours mostly lie in the same mapping. */
__noinline int find_writer(struct bio_walk *walk)
{
	if (!walk)
		return 0;

	struct folio *folio = (void *)walk->folio;
	__u64 mapping = (__u64)READ(folio, mapping);

	if (mapping != walk->mapping) {
		walk->mapping = mapping;
		find_owner(walk);
	}
	if (walk->inode && walk->inode == walk->hidden)
		walk->writer = hidden_writer(walk);
	else if (walk->inode)
		walk->writer = file_writer(walk, READ(folio, index));
	return 0;
}

__noinline int continue_run(const struct bio_walk *walk, __u32 bytes)
{
	if (!walk)
		return 0;

	struct scratch *scratch = scratch_of(walk->slot);

	if (!scratch)
		return 0;

	struct io_event *io = &scratch->io;
	bool same = io->writer == walk->writer && is_same_file(&io->file, &walk->file);

	if (!io->length_bytes || !same) {
		send_run(io, walk->slot);
		io->writer = walk->writer;
		/* Not a copy: 6.1 allows all calls of a program 512 bytes of stack together. */
		io->file = walk->file;
		fill_file(io, (void *)walk->inode, walk->slot, false);
	}
	io->length_bytes += bytes;
	return 0;
}

/* One step: what of the next bio_vec lies in one folio. */
static long step_folio(__u32 i, void *context)
{
	struct bio_walk *walk = context;
	struct bio_vec *next = (void *)walk->vector;

	if (!walk->left_bytes)
		return 1;

	struct bio_vec vector = {
		.bv_page = READ(next, bv_page),
		.bv_len = READ(next, bv_len),
		.bv_offset = READ(next, bv_offset),
	};

	/* What cannot be read is zero. */
	if (!vector.bv_len)
		return 1;

	__u64 at = (__u64)vector.bv_offset + walk->done_bytes;
	__u64 page_bytes = 1ULL << config.page_shift;
	__u64 struct_bytes = bpf_core_type_size(struct page);
	/* A bio_vec is one stretch of memory, so the structures of its pages lie in a row. */
	__u64 page = (__u64)vector.bv_page + (at >> config.page_shift) * struct_bytes;
	__u64 folio = folio_of(page);
	__u64 before = (page - folio) / struct_bytes * page_bytes + (at & (page_bytes - 1));
	__u64 bytes = page_bytes - (at & (page_bytes - 1));

	/* A folio that was split under our hands: go on page by page. */
	if (vector.bv_len - walk->done_bytes > bytes) {
		__u64 folio_bytes = pages_in(folio) * page_bytes;

		if (folio_bytes > before)
			bytes = folio_bytes - before;
	}
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

/* Bytes of a bio's first bio_vec that are done. */
static __always_inline __u32 done_bytes_of(struct bio *bio)
{
	struct bio___offset *new = (void *)bio;

	if (bpf_core_field_exists(new->bi_iter.bi_offset))
		return new->bi_iter.bi_offset;
	return bio->bi_iter.bi_bvec_done;
}

/* The kernel's request, read at once: most of what a field costs is the call that reads it. */
static __always_inline struct bio *copied_bio(const struct bio *bio, struct scratch *scratch)
{
	if (bpf_probe_read_kernel(scratch->bio, bpf_core_type_size(struct bio), bio))
		return NULL;
	scratch->bio_address = (__u64)bio;
	return (struct bio *)scratch->bio;
}

/* Ends the direct requests of file systems that use iomap. Address 0: not in this kernel. */
extern const void iomap_dio_bio_end_io __ksym __weak;

/* The file of a direct request, where the file system uses the kernel's iomap for it. */
static __always_inline struct inode *direct_inode(struct bio *bio)
{
	if (!bpf_core_field_exists(struct iomap_dio, iocb))
		return NULL;
	/* Only in a bio that this function ends is bi_private the iomap's. */
	if (!&iomap_dio_bio_end_io || bio->bi_end_io != &iomap_dio_bio_end_io)
		return NULL;

	struct iomap_dio *dio = bio->bi_private;

	return READ(dio, iocb, ki_filp, f_inode);
}

static __always_inline void set_done_bytes(struct bio *copy, __u32 bytes)
{
	struct bio___offset *new = (void *)copy;

	if (bpf_core_field_exists(new->bi_iter.bi_offset))
		new->bi_iter.bi_offset = bytes;
	else
		copy->bi_iter.bi_bvec_done = bytes;
}

static __always_inline bool runs_in_kernel(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->flags & PF_KTHREAD;
}

/* The running thread, as the one that submits a request. */
__noinline __u64 submitter(__u32 slot)
{
	struct scratch *scratch = scratch_of(slot);

	return scratch ? current_writer(scratch, slot) : 0;
}

/* Ends requests of btrfs, to one drive or to the last of several mirrors. Address 0: not in this kernel. */
extern const void btrfs_simple_end_io __ksym __weak;
extern const void btrfs_orig_write_end_io __ksym __weak;

/*
 * The file of a request of btrfs. Compressed pages lie in no page cache, nor do
 * those of a direct write.
 */
static __always_inline void find_hidden(struct bio *bio, __u64 address, struct bio_walk *walk)
{
	if (!bpf_core_field_exists(struct btrfs_bio, inode))
		return;

	bool is_one = &btrfs_simple_end_io && bio->bi_end_io == &btrfs_simple_end_io;
	bool is_last = &btrfs_orig_write_end_io && bio->bi_end_io == &btrfs_orig_write_end_io;

	/* IMPORTANT: only a bio that these end lies within a btrfs_bio. Around others is somebody else's memory. */
	if (!is_one && !is_last)
		return;

	struct btrfs_bio *both = (void *)(address - bpf_core_field_offset(struct btrfs_bio, bio));
	/* By calls: btrfs may be a module, and READ takes the types of the kernel proper alone. */
	struct btrfs_inode *inode = BPF_CORE_READ(both, inode);

	if (!inode)
		return;
	walk->hidden = (__u64)inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	walk->hidden_index = BPF_CORE_READ(both, file_offset) >> config.page_shift;
	learn(READ((struct inode *)walk->hidden, i_sb, s_dev));
}

static __always_inline void
walk_pages(struct bio *bio, __u64 submitter, bool by_kernel, struct scratch *scratch, __u32 slot)
{
	__u32 opf = bio->bi_opf;
	bool metadata = opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_META) & 1;
	/* More is to follow at once: of metadata, only jbd2 and the XFS log write so. */
	bool idle = opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_IDLE) & 1;
	struct bio_walk walk = {
		.vector = (__u64)bio->bi_io_vec + bio->bi_iter.bi_idx * sizeof(struct bio_vec),
		.mapping = -1ULL, /* no mapping's address */
		.submitter = submitter,
		.done_bytes = done_bytes_of(bio),
		.left_bytes = bio->bi_iter.bi_size,
		.metadata = metadata,
		.log = metadata && idle,
		.slot = slot,
		.by_kernel = by_kernel,
	};

	find_hidden(bio, scratch->bio_address, &walk);
	bpf_loop(MAX_STEPS, step_folio, &walk, 0);
	send_run(&scratch->io, slot);
}

#endif
