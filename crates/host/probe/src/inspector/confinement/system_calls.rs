//! System calls of an inspector, as a program for the kernel (seccomp(2)).

use nix::libc;
use nix::libc::sock_filter;

/// Architectures as audit knows them (`include/uapi/linux/audit.h`).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offsets within `struct seccomp_data` (`include/uapi/linux/seccomp.h`).
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// Reading and mapping files, memory, the socket, time, and the end. Calls of 32-bit programs have another architecture,
/// and those of x32 other numbers: none of them is permitted.
const PERMITTED: [libc::c_long; 49] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_faccessat,
    libc::SYS_lseek,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_ppoll,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_setitimer,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getcwd,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Calls that x86-64 alone still has.
#[cfg(target_arch = "x86_64")]
const OLDER: [libc::c_long; 9] = [
    libc::SYS_alarm,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_access,
    libc::SYS_poll,
    libc::SYS_time,
    libc::SYS_gettimeofday,
];
#[cfg(target_arch = "aarch64")]
const OLDER: [libc::c_long; 0] = [];

/// Instructions (`include/uapi/linux/bpf_common.h`).
const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;

/// Permits the calls above; every other is an error of permission.
pub(super) fn filter() -> Vec<sock_filter> {
    let step = |code: u32, value: u32, (jt, jf): (u8, u8)| sock_filter {
        code: code as u16,
        jt,
        jf,
        k: value,
    };
    let next = (0, 0);
    let refused = step(ANSWER, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, next);
    let mut steps = vec![
        step(LOAD, ARCHITECTURE_AT, next),
        step(IF_EQUAL, ARCHITECTURE, (1, 0)),
        refused,
        step(LOAD, NUMBER_AT, next),
    ];
    for &number in PERMITTED.iter().chain(&OLDER) {
        steps.push(step(IF_EQUAL, number as u32, (0, 1)));
        steps.push(step(ANSWER, libc::SECCOMP_RET_ALLOW, next));
    }
    steps.push(refused);
    steps
}
