/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who made a page dirty. A page has a place in one of many buckets, whose pages
 * stand in the order in which they came; the oldest gives way. So to note a
 * page is a handful of stores, and takes no lock.
 */
#ifndef ANABRANCH_PAGE_BPF_H
#define ANABRANCH_PAGE_BPF_H

#include "ring.bpf.h"
#include "writer.bpf.h"

/* Of 64 bytes, a cache line. Our choice. */
#define PAGES_PER_BUCKET 4

/*
 * Two processors may change a bucket at once. A slot with words of two stores
 * is no page's: its first word would not be the hash of any with that writer.
 * So pages may be lost then (or, if just that page is moved by one while the
 * other notes it anew, keep the writer before).
 */
struct page_slot {
	__u64 check; /* the page's hash ^ the writer */
	__u64 writer; /* 0: free */
};

struct page_bucket {
	struct page_slot slots[PAGES_PER_BUCKET];
};

/* The writer that made a folio dirty, by the folio's first page. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* so that buckets begin with a cache line */
	__uint(max_entries, 1 << PAGE_BUCKET_BITS);
	__type(key, __u32);
	__type(value, struct page_bucket);
} pages SEC(".maps");

struct page_place {
	__u64 hash;
	struct page_bucket *bucket;
};

/* A file's neighbouring pages lie in neighbouring buckets; its far pages are spread as those of `window.bpf.h`. */
static __always_inline struct page_place place_of(const struct file_key *file, __u64 index)
{
	__u64 hash = mix(mix(0, file->ino), (__u64)file->generation << 32 | file->dev);
	__u32 far = (index >> PAGE_BUCKET_BITS) * 0x9e3779b1;
	__u32 at = ((hash + index) ^ far) & ((1 << PAGE_BUCKET_BITS) - 1);

	return (struct page_place){
		.hash = mix(hash, index),
		.bucket = bpf_map_lookup_elem(&pages, &at),
	};
}

static __always_inline bool is_page(const struct page_slot *slot, __u64 hash)
{
	return (slot->check ^ slot->writer) == hash;
}

static __always_inline void note_page(const struct file_key *file, __u64 index, __u64 writer)
{
	struct page_place place = place_of(file, index);
	struct page_slot newest = { .check = place.hash ^ writer, .writer = writer };
	int last = PAGES_PER_BUCKET - 1; /* where the page was, or the oldest */

	if (!place.bucket)
		return;
	for (int slot = 0; slot < PAGES_PER_BUCKET; slot++)
		if (is_page(&place.bucket->slots[slot], place.hash) && slot < last)
			last = slot;
	/* From behind: a page that is moved is found all the while. */
	for (int slot = PAGES_PER_BUCKET - 1; slot > 0; slot--)
		if (slot <= last)
			place.bucket->slots[slot] = place.bucket->slots[slot - 1];
	place.bucket->slots[0] = newest;
}

/* Who made the page dirty last; 0 if that is not known. */
static __always_inline __u64 page_writer(const struct file_key *file, __u64 index)
{
	struct page_place place = place_of(file, index);

	if (!place.bucket)
		return 0;
	for (int slot = 0; slot < PAGES_PER_BUCKET; slot++) {
		/* A copy: another processor may change the slot between the check and the answer. */
		struct page_slot found = place.bucket->slots[slot];

		if (is_page(&found, place.hash))
			return found.writer;
	}
	return 0;
}

/* Folios that threads are about to mark as dirty again: our choice. */
#define REDIRTIED 64

/* Each the mix of a folio and the thread, or 0. */
static __u64 redirtied[REDIRTIED];
static __u32 met_redirtied; /* how often there was one */

/*
 * Whoever writes a folio out and cannot write all of it yet (a file system that
 * has no room before the next commit, say) marks it as dirty again. Nobody has
 * written to it: it keeps its writer.
 */
static __always_inline int note_redirtied(__u64 folio)
{
	__u64 folio_and_thread = mix(folio, bpf_get_current_pid_tgid());

	redirtied[folio_and_thread & (REDIRTIED - 1)] = folio_and_thread;
	met_redirtied++;
	return 0;
}

static __always_inline bool is_redirtied(__u64 folio)
{
	if (!met_redirtied)
		return false;

	__u64 folio_and_thread = mix(folio, bpf_get_current_pid_tgid());
	__u64 *place = &redirtied[folio_and_thread & (REDIRTIED - 1)];

	if (*place != folio_and_thread)
		return false;
	*place = 0;
	return true;
}

#endif
