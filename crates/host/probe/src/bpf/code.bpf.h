/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where programs have code. The kernel lists a process's memory from 6.7 on;
 * before, user space reads it in /proc, if the process is still there.
 */
#ifndef ANABRANCH_CODE_BPF_H
#define ANABRANCH_CODE_BPF_H

#include "ring.bpf.h"

/* Names of a path that are followed at most, and bytes of one: our choice. */
#define MAX_NAMES 16
#define PATH_NAME_BYTES 64

/* Filled here or, where that cannot be, by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_IMAGES);
	__type(key, struct image_key);
	__type(value, struct ranges);
} images SEC(".maps");

#define NO_ADDRESSES { [0 ... MAX_RANGES - 1] = ~0ULL }

static const struct ranges unknown_ranges = { .start = NO_ADDRESSES, .end = NO_ADDRESSES };

struct bpf_iter_task_vma {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task, __u64 address) __ksym __weak;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __ksym __weak;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __ksym __weak;

/* The file that a mapping is of; `address` is the kernel's struct file. */
__noinline int tell_mapped_file(struct mapping *mapping, __u64 address)
{
	struct file *file = (void *)address;
	struct dentry *dentry = READ(file, f_path.dentry);
	struct inode *inode = READ(file, f_inode);
	__u32 at = 0;

	if (!mapping)
		return 0;
	mapping->ino = READ(inode, i_ino);
	mapping->dev = READ(inode, i_sb, s_dev);
	for (int name = 0; name < MAX_NAMES; name++) {
		struct dentry *parent = READ(dentry, d_parent);

		/* Only a path that has come up to the root counts: a part of one would name another file. */
		if (parent == dentry) {
			mapping->path_bytes = at;
			return 0;
		}
		if (at > PATH_BYTES - PATH_NAME_BYTES)
			return 0;

		long bytes = bpf_probe_read_kernel_str(mapping->path + at, PATH_NAME_BYTES,
						       READ(dentry, d_name.name));

		/* What fills all the room was cut off. */
		if (bytes <= 1 || bytes >= PATH_NAME_BYTES)
			return 0;
		at += bytes;
		dentry = parent;
	}
	return 0;
}

/* The numbers so far are kept in the event: the verifier would follow each of them through the loop. */
static __always_inline void add_range(struct process_event *event, struct ranges *ranges, __u64 start, __u64 end)
{
	__u32 at = event->head.ranges;
	__u32 last = (at - 1) & (MAX_RANGES - 1);

	/* A range that does not fit widens the last one: data in between may pass for code, but no code is missed. */
	if (at && (at >= MAX_RANGES || ranges->end[last] == start)) {
		ranges->end[last] = end;
		return;
	}
	ranges->start[at & (MAX_RANGES - 1)] = start;
	ranges->end[at & (MAX_RANGES - 1)] = end;
	event->head.ranges = at + 1;
}

static __always_inline void add_mapping(struct process_event *event, struct vm_area_struct *area)
{
	__u32 at = event->head.count;

	if (at >= MAX_MAPPINGS)
		return;

	struct mapping *mapping = &event->mappings[at];
	__u64 file = (__u64)READ(area, vm_file);

	mapping->start = area->vm_start;
	mapping->end = area->vm_end;
	mapping->file_offset = (__u64)area->vm_pgoff << config.page_shift;
	mapping->ino = 0;
	mapping->dev = 0;
	mapping->path_bytes = 0;
	if (file)
		tell_mapped_file(mapping, file);
	event->head.count = at + 1;
}

static __always_inline struct image_key image_of(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	if (!mm)
		return (struct image_key){};
	/* execve draws both anew where addresses are random, and user space reads the same in /proc/PID/stat. */
	return (struct image_key){ .image = mm->start_code ^ mm->start_stack, .tgid = task->tgid };
}

/* Tells where the running thread's program image has code, and notes it. Answers whether it could. */
static __always_inline bool list_code(const struct process_head *head, struct ranges *ranges)
{
	struct bpf_iter_task_vma areas;
	struct vm_area_struct *area = NULL;
	struct process_event *event = NULL;

	if (!bpf_ksym_exists(bpf_iter_task_vma_new) || !bpf_core_field_exists(area->vm_flags))
		return false;
	/*
	 * Some kernels list nothing while interrupts are off, as where a page is
	 * made dirty. Asked before anything is reserved, which takes room in the
	 * ring even if it is not sent.
	 */
	if (!bpf_iter_task_vma_new(&areas, bpf_get_current_task_btf(), 0))
		event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		/* The verifier demands it even of an iterator that could not begin. */
		bpf_iter_task_vma_destroy(&areas);
		return false;
	}
	event->head = *head;
	while ((area = bpf_iter_task_vma_next(&areas))) {
		if (!(area->vm_flags & VM_EXEC))
			continue;
		add_range(event, ranges, area->vm_start, area->vm_end);
		add_mapping(event, area);
	}
	bpf_iter_task_vma_destroy(&areas);
	ranges->count = event->head.ranges;
	/* At once: the process may be gone before user space looks at it. */
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* Tells of the running thread's program image, if it is new or can be listed now. */
__noinline int tell_process(void)
{
	struct image_key image = image_of(bpf_get_current_task_btf());
	bool is_new = image.tgid && !bpf_map_update_elem(&images, &image, &unknown_ranges, BPF_NOEXIST);
	struct ranges *ranges = bpf_map_lookup_elem(&images, &image);
	struct process_head head = { .type = EVENT_PROCESS, .image = image };

	if (!ranges || ranges->count || list_code(&head, ranges) || !is_new)
		return 0;
	/* The ring was full: forgotten, so that the next write asks again. */
	if (!send(&head, sizeof(head), true))
		bpf_map_delete_elem(&images, &image);
	return 0;
}

#endif
