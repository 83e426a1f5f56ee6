// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel side of the probe: who makes pages dirty, and which requests then
 * reach the device. BTF tracepoints are used, and a kprobe where there is one.
 */
#include "above.bpf.h"
#include "bio.bpf.h"
#include "file.bpf.h"
#include "reader.bpf.h"
#include "ring.bpf.h"
#ifndef HANDOVER
#include "passed.bpf.h"
#include "sample.bpf.h"
#endif
#include "writer.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* From include/uapi/linux/fcntl.h. */
#define F_SET_RW_HINT 1036
#define F_SET_FILE_RW_HINT 1038
#define MAX_HINT 5

static __always_inline struct inode *inode_of_descriptor(__u32 descriptor)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = READ(task, files, fdt);
	struct file **slots = READ(table, fd);
	struct file *file = NULL;

	if (descriptor >= READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), slots + descriptor);
	return file ? READ(file, f_inode) : NULL;
}

/* The way out of fcntl knows both what was asked and what came of it. */
static __always_inline int take_hint(const struct pt_regs *regs, long result)
{
	__u32 command = SYSCALL_ARGUMENT_2(regs);
	__u32 hint = 0;

	if (command != F_SET_RW_HINT && command != F_SET_FILE_RW_HINT)
		return 0;

	struct inode *inode = inode_of_descriptor(SYSCALL_ARGUMENT_1(regs));

	if (!inode || !holds_file_system((__u64)READ(inode, i_sb)))
		return 0;
	/*
	 * Four bytes of eight: some programs pass an enumeration of four. The kernel
	 * refuses the garbage behind it, but what was meant is in the low half.
	 */
	if (bpf_probe_read_user(&hint, sizeof(hint), (const void *)(unsigned long)SYSCALL_ARGUMENT_3(regs)))
		return 0;

	if (hint > MAX_HINT)
		return 0;

	struct file_key key = key_of(inode);
	struct file_state *state = state_of(inode, &key, SLOT_HINT, false);

	if (state) {
		state->hint = hint;
		state->hint_granted = result == 0;
	}
	return 0;
}

/* Programs are loaded in this order: where the kernel refuses this one, it is before it has looked at the others. */
SEC("fexit/" FCNTL_FUNCTION)
int BPF_PROG(on_fcntl, const struct pt_regs *regs, long result)
{
	return take_hint(regs, result);
}

#ifndef HANDOVER
/*
 * A file that is renamed and not written to again has its next name for readers
 * of the trace; placement goes by the one that it is written under.
 */
SEC("fexit/vfs_rename")
int BPF_PROG(on_rename, struct renamedata *renamed, int result)
{
	struct inode *inode = READ(renamed, old_dentry, d_inode);

	if (result || !inode)
		return 0;

	struct file_key key = key_of(inode);
	struct file_state *state = bpf_map_lookup_elem(&files, &key);

	if (state)
		follow_name(inode, state, SLOT_RENAME);
	return 0;
}
#endif

/* As `on_target`, for a device that may be read without a call. */
static __always_inline bool lies_on_target(struct block_device *device)
{
	return device && (device->bd_dev == config.device || device->bd_disk->part0->bd_dev == config.device);
}

/* Is a file in this page cache the target's? What is reached from what a tracepoint is handed is read without a call. */
static __always_inline bool holds_mapping(struct address_space *mapping)
{
	struct super_block *sb = mapping->host->i_sb;

	return is_own_number(sb->s_dev) || lies_on_target(sb->s_bdev);
}

static __always_inline struct file_key key_of_mapping(struct address_space *mapping)
{
	struct inode *inode = mapping->host;

	return (struct file_key){ .ino = inode->i_ino, .generation = inode->i_generation, .dev = inode->i_sb->s_dev };
}

