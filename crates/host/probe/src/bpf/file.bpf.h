/* SPDX-License-Identifier: GPL-2.0 */
/* Which file is written: its name, its last writer, the hint asked for it. */
#ifndef ANABRANCH_FILE_BPF_H
#define ANABRANCH_FILE_BPF_H

#include "ring.bpf.h"
#ifdef HANDOVER
#include "window.bpf.h"
#endif

/* Directories between a file and the root that are climbed at most. Our choice. */
#define MAX_DEPTH 32

struct file_state {
	__u64 writer; /* the last one that made a page of the file dirty */
	__u8 hint; /* asked for by F_SET_RW_HINT */
	__u8 hint_granted;
	__u8 generation; /* 1 + the file's; 0: no write was seen yet */
	__u32 name; /* hash of the name that user space was told; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FILES);
	__type(key, struct file_key);
	__type(value, struct file_state);
} files SEC(".maps");

#ifndef HANDOVER
/*
 * Files that user space was told of last, for a rename that does not say which
 * file it is of. Our choice: programs rename what they have just written.
 */
#define RECENT_FILES 64

struct recent_file {
	__u64 inode; /* its address; 0: none */
	struct file_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT_FILES);
	__type(key, __u32);
	__type(value, struct recent_file);
} recent_files SEC(".maps");

static __u32 told_files;
#endif

/* The generation of a file that the running thread begins now: reader.bpf.h. */
__noinline __u32 next_generation(void);

static __always_inline struct file_key key_of(struct inode *inode)
{
	return (struct file_key){
		.ino = READ(inode, i_ino),
		.generation = READ(inode, i_generation),
		.dev = READ(inode, i_sb, s_dev),
	};
}

static __always_inline struct dentry *name_of(struct inode *inode)
{
	struct hlist_node *alias = READ(inode, i_dentry.first);
	__u64 offset;

	if (!alias)
		return NULL;
	if (bpf_core_field_exists(struct dentry, d_u))
		offset = bpf_core_field_offset(struct dentry, d_u.d_alias);
	else
		offset = bpf_core_field_offset(struct dentry___unnamed_union, d_alias);
	return (struct dentry *)((__u64)alias - offset);
}

/* The kernel's hash of a file's name and its length, folded. */
static __always_inline __u32 hash_of(struct dentry *dentry)
{
	__u64 both = dentry ? READ(dentry, d_name.hash_len) : 0;

	return both ^ both >> 32;
}

/* The directory below the file system's root that a file lies in; null in the root itself. */
static __always_inline struct dentry *top_directory(struct dentry *file)
{
	struct dentry *below = file;

	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		struct dentry *parent = READ(below, d_parent);
		struct dentry *root = READ(parent, d_parent);

		if (!parent || parent == below)
			return NULL;
		if (root == parent)
			return below == file ? NULL : below;
		below = parent;
	}
	return NULL;
}

/*
 * Begins to follow a file, or notes that it has another name or that the
 * running thread is the first to be seen writing to it: tells user space its
 * name, and its generation.
 */
__noinline int learn_file(__u64 address, __u32 slot, bool is_written)
{
	struct inode *inode = (void *)address;
	struct scratch *scratch = scratch_of(slot);
	struct file_key key = key_of(inode);
	static const struct file_state fresh;

	if (!scratch)
		return 0;

	struct file_event *event = &scratch->file;
	struct dentry *dentry = name_of(inode);
	struct file_state *state = bpf_map_lookup_elem(&files, &key);

	event->type = EVENT_FILE;
	event->generation = state ? state->generation : 0;
	if (is_written && !event->generation) {
		event->generation = 1;
		/* A file that is not empty was begun before. */
		if (config.generations && !READ(inode, i_size))
			event->generation += next_generation();
	}
	event->file = key;
	event->name[0] = 0;
	event->directory[0] = 0;
	if (dentry) {
		struct dentry *top = top_directory(dentry);

		bpf_probe_read_kernel_str(event->name, NAME_BYTES, READ(dentry, d_name.name));
		if (top)
			bpf_probe_read_kernel_str(event->directory, DIRECTORY_BYTES,
						  READ(top, d_name.name));
	}
#ifdef HANDOVER
	/* Whether or not it can be sent: a server looks here for what the ring did not bring. */
	bpf_map_update_elem(&names, &key, event, BPF_ANY);
#endif
	/* A file that could not be reported is not begun: the next write tries again. */
	if (!send(event, sizeof(*event), false))
		return 0;
	/* Another processor may have begun it, and its writer and hint must stay. */
	bpf_map_update_elem(&files, &key, &fresh, BPF_NOEXIST);
	state = bpf_map_lookup_elem(&files, &key);
	if (!state)
		return 0;
	state->name = hash_of(dentry);
	if (is_written)
		state->generation = event->generation;
#ifndef HANDOVER
	/* Two processors may take one place: one of the two files keeps its first name then. */
	__u32 place = told_files++ % RECENT_FILES;
	struct recent_file *recent = bpf_map_lookup_elem(&recent_files, &place);

	if (recent)
		*recent = (struct recent_file){ .inode = (__u64)inode, .key = key };
#endif
	return 0;
}

/* The state of a file, which the running thread writes to or not; null when user space could not be told of it. */
static __always_inline struct file_state *
state_of(struct inode *inode, const struct file_key *key, __u32 slot, bool is_written)
{
	struct file_state *state = bpf_map_lookup_elem(&files, key);

	if (state && (state->generation || !is_written))
		return state;
	learn_file((__u64)inode, slot, is_written);
	return bpf_map_lookup_elem(&files, key);
}

/* Tells user space the name of a file that was renamed since it was told. */
static __always_inline void follow_name(struct inode *inode, struct file_state *state, __u32 slot)
{
	__u32 name = hash_of(name_of(inode));

	if (name && name != state->name)
		learn_file((__u64)inode, slot, false);
}

#ifndef HANDOVER
/* Follows the name of one of the files that user space was told of last. */
__noinline int follow_recent(__u32 place)
{
	struct recent_file *recent = bpf_map_lookup_elem(&recent_files, &place);

	if (!recent || !recent->inode)
		return 0;

	struct inode *inode = (void *)recent->inode;
	struct file_key key = recent->key;
	struct file_key now = key_of(inode);
	struct file_state *state = bpf_map_lookup_elem(&files, &key);

	/* The kernel may have let the inode go: its memory is another's then. */
	if (state && now.ino == key.ino && now.generation == key.generation && now.dev == key.dev)
		follow_name(inode, state, SLOT_RENAME);
	return 0;
}
#endif

/* The hint the kernel itself keeps with the file: one it granted. */
static __always_inline __u8 granted_hint(struct inode *inode)
{
	struct inode___byte_hint *old = (void *)inode;
	struct inode___enum_hint *new = (void *)inode;

	if (bpf_core_field_exists(old->i_write_hint))
		return READ(old, i_write_hint);
	if (bpf_core_field_exists(new->i_write_hint))
		return READ(new, i_write_hint);
	return 0;
}

#endif
