/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes to devices that are made of the target: volumes, encryption, arrays.
 * Such a device may send other requests below, of pages of its own and from
 * threads of its own. It reports which of its sectors each of them stands for
 * (block_bio_remap), just before it submits them.
 *
 *	a write is submitted to a device above:  note it, its submitter and its place there;
 *	                                         or what it stands for itself
 *	a request below stands for that place:   it stands for the write that was noted
 *	it is submitted to the target:           its pages and submitter are those of that write
 *
 * A write that is not found keeps the pages and the submitter of the request below.
 */
#ifndef ANABRANCH_ABOVE_BPF_H
#define ANABRANCH_ABOVE_BPF_H

#include "bio.bpf.h"

/* Devices above the target that are known, by their numbers. Minors are given out in a row. Our choice. */
#define ABOVE 64
/* From include/linux/kdev_t.h and include/uapi/linux/major.h. */
#define MINOR_BITS 20
#define MD_MAJOR 9
/*
 * RAID 4 to 6 sends pages below, wherever a write begins, and parity. So many
 * in a row that are not found tell them from other arrays. Our choice.
 */
#define STRIPE_PAGE_BYTES 4096
#define MISSES_BY_PAGE 8

struct device_above {
	__u32 number; /* 0: none */
	__u32 misses; /* of an array: requests of one page that were not found since one was found */
};

static struct device_above above[ABOVE];
static __u32 met_above; /* how often a device was new */

static __always_inline struct device_above *place_above(__u32 number)
{
	return &above[(number ^ number >> MINOR_BITS) & (ABOVE - 1)];
}

static __always_inline bool is_above(__u32 number)
{
	return number && place_above(number)->number == number;
}

/* Does it send pages below, each once? It stays with that. */
static __always_inline bool is_by_page(const struct device_above *device)
{
	return device->misses >= MISSES_BY_PAGE;
}

static __always_inline __u32 disk_number(struct block_device *device)
{
	return READ(device, bd_disk, part0, bd_dev);
}

/* A write to a device above, from one of its bytes on. */
struct upper {
	__u64 bio; /* its address, 0: none. It lasts until all that stand for it have ended */
	__u64 writer; /* that submitted it */
	__u32 done_bytes; /* of its bio_vec */
	__u16 index; /* of its bio_vec */
	__u16 by_kernel; /* 1: a thread of the kernel submitted it */
};

/*
 * Two processors may write a slot at once. With words of two stores it is no
 * write's: `check` is the hash of none of them.
 */
struct upper_slot {
	__u64 check;
	struct upper upper;
};

/* Our choices, as is UPPER_BUCKET_BITS: 65,536 writes above that wait for their requests below take 2 MiB. */
#define UPPERS_PER_BUCKET 8
#define UPPER_BUCKET_BITS 13
#define ORIGIN_BITS 10

struct upper_bucket {
	__u64 newest; /* counted on; the oldest gives way */
	struct upper_slot slots[UPPERS_PER_BUCKET];
};

/* Writes above, by device and sector. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << UPPER_BUCKET_BITS);
	__type(key, __u32);
	__type(value, struct upper_bucket);
} uppers SEC(".maps");

/* What requests below stand for, by request; mostly for some microseconds. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << ORIGIN_BITS);
	__type(key, __u32);
	__type(value, struct upper_slot);
} origins SEC(".maps");

static __always_inline __u64 check_of(__u64 hash, const struct upper *upper)
{
	__u64 place = (__u64)upper->done_bytes << 32 | (__u32)upper->index << 16 | upper->by_kernel;

	return mix(mix(mix(hash, upper->bio), upper->writer), place);
}

/* Takes a copy: another processor may change the slot meanwhile. */
static __always_inline bool read_slot(const struct upper_slot *slot, __u64 hash, struct upper *upper)
{
	__u64 check = *(volatile __u64 *)&slot->check;

	*upper = slot->upper;
	return upper->bio && check == check_of(hash, upper);
}

static __always_inline struct upper_bucket *uppers_at(__u64 hash)
{
	__u32 at = hash >> (64 - UPPER_BUCKET_BITS);

	return bpf_map_lookup_elem(&uppers, &at);
}

static __always_inline __u64 hash_of_place(__u32 number, __u64 sector)
{
	return mix(mix(0, number), sector);
}

__noinline int note_upper(__u64 hash, const struct upper *upper)
{
	struct upper_bucket *bucket = uppers_at(hash);

	if (!bucket || !upper)
		return 0;

	struct upper_slot *slot = &bucket->slots[++bucket->newest & (UPPERS_PER_BUCKET - 1)];

	slot->upper = *upper;
	slot->check = check_of(hash, upper);
	return 0;
}

/* Finds the newest write at a place; `once`: nothing will stand for it again. */
__noinline int find_upper(__u64 hash, struct upper *upper, bool once)
{
	struct upper_bucket *bucket = uppers_at(hash);

	if (!bucket || !upper)
		return 0;
	for (int back = 0; back < UPPERS_PER_BUCKET; back++) {
		struct upper_slot *slot = &bucket->slots[(bucket->newest - back) & (UPPERS_PER_BUCKET - 1)];

		if (read_slot(slot, hash, upper)) {
			if (once)
				slot->check = 0;
			return 1;
		}
	}
	upper->bio = 0;
	return 0;
}

/* Also by device and sector: the kernel uses the memory of a request that has ended again. */
static __always_inline __u64 hash_of_request(__u64 bio, __u32 number, __u64 sector)
{
	return mix(mix(mix(0, bio), number), sector);
}

static __always_inline struct upper_slot *origin_at(__u64 hash)
{
	__u32 at = hash >> (64 - ORIGIN_BITS);

	return bpf_map_lookup_elem(&origins, &at);
}

