/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few kernel types the probe touches. Only the named fields matter: the
 * loader moves each access to where the running kernel keeps the field (CO-RE).
 * A name with three underscores is another kernel version's form of the type.
 */
#ifndef ANABRANCH_KERNEL_H
#define ANABRANCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* From include/uapi/linux/bpf.h: numbers that never change. */
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_MMAPABLE 1024
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0

/* From include/linux/sched.h and include/uapi/linux/magic.h. */
#define PF_KTHREAD 0x00200000
#define BDEVFS_MAGIC 0x62646576
#define BTRFS_MAGIC 0x9123683e

/* From include/linux/mm.h. */
#define VM_EXEC 4

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk {
	struct block_device *part0;
};

struct block_device {
	__u64 bd_start_sect;
	struct gendisk *bd_disk;
	__u32 bd_dev;
	void *bd_holder;
};

struct queue_limits {
	unsigned int logical_block_size;
};

struct request_queue {
	struct gendisk *disk;
	struct queue_limits limits;
	void *queuedata;
};

/* A namespace by one path, and by all: the kernel's own module may have these types. */
struct nvme_ns_head {
	struct gendisk *disk;
};

struct nvme_ns {
	struct nvme_ns_head *head;
};

struct request {
	struct request_queue *q;
	__u32 cmd_flags;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	struct block_device *s_bdev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct inode {
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	__u32 i_generation;
	__s64 i_size;
	struct hlist_head i_dentry;
};

/* What a file is renamed by, since 5.12. */
struct renamedata {
	struct dentry *old_dentry;
};

/* A block device beside the inode of its own cache. */
struct bdev_inode {
	struct block_device bdev;
	struct inode vfs_inode;
};

/* Until 6.8 the hint is a byte, from 6.9 on an enumeration. */
struct inode___byte_hint {
	__u8 i_write_hint;
};

enum rw_hint {
	WRITE_LIFE_NOT_SET,
} __attribute__((packed));

struct inode___enum_hint {
	enum rw_hint i_write_hint;
};

struct qstr {
	__u64 hash_len;
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
	struct dentry *d_parent;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct dentry___unnamed_union {
	struct hlist_node d_alias;
};

struct address_space {
	struct inode *host;
};

/* Until 7.0 a tail page points to its head; from 7.1 on it may keep a mask. */
struct page {
	unsigned long compound_head;
};

struct page___info {
	unsigned long compound_info;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
};

/* The number of pages of a large folio: from 6.15 on, and before. */
struct folio___nr_pages {
	__u32 _nr_pages;
};

struct folio___folio_nr_pages {
	__u32 _folio_nr_pages;
};

struct bio_vec {
	struct page *bv_page;
	__u32 bv_len;
	__u32 bv_offset;
};

struct bvec_iter {
	__u64 bi_sector;
	__u32 bi_size;
	__u32 bi_idx;
	__u32 bi_bvec_done;
} __attribute__((packed));

/* What 7.3 calls bi_bvec_done. */
struct bvec_iter___offset {
	__u32 bi_offset;
} __attribute__((packed));

struct bio___offset {
	struct bvec_iter___offset bi_iter;
};

struct bio {
	struct block_device *bi_bdev;
	__u32 bi_opf;
	unsigned short bi_flags;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
	struct bio_vec *bi_io_vec;
};

struct btrfs_inode {
	struct inode vfs_inode;
};

/* A request of btrfs with what it is of; from 6.3 on it names the file. */
struct btrfs_bio {
	struct btrfs_inode *inode;
	__u64 file_offset;
	struct bio bio;
};

/* Until 5.17 a short, from 6.9 on an enumeration; between them there is none. */
struct bio___hint {
	enum rw_hint bi_write_hint;
};

enum req_op {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_DISCARD = 3,
	REQ_OP_SECURE_ERASE = 5,
	REQ_OP_WRITE_ZEROES = 9,
	REQ_OP_DRV_IN = 34,
	REQ_OP_DRV_OUT = 35,
};

/* The bits move from version to version; the loader puts the right ones in. */
enum req_flag_bits {
	__REQ_META = 12,
	__REQ_IDLE = 15,
	__REQ_PREFLUSH = 18,
	__REQ_NOUNMAP = 29,
};

enum pageflags {
	PG_writeback = 1,
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct kiocb {
	struct file *ki_filp;
};

struct iomap_dio {
	struct kiocb *iocb;
};

struct fdtable {
	__u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct mm_struct {
	unsigned long start_code;
	unsigned long end_code;
	unsigned long start_stack;
};

struct task_io_accounting {
	__u64 syscw;
};

struct task_struct {
	__u32 flags;
	int pid;
	int tgid;
	__u64 start_time;
	char comm[16];
	struct task_io_accounting ioac;
	struct mm_struct *mm;
	struct files_struct *files;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp;
	unsigned long ip;
	unsigned long sp;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long orig_ax;
};
#define INSTRUCTION(regs) ((regs)->ip)
#define FUNCTION_ARGUMENT_1(regs) ((regs)->di)
#define FUNCTION_ARGUMENT_2(regs) ((regs)->si)
#define FRAME_POINTER(regs) ((regs)->bp)
#define CODE_ADDRESS(word) (word)
#define SYSCALL_NUMBER(regs) ((regs)->orig_ax)
#define SYSCALL_ARGUMENT_1(regs) ((regs)->di)
#define SYSCALL_ARGUMENT_2(regs) ((regs)->si)
#define SYSCALL_ARGUMENT_3(regs) ((regs)->dx)
/* write, pwrite64, writev, pwritev, pwritev2 */
#define IS_WRITE(number) \
	((number) == 1 || (number) == 18 || (number) == 20 || (number) == 296 || (number) == 328)
/* rename, renameat, renameat2 */
#define IS_RENAME(number) ((number) == 82 || (number) == 264 || (number) == 316)
#define FCNTL 72
#define FCNTL_FUNCTION "__x64_sys_fcntl"
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 orig_x0;
	__s32 syscallno;
};
#define INSTRUCTION(regs) ((regs)->pc)
#define FUNCTION_ARGUMENT_1(regs) ((regs)->regs[0])
#define FUNCTION_ARGUMENT_2(regs) ((regs)->regs[1])
#define FRAME_POINTER(regs) ((regs)->regs[29])
/* Return addresses may be signed; the signature lies above the address. */
#define CODE_ADDRESS(word) ((word) & ((1ULL << 48) - 1))
#define SYSCALL_NUMBER(regs) ((__u32)(regs)->syscallno)
#define SYSCALL_ARGUMENT_1(regs) ((regs)->orig_x0)
#define SYSCALL_ARGUMENT_2(regs) ((regs)->regs[1])
#define SYSCALL_ARGUMENT_3(regs) ((regs)->regs[2])
#define IS_WRITE(number) \
	((number) == 64 || (number) == 68 || (number) == 66 || (number) == 70 || (number) == 287)
#define IS_RENAME(number) ((number) == 38 || (number) == 276)
#define FCNTL 25
#define FCNTL_FUNCTION "__arm64_sys_fcntl"
#else
#error "the probe knows the registers of x86_64 and aarch64 only"
#endif

#pragma clang attribute pop

#endif
