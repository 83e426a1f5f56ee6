/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands that programs pass to an NVMe drive themselves (io_uring_cmd, ioctl):
 * they pass none of the block layer's hooks for requests until they are issued.
 */
#ifndef ANABRANCH_PASSED_BPF_H
#define ANABRANCH_PASSED_BPF_H

#include "ring.bpf.h"
#include "sample.bpf.h"
#include "writer.bpf.h"

/* NVM Command Set 1.0: Write, Read, Write Zeroes. */
#define NVME_WRITE 0x01
#define NVME_READ 0x02
#define NVME_WRITE_ZEROES 0x08
/* Directive types: NVM Express Base 2.0, figure "Directive Types", and TP4146. */
#define DIRECTIVE_STREAMS 1
#define DIRECTIVE_PLACEMENT 2

/* A command of 64 bytes that reads or writes: NVM Command Set 1.0, 3.2.6. */
struct passed_command {
	__u8 opcode;
	__u8 head[39];
	__u64 first_block;
	__u16 blocks_less_one;
	__u16 control; /* bits 7:4: the directive's type */
	__u32 dataset; /* bits 31:16: the directive's value */
	__u8 tail[8];
};

static __always_inline __u32 passed_operation(const struct passed_command *command)
{
	if (command->opcode == NVME_WRITE || command->opcode == NVME_WRITE_ZEROES)
		return OPERATION_WRITE;
	return command->opcode == NVME_READ && config.reads ? OPERATION_READ : OPERATIONS;
}

/* 1 + the placement that the command names; 0: it names none. */
static __always_inline __u64 placement_of(const struct passed_command *command)
{
	__u16 type = command->control >> 4 & 0xf;

	return type == DIRECTIVE_STREAMS || type == DIRECTIVE_PLACEMENT ? 1 + (command->dataset >> 16) : 0;
}

__noinline int take_passed(__u64 request, __u32 block_bytes)
{
	struct scratch *scratch = scratch_of(SLOT_PASSED);
	struct passed_command command;
	__u64 place = 0;

	if (!scratch)
		return 0;
	/* The driver's part of a request lies behind it, and that of NVMe begins with the command's address. */
	bpf_probe_read_kernel(&place, sizeof(place), (void *)(request + bpf_core_type_size(struct request)));
	if (bpf_probe_read_kernel(&command, sizeof(command), (void *)place))
		return 0;

	struct io_event *io = &scratch->io;
	__u32 operation = passed_operation(&command);
	/* NLB counts from 0. */
	__u64 bytes = (1ULL + command.blocks_less_one) * block_bytes;

	if (operation == OPERATIONS || is_left_out(operation, command.first_block * block_bytes, bytes))
		return 0;
	*io = (struct io_event){
		.type = EVENT_PASSED,
		.operation = operation,
		.request_hint = REQUEST_HINT_NONE,
		.time_ns = bpf_ktime_get_ns(),
		.offset_bytes = command.first_block * block_bytes,
		.length_bytes = bytes,
		.writer = operation == OPERATION_WRITE ? current_writer(scratch, SLOT_PASSED) : 0,
	};
	scratch->placement = placement_of(&command);
	send(io, sizeof(*io) + sizeof(scratch->placement), false);
	return 0;
}

#endif