/* The write above that the request copied to `scratch` stands for. It stays there: several programs may ask. */
static __always_inline bool find_origin(struct scratch *scratch, struct upper *upper)
{
	struct bio *bio = (struct bio *)scratch->bio;

	if (!met_above)
		return false;

	__u64 hash = hash_of_request(scratch->bio_address, disk_number(bio->bi_bdev), bio->bi_iter.bi_sector);
	struct upper_slot *slot = origin_at(hash);

	return slot && read_slot(slot, hash, upper);
}

/* Puts the write above in the place of the copied request: its pages and its file. Where and how much stay. */
static __always_inline bool stand_in(struct scratch *scratch, const struct upper *upper)
{
	struct bio *bio = (struct bio *)scratch->bio;
	__u64 below = scratch->bio_address;
	__u32 bytes = bio->bi_iter.bi_size;

	if (!copied_bio((void *)upper->bio, scratch)) {
		copied_bio((void *)below, scratch);
		return false;
	}
	bio->bi_iter.bi_size = bytes;
	bio->bi_iter.bi_idx = upper->index;
	set_done_bytes(bio, upper->done_bytes);
	return true;
}

struct page_notes {
	struct upper upper; /* of the byte that the walk is at */
	__u64 vectors;
	__u64 at_bytes; /* of the device */
	__u64 end_bytes;
	__u32 number;
};

/* One step: what of the next bio_vec lies in one page of the device. */
static long note_page_above(__u32 i, void *context)
{
	struct page_notes *notes = context;
	struct bio_vec *vector = (void *)(notes->vectors + notes->upper.index * sizeof(struct bio_vec));
	__u32 length = READ(vector, bv_len);
	__u32 bytes = STRIPE_PAGE_BYTES - (notes->at_bytes & (STRIPE_PAGE_BYTES - 1));

	if (notes->at_bytes >= notes->end_bytes || length <= notes->upper.done_bytes)
		return 1;
	if (bytes == STRIPE_PAGE_BYTES)
		note_upper(hash_of_place(notes->number, notes->at_bytes >> SECTOR_SHIFT), &notes->upper);
	if (bytes > length - notes->upper.done_bytes)
		bytes = length - notes->upper.done_bytes;
	notes->at_bytes += bytes;
	notes->upper.done_bytes += bytes;
	if (notes->upper.done_bytes == length) {
		notes->upper.done_bytes = 0;
		notes->upper.index++;
	}
	return 0;
}

/*
 * A device may put a write off, and submit it again from a thread of its own:
 * what was noted stays. IMPORTANT: all of it is compared. What is left of a
 * write after a split comes from the same memory as an earlier one may have.
 */
static __always_inline bool is_put_off(struct scratch *scratch, __u64 hash)
{
	struct bio *bio = (struct bio *)scratch->bio;
	struct upper upper = {};

	if (!(bio->bi_flags & config.queued_flag) || !runs_in_kernel() || !find_upper(hash, &upper, false))
		return false;
	return upper.bio == scratch->bio_address && upper.index == bio->bi_iter.bi_idx &&
	       upper.done_bytes == done_bytes_of(bio);
}

/* A write in this program's scratch memory is submitted to the device above with that number. */
__noinline int note_above(__u32 number, __u32 slot)
{
	struct scratch *scratch = scratch_of(slot);
	struct upper upper = {};

	if (!scratch)
		return 0;

	struct bio *bio = (struct bio *)scratch->bio;
	__u64 sector = bio->bi_iter.bi_sector;
	__u64 hash = hash_of_place(number, sector);

	if ((bio->bi_opf & OPERATION_MASK) != REQ_OP_WRITE || !bio->bi_iter.bi_size)
		return 0;
	if (is_put_off(scratch, hash))
		return 0;
	if (!find_origin(scratch, &upper)) {
		struct inode *inode = direct_inode(bio);

		upper = (struct upper){
			.bio = scratch->bio_address,
			.writer = submitter(slot),
			.index = bio->bi_iter.bi_idx,
			.done_bytes = done_bytes_of(bio),
			.by_kernel = runs_in_kernel(),
		};
		/* The thread that submits it below reads nothing: the file's generation would be lost. */
		if (inode) {
			struct file_key key = key_of(inode);

			state_of(inode, &key, slot, true);
		}
	}
	if (!is_by_page(place_above(number)))
		return note_upper(hash, &upper);

	struct bio *noted = (void *)upper.bio;
	struct page_notes notes = {
		.upper = upper,
		.vectors = (__u64)READ(noted, bi_io_vec),
		.at_bytes = sector << SECTOR_SHIFT,
		.end_bytes = (sector << SECTOR_SHIFT) + bio->bi_iter.bi_size,
		.number = number,
	};

	bpf_loop(MAX_STEPS, note_page_above, &notes, 0);
	return 0;
}

/* A request below, known by its hash, stands for a place of the device above. */
__noinline int pass_on(__u64 hash, __u32 number, __u64 from, __u32 bytes)
{
	struct upper_slot *slot = origin_at(hash);
	struct device_above *device = place_above(number);
	struct upper upper = {};

	if (!slot)
		return 0;

	bool by_page = is_by_page(device);

	/* RAID 4 to 6 report place 0 for parity, too. */
	if (!(by_page && !from) && find_upper(hash_of_place(number, from), &upper, by_page)) {
		slot->upper = upper;
		slot->check = check_of(hash, &upper);
		if (!by_page)
			device->misses = 0;
		return 0;
	}
	/* What an earlier request in the same memory stood for. */
	if (read_slot(slot, hash, &upper))
		slot->check = 0;
	if (number >> MINOR_BITS == MD_MAJOR && bytes == STRIPE_PAGE_BYTES && !by_page)
		device->misses++;
	return 0;
}

#endif
