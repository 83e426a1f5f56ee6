// The machine's clock as a program sees it that is started with this library: so many seconds ahead of the real one
// as the file says that ANABRANCH_TEST_CLOCK names. All other clocks are the kernel's.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
	long result = syscall(SYS_clock_gettime, clock, time);
	const char *name = getenv("ANABRANCH_TEST_CLOCK");
	FILE *file = clock == CLOCK_REALTIME && name ? fopen(name, "r") : NULL;
	long ahead = 0;

	if (file) {
		if (fscanf(file, "%ld", &ahead) == 1)
			time->tv_sec += ahead;
		fclose(file);
	}
	return (int)result;
}
