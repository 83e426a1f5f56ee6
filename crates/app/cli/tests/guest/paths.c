/* One program that writes by several call paths: paths DIRECTORY KIND:MIB... Built with frame pointers. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

APART static void enter(int ring)
{
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		fail("io_uring_enter");
	__asm__ volatile("");
}

static void *part(int ring, size_t bytes, off_t at)
{
	void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, at);

	if (found == MAP_FAILED)
		fail("a ring's memory");
	return found;
}

/* By io_uring with O_DIRECT, one at a time: a ring of one entry, so that every place in it is the first. */
APART static void ringed(int file, long chunks)
{
	struct io_uring_params told = { 0 };
	int ring = syscall(SYS_io_uring_setup, 1, &told);
	struct io_uring_sqe *entry;
	struct io_uring_cqe *answer;
	char *asked, *answered;

	if (ring < 0 || fcntl(file, F_SETFL, O_DIRECT))
		fail("io_uring_setup, O_DIRECT");
	asked = part(ring, told.sq_off.array + 4, IORING_OFF_SQ_RING);
	answered = part(ring, told.cq_off.cqes + told.cq_entries * sizeof(*answer), IORING_OFF_CQ_RING);
	entry = part(ring, sizeof(*entry), IORING_OFF_SQES);
	*(unsigned *)(asked + told.sq_off.array) = 0;
	for (long at = 0; at < chunks; at++) {
		memset(entry, 0, sizeof(*entry));
		entry->opcode = IORING_OP_WRITE;
		entry->fd = file;
		entry->addr = (unsigned long)chunk;
		entry->len = CHUNK;
		entry->off = at * CHUNK;
		__atomic_add_fetch((unsigned *)(asked + told.sq_off.tail), 1, __ATOMIC_RELEASE);
		enter(ring);
		answer = (struct io_uring_cqe *)(answered + told.cq_off.cqes) + at % told.cq_entries;
		if (answer->res != CHUNK)
			fail("a write by io_uring");
		__atomic_add_fetch((unsigned *)(answered + told.cq_off.head), 1, __ATOMIC_RELEASE);
	}
	close(ring);
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
		else if (!strcmp(name, "ringed"))
			ringed(file, chunks);
		else
			mapped(file, chunks);
		if (close(file))
			fail("close");
	}
	return 0;
}
