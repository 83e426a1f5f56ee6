//! The rules for unwinding in an ELF file of x86_64: `.eh_frame` by its table `.eh_frame_hdr` (LSB Core 5.0, "Exception
//! Frames"), which stripped files have too. The file is another user's: nothing in it is believed to lie within it.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, ParsedEhFrameHdr,
    Pointer as Encoded, Register, RegisterRule, UnwindContext, UnwindSection as _, X86_64,
};

use crate::return_address::{CALL_BYTES, follows_call};
use crate::unwinding::{Pointer, Rule, Step};

/// The most segments that are looked at (our choice: linkers make some ten).
const MAX_SEGMENTS: usize = 64;
/// `EM_X86_64` (gABI).
const X86_64_MACHINE: u16 = 62;
/// Types of program headers (gABI, and LSB Core for the last).
const LOADED: u32 = 1;
const EH_FRAME_HDR: u32 = 0x6474_e550;
/// The return address lies right below the caller's stack (psABI x86_64, section 3.2.2).
const RETURN_ADDRESS_OFFSET: i64 = -8;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The rules of a file.
pub(super) struct CallFrames<'a> {
    file: &'a [u8],
    /// `None` where the file is of no known form or has no table.
    table: Option<Table<'a>>,
}

struct Table<'a> {
    segments: Vec<Segment>,
    header: ParsedEhFrameHdr<Bytes<'a>>,
    frames: EhFrame<Bytes<'a>>,
    bases: BaseAddresses,
    context: UnwindContext<usize>,
}

/// A part of the file that is loaded.
#[derive(Debug, Clone, Copy)]
struct Segment {
    address: u64,
    offset: u64,
    bytes: u64,
}

impl<'a> CallFrames<'a> {
    pub(super) fn of(file: &'a [u8]) -> CallFrames<'a> {
        CallFrames {
            file,
            table: Table::of(file),
        }
    }

    /// The rule at an offset of the file, or if that is a return address, at the call before it.
    pub(super) fn rule(&mut self, offset: u64, is_return: bool) -> Rule {
        let before = offset
            .checked_sub(CALL_BYTES as u64)
            .and_then(|begin| part(self.file, begin, CALL_BYTES as u64));
        Rule {
            is_behind_call: before.is_none_or(follows_call),
            step: self
                .table
                .as_mut()
                .and_then(|table| table.step(offset, is_return)),
        }
    }
}

impl<'a> Table<'a> {
    fn of(file: &'a [u8]) -> Option<Table<'a>> {
        if !file.starts_with(b"\x7fELF\x02\x01") || half(file, 18)? != X86_64_MACHINE {
            return None;
        }
        let (first, bytes, count) = (word(file, 32)?, half(file, 54)?, half(file, 56)?);
        let (mut segments, mut header) = (Vec::new(), None);
        for at in 0..usize::from(count).min(MAX_SEGMENTS) as u64 {
            let program_header = first.checked_add(at * u64::from(bytes))?;
            let field = |place: u64| word(file, program_header.checked_add(place)?);
            let segment = Segment {
                offset: field(8)?,
                address: field(16)?,
                bytes: field(32)?,
            };
            match long(file, program_header)? {
                LOADED => segments.push(segment),
                EH_FRAME_HDR => header = Some(segment),
                _ => {}
            }
        }
        let header = header?;
        let bytes = part(file, header.offset, header.bytes)?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(header.address);
        let header = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
        let Encoded::Direct(begin) = header.eh_frame_ptr() else {
            return None;
        };
        let frames = segments.iter().find_map(|segment: &Segment| {
            let within = begin.checked_sub(segment.address)?;
            let left = segment.bytes.checked_sub(within)?;
            part(file, segment.offset.checked_add(within)?, left)
        })?;
        Some(Table {
            segments,
            header,
            frames: EhFrame::new(frames, LittleEndian),
            bases: bases.set_eh_frame(begin),
            context: UnwindContext::new(),
        })
    }

    /// The address of the byte at an offset of the file.
    fn address(&self, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = offset.checked_sub(segment.offset)?;
            (within < segment.bytes).then(|| segment.address.wrapping_add(within))
        })
    }

    fn step(&mut self, offset: u64, is_return: bool) -> Option<Step> {
        // A call may be the last instruction of its function: the address behind it is another's.
        self.step_at(self.address(offset.checked_sub(is_return.into())?)?)
    }

    fn step_at(&mut self, address: u64) -> Option<Step> {
        let function = self.header.table()?.fde_for_address(
            &self.frames,
            &self.bases,
            address,
            EhFrame::cie_from_offset,
        );
        let function = function.ok()?;
        if function.cie().is_signal_trampoline() {
            return None;
        }
        let row = function
            .unwind_info_for_address(&self.frames, &self.bases, &mut self.context, address)
            .ok()?;
        match row.register(function.cie().return_address_register()) {
            Some(RegisterRule::Offset(RETURN_ADDRESS_OFFSET)) => {}
            Some(RegisterRule::Undefined) => return Some(Step::Last),
            _ => return None,
        }
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
            return None;
        };
        Some(Step::Call {
            by: pointer(*register)?,
            bytes: u32::try_from(*offset).ok()?,
            saved: match row.register(X86_64::RBP) {
                None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => 0,
                Some(RegisterRule::Offset(offset)) => u16::try_from(offset.checked_neg()?).ok()?,
                _ => return None,
            },
        })
    }
}

