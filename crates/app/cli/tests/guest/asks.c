/* Asks for hints by fcntl: asks DIRECTORY. Of the file `refused` with words behind the hint that are none of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* From include/uapi/linux/fcntl.h. */
#define SET_RW_HINT 1036

static int writes(const char *name, uint64_t hint, int expected)
{
	static char bytes[65536];
	int file = open(name, O_RDWR | O_CREAT, 0644);
	int error = fcntl(file, SET_RW_HINT, &hint) ? errno : 0;

	return error == expected && write(file, bytes, sizeof(bytes)) == sizeof(bytes) && !fsync(file);
}

int main(int count, char **arguments)
{
	if (count != 2 || chdir(arguments[1]))
		return 2;
	return !writes("granted", 5, 0) || !writes("refused", 0xdeadULL << 32 | 3, EINVAL);
}
