/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a request has a page of a sample that user space wants to be told of. */
#ifndef ANABRANCH_SAMPLE_BPF_H
#define ANABRANCH_SAMPLE_BPF_H

#include "ring.bpf.h"

/* As of anabranch_trace::Rate: one page of 2^20 at the fewest. */
#define MAX_HALVINGS 20

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sampling);
} sampling SEC(".maps");

/* These two are anabranch_trace::Sample's, to the bit: Stafford's variant 13 of MurmurHash3's final mixing. */
static __always_inline __u64 keeps_latter(__u64 hash, __u64 halving, __u64 pair)
{
	__u64 word = ((hash ^ halving << 56) * 0x9e3779b97f4a7c15ULL ^ pair) + 0x9e3779b97f4a7c15ULL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return (word ^ word >> 31) >> 63;
}

/* Pages that are kept before `end` when one of each two neighbours is. */
static __always_inline __u64 half(__u64 hash, __u64 halving, __u64 end)
{
	return (end >> 1) + (end & 1 & ~keeps_latter(hash, halving, end >> 1));
}

/* Does the sample of `hash` keep one of the pages `first` to `end`? */
__noinline bool keeps(__u64 first, __u64 end, __u64 hash, __u64 halvings)
{
	for (__u64 halving = 0; halving < MAX_HALVINGS && halving < halvings && first < end; halving++) {
		first = half(hash, halving, first);
		end = half(hash, halving, end);
	}
	return first < end;
}

/* Is the request left out? Then it is counted, and nothing else is to be done for it. */
__noinline bool is_left_out(__u32 operation, __u64 offset_bytes, __u64 length_bytes)
{
	__u32 zero = 0;
	struct sampling *wanted = bpf_map_lookup_elem(&sampling, &zero);
	/* Volatile, so that it is read once: user space may change it meanwhile. */
	__u64 shape = wanted ? *(volatile __u64 *)&wanted->shape : 0;

	if (!shape || !wanted->page_bytes)
		return false;

	/* A discard is of whole pages, and any other request of all that it touches. */
	__u64 before = operation == OPERATION_DISCARD ? wanted->page_bytes - 1 : 0;
	__u64 behind = operation == OPERATION_DISCARD ? 0 : wanted->page_bytes - 1;
	__u64 first = (offset_bytes + before) / wanted->page_bytes;
	__u64 end = (offset_bytes + length_bytes + behind) / wanted->page_bytes;

	/* A flush has no page, so no sample wants it. */
	for (__u32 at = 0; at < MAX_SAMPLES && at < (__u32)shape && operation != OPERATION_FLUSH; at++)
		if (keeps(first, end, wanted->hashes[at], shape >> 32))
			return false;
	operation &= OPERATIONS - 1;
	__sync_fetch_and_add(&wanted->requests[operation], 1);
	__sync_fetch_and_add(&wanted->bytes[operation], length_bytes);
	return true;
}

#endif
