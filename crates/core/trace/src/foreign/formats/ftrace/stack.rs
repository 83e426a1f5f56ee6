//! Frames of call stacks between events.
//!
//! ```text
//!     ffffffff81b47d7f blk_mq_start_request+0xcf ([kernel.kallsyms])      perf: behind the event
//!                1cbd1 dl_main+0xc11 (/usr/lib/ld-linux-x86-64.so.2)
//!  => blk_mq_start_request                                                ftrace: behind `<stack trace>`
//!  => /usr/lib/libc.so.6[+0x1147e2]                                       behind `<user stack trace>`
//! ```
//!
//! Frames of the program, innermost first, are the call path of the request's context; those of the kernel are left
//! out. Events wait for their stacks in `waiting.rs`.
//!
//! An address in memory changes with every run; a function and the offset in it do not, nor do the last twelve bits of
//! an address. [`Frame::file_offset`] is filled where the text tells it: by perf's `dsoff`, by ftrace, and for
//! addresses below those at which position-independent programs are mapped.
//!
//! Source: perf-script(1), "-F" and "-G"; Linux `tools/perf/util/evsel_fprintf.c` and `kernel/trace/trace_output.c`,
//! `seq_print_user_ip`.

use memchr::memmem;

use crate::context::Frame;
use crate::foreign::fields::hexadecimal_digits;

/// The lowest address of the kernel's half (Linux `Documentation/arch/x86/x86_64/mm.rst`, arm64 `memory.rst`).
const KERNEL_HALF: u64 = 1 << 63;

/// The lowest address at which position-independent programs are mapped, rounded down (0x5555_5555_4000 on x86-64,
/// 0xaaaa_aaaa_0000 on arm64).
const MAPPED: u64 = 1 << 40;

/// Bits of an address that are the same in every run: pages are mapped whole.
const PAGE_BITS: u64 = 0xfff;

/// A frame of the program, and the number that tells it from others of its function.
pub(super) struct Step {
    pub(super) frame: Frame,
    pub(super) distinction: u64,
}

/// Parses `1cbd1 dl_main+0xc11 (/usr/lib/ld.so+0x27f5)`; `None` for a frame of the kernel, or none at all.
pub(super) fn perf_frame(line: &[u8]) -> Option<Step> {
    let text = String::from_utf8_lossy(line);
    let (text, object) = match text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
    {
        Some((before, object)) => (before.trim(), object),
        None => (text.trim(), ""),
    };
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let address = hexadecimal_digits(first.as_bytes());
    let symbol = if address.is_some() { rest.trim() } else { text };
    let address = address.unwrap_or(0);
    if is_kernel(address, object) {
        return None;
    }
    let (object, file_offset) = match object.rsplit_once("+0x") {
        Some((name, offset)) => (name, hexadecimal_digits(offset.as_bytes())),
        None => (object, None),
    };
    let (name, offset) = match symbol.rsplit_once("+0x") {
        Some((name, offset)) => (name, hexadecimal_digits(offset.as_bytes())),
        None => (symbol, None),
    };
    let is_known = !matches!(name, "" | "[unknown]");
    let file_offset = file_offset.or((address < MAPPED).then_some(address));
    Some(Step {
        frame: Frame {
            build_id: String::new(),
            object: object_name(object),
            file_offset: file_offset.unwrap_or(0),
            symbol: is_known.then(|| name.to_owned()),
        },
        distinction: offset.or(file_offset).unwrap_or(address & PAGE_BITS),
    })
}

/// The object's path. Code of no file is told by brackets elsewhere in a trace.
fn object_name(object: &str) -> String {
    match object {
        "" | "//anon" | "[unknown]" => "[anon]".into(),
        path => path.into(),
    }
}

/// Whether a frame is of the kernel: by its address, or by its object, `[kernel.kallsyms]` or a module in brackets or in
/// its file.
fn is_kernel(address: u64, object: &str) -> bool {
    const OF_PROGRAMS: [&str; 7] = [
        "[unknown]",
        "[vdso]",
        "[vsyscall]",
        "[heap]",
        "[stack]",
        "[anon]",
        "[uprobes]",
    ];
    let is_module = object.starts_with('[') && !OF_PROGRAMS.contains(&object);
    let is_file = object.ends_with(".ko") || object.contains(".ko.") || object.contains("/vmlinu");
    address >= KERNEL_HALF || is_module || is_file
}