SEC("kprobe/folio_redirty_for_writepage")
int on_redirty(struct pt_regs *regs)
{
	return note_redirtied(FUNCTION_ARGUMENT_2(regs));
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_dirty_folio, struct folio *folio, struct address_space *mapping)
{
	/*
	 * This runs for each page that is made dirty on the machine. A block
	 * device's own pages are on no file system of a device.
	 */
	if (!mapping || !holds_mapping(mapping) || is_redirtied(address_of(folio)))
		return 0;

	struct scratch *scratch = scratch_of(SLOT_DIRTY);

	if (!scratch)
		return 0;

	struct file_key key = key_of_mapping(mapping);
	__u64 writer = dirtying_writer(scratch, SLOT_DIRTY);
	struct file_state *state = bpf_map_lookup_elem(&files, &key);

	if (!state || !state->generation)
		state = state_of(READ(mapping, host), &key, SLOT_DIRTY, true);
	note_page(&key, folio->index, writer);
	if (state)
		state->writer = writer;
	return 0;
}

static __always_inline int take_read(struct address_space *mapping, __u32 pages)
{
	if (mapping && holds_mapping(mapping)) {
		struct file_key key = key_of_mapping(mapping);

		note_read(&key, pages);
	}
	return 0;
}

/* Pages are read, from the page cache or into it. */
SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(on_read_pages, struct address_space *mapping, unsigned long first, unsigned long last)
{
	return take_read(mapping, last - first + 1);
}

/* A page of a file that is mapped is touched. */
SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(on_map_pages, struct address_space *mapping)
{
	return take_read(mapping, FAULT_PAGES);
}

static __always_inline void send_whole(struct bio *bio, __u64 writer, struct inode *inode, struct io_event *io, __u32 slot)
{
	io->file = (struct file_key){};
	if (inode)
		io->file = key_of(inode);
	fill_file(io, inode, slot, io->operation == OPERATION_WRITE);
	io->writer = writer;
	io->length_bytes = bio->bi_iter.bi_size;
	send_run(io, slot);
}

/* A direct read is seen as it is submitted. */
static __always_inline void note_direct_read(struct bio *bio)
{
	struct inode *inode = direct_inode(bio);

	if (inode) {
		struct file_key key = key_of(inode);

		note_read(&key, bio->bi_iter.bi_size >> config.page_shift);
	}
}

#ifndef HANDOVER
/* A direct write that is not told may begin a file, too. */
static __always_inline void note_begun(struct bio *bio, __u32 slot)
{
	struct inode *inode = direct_inode(bio);

	if (inode && !READ(inode, i_size)) {
		struct file_key key = key_of(inode);

		state_of(inode, &key, slot, true);
	}
}
#endif

static __always_inline void on_write(struct bio *bio, struct scratch *scratch, __u32 slot)
{
	struct upper upper = {};

	if (!find_origin(scratch, &upper) || !stand_in(scratch, &upper)) {
		upper.writer = submitter(slot);
		upper.by_kernel = runs_in_kernel();
	}

	struct inode *inode = direct_inode(bio);

	/* A direct write of the kernel's own hands on the pages of others, as a loop device's does. */
	if (inode && !upper.by_kernel)
		send_whole(bio, upper.writer, inode, &scratch->io, slot);
	else
		walk_pages(bio, upper.writer, upper.by_kernel, scratch, slot);
}

/* A read has no writer, but a file. */
static __always_inline void on_read(struct bio *bio, struct scratch *scratch, __u32 slot)
{
	struct inode *inode = direct_inode(bio);

	if (inode)
		send_whole(bio, 0, inode, &scratch->io, slot);
	else
		walk_pages(bio, 0, true, scratch, slot);
}

static __always_inline void on_flush(struct scratch *scratch)
{
	struct io_event *io = &scratch->io;

	io->offset_bytes = 0;
	io->writer = 0;
	io->hint = 0;
	io->hint_granted = 0;
	io->file = (struct file_key){};
#ifndef HANDOVER
	send(io, sizeof(*io), false);
#endif
}