fn pointer(register: Register) -> Option<Pointer> {
    match register {
        X86_64::RSP => Some(Pointer::Stack),
        X86_64::RBP => Some(Pointer::Frame),
        _ => None,
    }
}

fn part(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let begin = usize::try_from(offset).ok()?;
    let end = begin.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(begin..end)
}

fn half(bytes: &[u8], offset: u64) -> Option<u16> {
    Some(u16::from_le_bytes(part(bytes, offset, 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], offset: u64) -> Option<u32> {
    Some(u32::from_le_bytes(part(bytes, offset, 4)?.try_into().ok()?))
}

fn word(bytes: &[u8], offset: u64) -> Option<u64> {
    Some(u64::from_le_bytes(part(bytes, offset, 8)?.try_into().ok()?))
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// The steps of a file as `readelf` interprets its rules, by address; `None` where no step has such rules.
    fn by_readelf(file: &str) -> BTreeMap<u64, Option<Step>> {
        let told = Command::new("readelf")
            .args(["--debug-dump=frames-interp", file])
            .output()
            .expect("readelf is part of binutils, which gcc needs");
        let (mut columns, mut is_function) = (Vec::new(), false);
        let mut steps = BTreeMap::new();
        for line in String::from_utf8(told.stdout).unwrap().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["LOC", ..] => columns = words.iter().map(|word| (*word).to_owned()).collect(),
                [_, _, _, kind, ..] if kind == "FDE" || kind == "CIE" => {
                    is_function = kind == "FDE"
                }
                [address, ..] if is_function && words.len() == columns.len() => {
                    let row: BTreeMap<&str, &str> = columns
                        .iter()
                        .map(String::as_str)
                        .zip(words.iter().copied())
                        .collect();
                    steps.insert(u64::from_str_radix(address, 16).unwrap(), step_of(&row));
                }
                _ => {}
            }
        }
        steps
    }

    fn step_of(row: &BTreeMap<&str, &str>) -> Option<Step> {
        if row["ra"] == "u" {
            return Some(Step::Last);
        }
        let (pointer, bytes) = row["CFA"].split_once('+')?;
        let by = match pointer {
            "rsp" => Pointer::Stack,
            "rbp" => Pointer::Frame,
            _ => return None,
        };
        let saved = match row.get("rbp").copied().unwrap_or("u") {
            "u" | "s" => 0,
            place => place.strip_prefix("c-")?.parse().ok()?,
        };
        let bytes = bytes.parse().ok()?;
        (row["ra"] == "c-8").then_some(Step::Call { by, bytes, saved })
    }

    /// The C library that this test runs with.
    fn library() -> String {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let paths = maps
            .lines()
            .filter_map(|line| line.split_whitespace().nth(5));
        let mut libraries =
            paths.filter(|path| path.contains("/libc.so") || path.contains("/libc-"));
        libraries
            .next()
            .expect("the C library is mapped")
            .to_owned()
    }

    #[test]
    fn every_rule_of_the_c_library_is_what_readelf_makes_of_it() {
        let file = library();
        let told = by_readelf(&file);
        assert!(told.len() > 10_000, "{}", told.len());
        let bytes = fs::read(&file).unwrap();
        let mut table = Table::of(&bytes).unwrap();
        let mut unlike = 0;
        for (address, step) in told {
            let ours = table.step_at(address);
            unlike += u64::from(ours != step);
            assert!(
                ours == step || ours.is_none(),
                "{address:x}: {ours:?} {step:?}"
            );
        }
        // The way back from a signal's handler has rules that no step has.
        assert!(unlike <= 16, "{unlike}");
    }

    #[test]
    fn a_file_of_another_form_has_no_rules() {
        for file in [&b""[..], b"\x7fELF\x02\x01", &[0; 4096]] {
            assert_eq!(CallFrames::of(file).rule(64, true).step, None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn no_damage_to_a_file_makes_it_panic(
            damages in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..64),
            places in proptest::collection::vec(any::<prop::sample::Index>(), 32),
        ) {
            let mut file = fs::read("/bin/true").unwrap();
            // The headers and the table are where damage leads far.
            let header = file.windows(4).position(|bytes| bytes == [1, 0x1b, 0x03, 0x3b]).unwrap_or(0);
            for (place, byte) in damages {
                let begin = if byte % 2 == 0 { 0 } else { header };
                let at = begin + place.index(file.len() - begin) % 4096;
                if let Some(old) = file.get_mut(at) { *old = byte; }
            }
            let mut frames = CallFrames::of(&file);
            for place in places {
                frames.rule(place.index(file.len()) as u64, true);
            }
        }
    }
}
