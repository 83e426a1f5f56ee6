/* One program that writes by several call paths: paths DIRECTORY KIND:MIB... Built with frame pointers. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK (64 << 10)
#define PAGE 4096
#define APART __attribute__((noinline, noclone))

static char *chunk;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

APART static void put(int file)
{
	if (write(file, chunk, CHUNK) != CHUNK)
		fail("write");
	__asm__ volatile("");
}

APART static void buffered(int file, long chunks)
{
	while (chunks--)
		put(file);
	__asm__ volatile("");
}

APART static void synced(int file, long chunks)
{
	while (chunks--) {
		put(file);
		if (fdatasync(file))
			fail("fdatasync");
	}
	__asm__ volatile("");
}

APART static void direct(int file, long chunks)
{
	if (fcntl(file, F_SETFL, O_DIRECT))
		fail("O_DIRECT");
	while (chunks--)
		put(file);
	__asm__ volatile("");
}

APART static void touch(char *memory, long bytes)
{
	for (long at = 0; at < bytes; at += PAGE)
		*(volatile char *)(memory + at) = 1;
	__asm__ volatile("");
}

APART static void mapped(int file, long chunks)
{
	long bytes = chunks * CHUNK;
	char *memory;

	if (ftruncate(file, bytes))
		fail("ftruncate");
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	touch(memory, bytes);
	if (munmap(memory, bytes))
		fail("munmap");
}

int main(int count, char **words)
{
	if (count < 3 || chdir(words[1]) || posix_memalign((void **)&chunk, PAGE, CHUNK))
		fail("paths DIRECTORY KIND:MIB...");
	memset(chunk, 1, CHUNK);
	for (int at = 2; at < count; at++) {
		char *name = strtok(words[at], ":");
		long chunks = atol(strtok(NULL, ":")) * 16;
		int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

		if (file < 0)
			fail(name);
		if (!strcmp(name, "buffered"))
			buffered(file, chunks);
		else if (!strcmp(name, "synced"))
			synced(file, chunks);
		else if (!strcmp(name, "direct"))
			direct(file, chunks);
		else
			mapped(file, chunks);
		if (close(file))
			fail("close");
	}
	return 0;
}
