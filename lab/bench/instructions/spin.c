/*
 * Uses up what nobody else wants of one processor, and counts it.
 * spin count FILE: turns without end, at the lowest priority, their number in FILE.
 * spin read FILE: prints the time in nanoseconds and the turns so far, and is a mark to count.c.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sched_param lowest = {0};
	struct timespec now;
	volatile unsigned long *turns;
	int file = argc == 3 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;

	if (file < 0 || ftruncate(file, sizeof(*turns)))
		return 1;
	turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (turns == MAP_FAILED)
		return 1;
	if (!strcmp(argv[1], "count")) {
		if (sched_setscheduler(0, SCHED_IDLE, &lowest))
			return 1;
		for (;;)
			++*turns;
	}
	__asm__ volatile("mov $0x616e6162, %%eax\n\tcpuid" ::: "eax", "ebx", "ecx", "edx");
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%lld %lu\n", now.tv_sec * 1000000000LL + now.tv_nsec, *turns);
	return 0;
}