/* The hint that goes to the device with a request. */
static __always_inline __u8 request_hint(struct bio *bio)
{
	struct bio___hint *hinted = (void *)bio;

	if (bpf_core_field_exists(hinted->bi_write_hint) && bpf_core_field_size(hinted->bi_write_hint) == 1)
		return *(__u8 *)&hinted->bi_write_hint;
	return REQUEST_HINT_NONE;
}

static __always_inline void begin_event(struct bio *bio, __u8 operation, struct io_event *io, bool is_own)
{
	struct block_device *device = bio->bi_bdev;
	__u64 sector = bio->bi_iter.bi_sector;

	/* Requests to a partition are already counted from the disk's start here. */
	if (is_own)
		sector -= READ(device, bd_start_sect);
	io->type = EVENT_IO;
	io->operation = operation;
#ifndef HANDOVER
	io->time_ns = bpf_ktime_get_ns();
#endif
	io->offset_bytes = sector << SECTOR_SHIFT;
	io->length_bytes = 0;
	io->request_hint = request_hint(bio);
}

/* A discard in all but name: zeroes that may be had by unmapping. */
static __always_inline bool is_discard(__u32 opf)
{
	__u32 code = opf & OPERATION_MASK;

	if (code == REQ_OP_WRITE_ZEROES)
		return !(opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_NOUNMAP) & 1);
	return code == REQ_OP_DISCARD || code == REQ_OP_SECURE_ERASE;
}

/* What is asked for; OPERATIONS: nothing that is told. */
static __always_inline __u32 operation_of(__u32 opf, __u32 size)
{
	__u32 code = opf & OPERATION_MASK;

	if (is_discard(opf))
		return OPERATION_DISCARD;
	if (code == REQ_OP_WRITE_ZEROES)
		return OPERATION_WRITE;
	/* Above the request queues a flush is a write of nothing, with REQ_PREFLUSH. */
	if (code == REQ_OP_WRITE)
		return size ? OPERATION_WRITE : OPERATION_FLUSH;
	return code == REQ_OP_READ && config.reads ? OPERATION_READ : OPERATIONS;
}

/* The request in the scratch memory; `is_own`: it was sent to the target itself, not to a partition of it. */
__noinline int take_bio(__u32 slot, bool is_own)
{
	struct scratch *scratch = scratch_of(slot);

	if (!scratch)
		return 0;

	struct bio *bio = (struct bio *)scratch->bio;
	__u32 opf = bio->bi_opf;
	__u32 size = bio->bi_iter.bi_size;
	__u32 operation = operation_of(opf, size);

	/* Where reads are not reported, too: they decide the generation of the file that the thread begins next. */
	if (config.generations && (opf & OPERATION_MASK) == REQ_OP_READ)
		note_direct_read(bio);
	if (operation == OPERATIONS)
		return 0;
	begin_event(bio, operation, &scratch->io, is_own);
#ifndef HANDOVER
	if (is_left_out(operation, scratch->io.offset_bytes, size)) {
		if (config.generations && operation == OPERATION_WRITE)
			note_begun(bio, slot);
		return 0;
	}
#endif
	if (operation == OPERATION_FLUSH)
		on_flush(scratch);
	else if (operation == OPERATION_READ)
		on_read(bio, scratch, slot);
	else if ((opf & OPERATION_MASK) == REQ_OP_WRITE)
		on_write(bio, scratch, slot);
	else
		send_whole(bio, submitter(slot), NULL, &scratch->io, slot);
	return 0;
}

/*
 * A request is taken by the function that fires block_bio_queue, where that
 * can be probed: from 7.0 on the kernel runs a tracepoint's programs
 * preemptibly, and skips one that another thread is still in on the same
 * processor. (bpf_preempt_disable does not help: the thread is preempted where
 * the program gives the processor free again.) A kprobe's runs to its end, but
 * is skipped where a thread was preempted within a call of its own on an eBPF
 * map, of whatever program. The handover therefore has more than one: what the
 * kprobe was skipped on, a program at the tracepoint takes, and what that was
 * skipped on too, a second program at the tracepoint.
 */
