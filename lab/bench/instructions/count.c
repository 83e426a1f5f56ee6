/*
 * A plugin for QEMU's emulation (7.2; version 1 of the interface): counts a guest's instructions by the address of
 * their block. At each mark, CPUID in `spin read`, it writes what was counted since the mark before to stderr:
 * "@block ADDRESS INSTRUCTIONS", and "@mark" behind the last. Debian has no header for plugins, so what is used of the
 * interface (QEMU's docs/devel/tcg-plugins.rst) is declared here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define ADD_U64 0
#define NO_REGISTERS 0

typedef uint64_t plugin_id;
struct info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int operation, void *counter, uint64_t amount);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *), int flags, void *);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

API int qemu_plugin_version = 1;

/* By the block's address: one that is translated anew goes on with its counter. Far more places than blocks. */
#define PLACE_BITS 22
static struct counter {
	uint64_t address; /* 0: free */
	uint64_t instructions;
} counters[1 << PLACE_BITS];

/* "mov $0x616e6162, %eax", which stands before CPUID in spin.c. */
static const unsigned char mark[] = {0xb8, 0x62, 0x61, 0x6e, 0x61};

static struct counter *counter_of(uint64_t address)
{
	uint64_t at = address * 0x9e3779b97f4a7c15ULL >> (64 - PLACE_BITS);

	while (counters[at].address && counters[at].address != address)
		at = (at + 1) % (1 << PLACE_BITS);
	counters[at].address = address;
	return &counters[at];
}

static void on_mark(unsigned processor, void *none)
{
	(void)processor;
	(void)none;
	for (struct counter *one = counters; one < counters + (1 << PLACE_BITS); one++) {
		if (one->instructions)
			fprintf(stderr, "@block %" PRIx64 " %" PRIu64 "\n", one->address, one->instructions);
		one->instructions = 0;
	}
	fprintf(stderr, "@mark\n");
}

static void on_block(plugin_id id, struct qemu_plugin_tb *block)
{
	size_t count = qemu_plugin_tb_n_insns(block);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &counter_of(qemu_plugin_tb_vaddr(block))->instructions, count);
	for (size_t at = 0; at < count; at++) {
		struct qemu_plugin_insn *one = qemu_plugin_tb_get_insn(block, at);

		if (qemu_plugin_insn_size(one) == sizeof(mark) && !memcmp(qemu_plugin_insn_data(one), mark, sizeof(mark)))
			qemu_plugin_register_vcpu_insn_exec_cb(one, on_mark, NO_REGISTERS, NULL);
	}
}

API int qemu_plugin_install(plugin_id id, const struct info *info, int count, char **arguments)
{
	(void)info;
	(void)count;
	(void)arguments;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	return 0;
}
