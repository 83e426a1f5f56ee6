/*
 * Calls about an eBPF map, one after the other, until it is killed: a thread that is preempted within one keeps the
 * kernel from running kprobes' programs on its processor.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Large, so that a call takes long. */
static char value[1 << 20];

int main(void)
{
	union bpf_attr attr;
	unsigned int key = 0;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(key);
	attr.value_size = sizeof(value);
	attr.max_entries = 1;
	long map = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	if (map < 0) {
		perror("map-calls");
		return 1;
	}
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = map;
	attr.key = (unsigned long)&key;
	attr.value = (unsigned long)value;
	while (!syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)))
		;
	perror("map-calls");
	return 1;
}