#ifdef HANDOVER
/* The bio that was taken last on this processor, until the last program has seen it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} taken SEC(".maps");

static __always_inline void note_taken(__u64 bio)
{
	__u32 zero = 0;
	__u64 *last = bpf_map_lookup_elem(&taken, &zero);

	if (last)
		*last = bio;
}

/* Has a program before this one taken the bio? Notes that this one does. */
static __always_inline bool was_taken(struct bio *bio, __u32 slot)
{
	__u32 zero = 0;
	__u64 *last = bpf_map_lookup_elem(&taken, &zero);
	bool was = last && *last == (__u64)bio;

	if (!was)
		count_late();
	/* The next request may lie where this one does. */
	if (last)
		*last = slot == SLOT_LATE ? 0 : (__u64)bio;
	return was;
}
#endif

static __always_inline int on_queued(struct bio *bio, __u32 slot)
{
	/* What a tracepoint is handed may be read without a call. */
	bool is_own = bio->bi_bdev->bd_dev == config.device;

	bool is_here = is_own || lies_on_target(bio->bi_bdev);
	__u32 number = is_here || !met_above ? 0 : bio->bi_bdev->bd_disk->part0->bd_dev;

	if (!is_here && !is_above(number))
		return 0;
#ifdef HANDOVER
	if (config.is_late && was_taken(bio, slot))
		return 0;
#endif
	struct scratch *scratch = scratch_of(slot);
	struct bio *copy = scratch ? copied_bio(bio, scratch) : NULL;

	if (!copy)
		return 0;
	return is_here ? take_bio(slot, is_own) : note_above(number, slot);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio, struct bio *bio)
{
	return on_queued(bio, SLOT_QUEUED);
}

#ifdef HANDOVER
SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_late, struct bio *bio)
{
	return on_queued(bio, SLOT_LATE);
}
#endif

SEC("kprobe/submit_bio_noacct_nocheck")
int on_bio_entry(struct pt_regs *regs)
{
	struct bio *kernels = (void *)FUNCTION_ARGUMENT_1(regs);
	struct scratch *scratch = scratch_of(SLOT_BIO);
	struct bio *bio = scratch ? copied_bio(kernels, scratch) : NULL;

	if (!bio)
		return 0;

	struct block_device *device = bio->bi_bdev;
	bool is_own = READ(device, bd_dev) == config.device;
	bool is_here = is_own || on_target(device);
	/* What is left of a bio after a split comes here again: block_bio_queue has fired for it. */
	bool is_left = bio->bi_flags & config.queued_flag;
	__u32 number = is_here || !met_above ? 0 : disk_number(device);

	/* Of a device above, what is left is remapped by itself. */
	if (is_here ? is_left : !is_above(number))
		return 0;
#ifdef HANDOVER
	if (!is_left)
		note_taken((__u64)kernels);
#endif
	return is_here ? take_bio(SLOT_BIO, is_own) : note_above(number, SLOT_BIO);
}

/* A device made of others sends a request below, which stands for its own sectors from `from` on. */
SEC("tp_btf/block_bio_remap")
int BPF_PROG(on_remap, struct bio *bio, __u32 number, __u64 from)
{
	struct block_device *below = bio->bi_bdev;

	/* The disk of a partition, of which `number` is. */
	if (!below || below->bd_dev == number)
		return 0;

	__u32 disk = below->bd_disk->part0->bd_dev;

	if (!lies_on_target(below) && !is_above(disk))
		return 0;
	if (!is_above(number)) {
		*place_above(number) = (struct device_above){ .number = number };
		met_above++;
	}
	if ((bio->bi_opf & OPERATION_MASK) != REQ_OP_WRITE || !bio->bi_iter.bi_size)
		return 0;

	/* Of a partition: when it is submitted, its sector is the disk's. */
	__u64 sector = bio->bi_iter.bi_sector + below->bd_start_sect;

	return pass_on(hash_of_request(address_of(bio), disk, sector), number, from, bio->bi_iter.bi_size);
}

