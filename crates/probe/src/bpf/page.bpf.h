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

/* Those of a cache line. Our choice. */
#define PAGES_PER_BUCKET 4

/*
 * Two processors may change a bucket at once. A slot with words of two stores
 * is no page's: its first word would not be the hash of any with that writer.
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
	__u64 hash = mix(mix(file->ino, (__u64)file->generation << 32 | file->dev), 0);
	__u32 far = (index >> PAGE_BUCKET_BITS) * 0x9e3779b1;
	__u32 at = ((hash + index) ^ far) & ((1 << PAGE_BUCKET_BITS) - 1);

	return (struct page_place){
		.hash = mix(hash, index),
		.bucket = bpf_map_lookup_elem(&pages, &at),
	};
}

static __always_inline void note_page(const struct file_key *file, __u64 index, __u64 writer)
{
	struct page_place place = place_of(file, index);
	struct page_slot newer = { .check = place.hash ^ writer, .writer = writer };

	if (!place.bucket)
		return;
	/* Each moves one place on, up to where the page itself was. */
	for (int slot = 0; slot < PAGES_PER_BUCKET; slot++) {
		struct page_slot older = place.bucket->slots[slot];

		place.bucket->slots[slot] = newer;
		if ((older.check ^ older.writer) == place.hash)
			break;
		newer = older;
	}
}

/* Who made the page dirty last; 0 if that is not known. */
static __always_inline __u64 page_writer(const struct file_key *file, __u64 index)
{
	struct page_place place = place_of(file, index);

	if (!place.bucket)
		return 0;
	for (int slot = 0; slot < PAGES_PER_BUCKET; slot++) {
		struct page_slot found = place.bucket->slots[slot];

		if ((found.check ^ found.writer) == place.hash)
			return found.writer;
	}
	return 0;
}

#endif