/// Parses `/usr/lib/libc.so.6[+0x1147e2]` or `<00007f12345678>`; `None` for `??`.
pub(super) fn ftrace_frame(line: &[u8]) -> Option<Step> {
    let address = |text: &[u8]| hexadecimal_digits(text.strip_prefix(b"0x").unwrap_or(text));
    let (object, file_offset, distinction) = match memmem::rfind(line, b"[+0x") {
        Some(at) => {
            let digits = line.get(at + 4..)?;
            let end = digits.iter().position(|byte| *byte == b']')?;
            let offset = hexadecimal_digits(digits.get(..end)?)?;
            (line.get(..at)?, offset, offset)
        }
        None => {
            let inside = line
                .strip_prefix(b"<")
                .and_then(|text| text.strip_suffix(b">"));
            let address = address(inside.unwrap_or(line))?;
            (b"".as_slice(), 0, address & PAGE_BITS)
        }
    };
    Some(Step {
        frame: Frame {
            build_id: String::new(),
            object: object_name(&String::from_utf8_lossy(object)),
            file_offset,
            symbol: None,
        },
        distinction,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(line: &str) -> Option<(String, u64, Option<String>)> {
        let Frame {
            object,
            file_offset,
            symbol,
            ..
        } = perf_frame(line.as_bytes())?.frame;
        Some((object, file_offset, symbol))
    }

    #[test]
    fn frames_of_the_program_are_told_from_the_kernels() {
        for kernel in [
            "ffffffff81b47d7f blk_mq_start_request+0xcf ([kernel.kallsyms])",
            "ffffffffc0001234 nvme_queue_rq+0x1 ([nvme])",
            "7f00 ext4_write+0x1 (/lib/modules/6.1/kernel/fs/ext4/ext4.ko)",
            "blk_mq_start_request ([kernel.kallsyms])",
        ] {
            assert_eq!(frame(kernel), None, "{kernel}");
        }
        let of = |object: &str, offset, symbol: Option<&str>| {
            Some((object.to_owned(), offset, symbol.map(str::to_owned)))
        };
        for (line, expected) in [
            (
                "1cbd1 dl_main+0xc11 (/lib/ld.so)",
                of("/lib/ld.so", 0x1cbd1, Some("dl_main")),
            ),
            (
                "7f12a45e0 main+0x1 (/bin/a b)",
                of("/bin/a b", 0x7_f12a_45e0, Some("main")),
            ),
            (
                "7f1234567890 [unknown] (/lib/libc.so)",
                of("/lib/libc.so", 0, None),
            ),
            (
                "7f1234567890 write+0x17 (/lib/libc.so+0x27f5)",
                of("/lib/libc.so", 0x27f5, Some("write")),
            ),
            (
                "7f1234567890 operator new(unsigned long)+0x17 (/lib/x)",
                of("/lib/x", 0, Some("operator new(unsigned long)")),
            ),
            ("7f1234567890 [unknown] (//anon)", of("[anon]", 0, None)),
            ("main (inlined)", of("inlined", 0, Some("main"))),
        ] {
            assert_eq!(frame(line), expected, "{line}");
        }
    }

    #[test]
    fn an_address_of_another_run_is_the_same_place() {
        let place = |line: &str| perf_frame(line.as_bytes()).unwrap().distinction;
        let (one, other) = (
            "7f1234567890 [unknown] (/lib/libc.so)",
            "7fabcdef0890 [unknown] (/lib/libc.so)",
        );
        assert_eq!(place(one), place(other));
        assert_eq!(
            ftrace_frame(b"/lib/libc.so.6[+0x11]")
                .unwrap()
                .frame
                .file_offset,
            0x11
        );
        assert_eq!(
            ftrace_frame(b"<00007f1234567890>").unwrap().distinction,
            0x890
        );
        assert!(ftrace_frame(b"??").is_none());
    }
}