/*
 * Where a function's way out cannot be watched, that of all system calls is:
 * they all take the kernel's slow way then, other programs' too.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_syscall_exit, struct pt_regs *regs, long result)
{
	__u64 number = SYSCALL_NUMBER(regs);

	if (number == FCNTL)
		return take_hint(regs, result);
#ifndef HANDOVER
	if (IS_RENAME(number) && !result) {
		for (__u32 place = 0; place < RECENT_FILES; place++)
			follow_recent(place);
	}
#endif
	return 0;
}

#ifndef HANDOVER
/* The number of the namespace that a path leads to: of a drive that may have several, a path's own disk is hidden. */
static __always_inline __u32 behind_path(struct request_queue *queue)
{
	struct nvme_ns *path = queue->queuedata;

	if (!bpf_core_field_exists(struct nvme_ns_head, disk) || !bpf_core_field_exists(struct nvme_ns, head))
		return 0;
	/* By calls: NVMe may be a module, and READ takes the types of the kernel proper alone. */
	return BPF_CORE_READ(path, head, disk, part0, bd_dev);
}

/* Is this a command that a program passes to the target? What is read of each request is read without a call. */
static __always_inline bool is_passed(struct request *request)
{
	__u32 code = request->cmd_flags & OPERATION_MASK;
	struct request_queue *queue = request->q;

	if (code != REQ_OP_DRV_OUT && code != REQ_OP_DRV_IN)
		return false;
	return queue->disk->part0->bd_dev == config.device || behind_path(queue) == config.device;
}

static __always_inline int on_passed(struct request *request)
{
	return is_passed(request) ? take_passed(address_of(request), request->q->limits.logical_block_size) : 0;
}

/* Where a command enters, in who passes it: by io_uring. These are loaded for NVMe drives alone. */
SEC("fentry/blk_execute_rq_nowait")
int BPF_PROG(on_pass, struct request *request)
{
	return on_passed(request);
}

/* By a call that waits (ioctl). */
SEC("fentry/blk_execute_rq")
int BPF_PROG(on_pass_and_wait, struct request *request)
{
	return on_passed(request);
}

/* Where the entry of functions cannot be watched: it runs for each request of the machine, in who issues it. */
SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *request)
{
	return on_passed(request);
}
#endif

/*
 * Before a process lets go of its memory, the last look at where it has code,
 * if nobody has found out yet. (Before 6.16 it has none left here.)
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct image_key image = image_of(bpf_get_current_task_btf());
	struct ranges *ranges = image.tgid ? bpf_map_lookup_elem(&images, &image) : NULL;

	if (ranges && !ranges->count)
		tell_process();
	return 0;
}

/*
 * User space has this run for what it has written into `reply`. With a call
 * about a map it would have kprobes skipped while its thread is in it.
 */
SEC("syscall")
int on_reply(void *context)
{
	__u32 zero = 0;
	struct reply *told = bpf_map_lookup_elem(&reply, &zero);

	if (!told)
		return 0;
	/* A writer that is not there any more is forgotten already. */
	if (told->forgotten) {
		__u64 *count = forgotten_writers();

		/*
		 * IMPORTANT: deleted before it is counted. `recall` looks a writer up
		 * once for each count: counted first, the writer could still be found,
		 * and would not be looked up, and sent, again.
		 */
		bpf_map_delete_elem(&writers, &told->forgotten);
		if (count)
			__sync_fetch_and_add(count, 1);
	}
	for (__u32 i = 0; i < MAX_FRAMES && i < told->count; i++) {
		struct step_key key = { .image = told->image, .address = told->steps[i].address };

		bpf_map_update_elem(&steps, &key, &told->steps[i].step, BPF_ANY);
	}
	if (told->has_ranges)
		return bpf_map_update_elem(&images, &told->image, &told->ranges, BPF_ANY);
	return 0;
}
