//! Functions of an ELF file, by its table for unwinding, which stripped files have too: `.eh_frame_hdr` (LSB Core 5.0,
//! "Exception Frames"); and names of those that other files have, by its dynamic section (gABI). The file is another user's:
//! nothing in it is believed to lie within it.

/// The most segments that are looked at (our choice: linkers make some ten).
const MAX_SEGMENTS: usize = 64;
/// The most bytes of a function that are searched for jumps (our choice).
const MAX_CODE: u64 = 64 << 10;
/// The most bytes of a function that may end by a jump to an address it was given: one that only hands a call on (our
/// choice: in longer ones every second has bytes that look like such a jump).
const MAX_THIN: usize = 256;
/// The longest name of a function that is read (our choice: those of C++ have hundreds of bytes).
const MAX_NAME: u64 = 4096;
/// The most relocations and symbols that are looked at (our choice: Debian's libc has 3,200 symbols, MariaDB's server 52,000).
const MAX_ROWS: u64 = 128 << 10;
/// Types of program headers (gABI, and LSB Core for the last).
const LOADED: u32 = 1;
const DYNAMIC: u32 = 2;
const EH_FRAME_HDR: u32 = 0x6474_e550;
/// Version 1; pointers relative to themselves, counts of four bytes, a table of four bytes relative to its beginning: the
/// form that linkers write.
const KNOWN_FORM: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
const TABLE: u64 = 12;
const ROW: u64 = 8;

/// Entries of the dynamic section (gABI): names, symbols, relocations and their bytes, and those of the stubs.
const STRINGS: u64 = 5;
const SYMBOLS: u64 = 6;
const RELOCATIONS: (u64, u64) = (7, 8);
const STUB_RELOCATIONS: (u64, u64) = (23, 2);
/// Bytes of an entry of each table.
const ENTRY: u64 = 16;
const SYMBOL: u64 = 24;
const RELOCATION: u64 = 24;
/// A place for the address of a function: `R_X86_64_GLOB_DAT` and `R_X86_64_JUMP_SLOT` (psABI).
const SLOTS: [u64; 2] = [6, 7];
/// A function; one that chooses among several when it is bound is of another type (`STT_FUNC`, gABI).
const FUNCTION: u8 = 2;

/// Addresses of a function: from its first to behind its last.
pub(crate) type Function = std::ops::Range<u64>;

/// The code of a file, by addresses before it is loaded.
#[derive(Debug)]
pub(crate) struct ElfCode<'a> {
    file: &'a [u8],
    /// Address, offset and bytes of what is loaded.
    segments: Vec<(u64, u64, u64)>,
    /// Address of the table for unwinding, and its bytes.
    table: (u64, &'a [u8]),
    /// The dynamic section; empty where there is none.
    dynamic: &'a [u8],
}

impl<'a> ElfCode<'a> {
    /// `None` where the file is of no known form or has no such table.
    pub(crate) fn of(file: &'a [u8]) -> Option<ElfCode<'a>> {
        if !file.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let (first, bytes, count) = (word(file, 32)?, half(file, 54)?, half(file, 56)?);
        let (mut segments, mut table, mut dynamic) = (Vec::new(), None, &[][..]);
        for at in 0..usize::from(count).min(MAX_SEGMENTS) as u64 {
            let header = first.checked_add(at * u64::from(bytes))?;
            let field = |place: u64| word(file, header.checked_add(place)?);
            let (offset, address, length) = (field(8)?, field(16)?, field(32)?);
            match long(file, header)? {
                LOADED => segments.push((address, offset, length)),
                DYNAMIC => dynamic = part(file, offset, length)?,
                EH_FRAME_HDR => table = Some((address, part(file, offset, length)?)),
                _ => {}
            }
        }
        let table = table.filter(|(_, bytes)| bytes.starts_with(&KNOWN_FORM))?;
        Some(ElfCode {
            file,
            segments,
            table,
            dynamic,
        })
    }

    /// The address of the byte at an offset of the file.
    pub(crate) fn address(&self, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|(address, begin, length)| {
            let within = offset.checked_sub(*begin)?;
            (within <= *length).then(|| address.wrapping_add(within))
        })
    }

    /// So many bytes of code from an address on, or as many as the file has.
    fn code(&self, address: u64, most: u64) -> Option<&'a [u8]> {
        self.segments.iter().find_map(|(begin, offset, length)| {
            let within = address.checked_sub(*begin)?;
            let left = length.checked_sub(within)?;
            part(self.file, offset.checked_add(within)?, left.min(most))
        })
    }

    /// The function that an address lies in: from the last one that begins there or before to the next one.
    pub(crate) fn function(&self, address: u64) -> Option<Function> {
        let (base, bytes) = self.table;
        let claimed = u64::from(long(bytes, 8)?);
        let count = claimed.min((bytes.len() as u64).saturating_sub(TABLE) / ROW);
        let begins = |row: u64| {
            let distance = long(bytes, TABLE + row * ROW).unwrap_or(0) as i32;
            base.wrapping_add_signed(distance.into())
        };
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            if begins(middle) <= address {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let next = if low < count { begins(low) } else { u64::MAX };
        Some(begins(low.checked_sub(1)?)..next)
    }

    /// Whether a call of `target` can have led to a function of this file, or to another file (`None`): the target is that
    /// function, jumps to it in place of a last call, is short and jumps somewhere, or is a stub of the linker's for
    /// functions of other files.
    pub(crate) fn leads(&self, target: u64, to: Option<&Function>) -> bool {
        if self.is_stub(target) {
            return true;
        }
        // What is in no table is not judged.
        let Some(called) = self.function(target) else {
            return true;
        };
        let bytes = called.end.saturating_sub(called.start).min(MAX_CODE);
        let Some(code) = self.code(called.start, bytes) else {
            return true;
        };
        let arrives = |address: u64| match to {
            Some(function) => function.contains(&address),
            None => self.is_stub(address),
        };
        arrives(target)
            || jumps(code, called.start).any(arrives)
            || code.len() <= MAX_THIN && jumps_anywhere(code)
    }

    /// Whether a jump through a table of the linker's lies at an address.
    fn is_stub(&self, address: u64) -> bool {
        self.slot_of_stub(address).is_some()
    }

    /// The place of the address that a stub jumps to: `FF 25`, behind what marks the targets of indirect jumps (Intel SDM,
    /// ENDBR64 and JMP). `None` if there is no stub at an address.
    pub(crate) fn slot_of_stub(&self, address: u64) -> Option<u64> {
        let code = self.code(address, 12)?;
        let rest = code.strip_prefix(b"\xf3\x0f\x1e\xfa").unwrap_or(code);
        let rest = rest.strip_prefix(b"\xf2").unwrap_or(rest);
        let jump = rest.strip_prefix(b"\xff\x25")?;
        let distance = long(jump, 0)? as i32;
        let next = address.checked_add((code.len() - rest.len() + 6) as u64)?;
        Some(next.wrapping_add_signed(distance.into()))
    }

    fn entry(&self, tag: u64) -> Option<u64> {
        let rows = self.dynamic.len() as u64 / ENTRY;
        let found =
            (0..rows.min(MAX_ROWS)).find(|row| word(self.dynamic, row * ENTRY) == Some(tag));
        word(self.dynamic, found? * ENTRY + 8)
    }

    /// The name of the function whose address is put into a place when the file is loaded.
    pub(crate) fn import(&self, slot: u64) -> Option<&'a [u8]> {
        let tables = [STUB_RELOCATIONS, RELOCATIONS].into_iter();
        let rows = tables.filter_map(|(tag, size)| self.code(self.entry(tag)?, self.entry(size)?));
        let mut rows = rows.flat_map(|table| table.chunks_exact(RELOCATION as usize));
        let is_ours = |row: &&[u8]| word(row, 0) == Some(slot);
        let info = word(rows.by_ref().take(MAX_ROWS as usize).find(is_ours)?, 8)?;
        if !SLOTS.contains(&(info & 0xffff_ffff)) {
            return None;
        }
        let symbols = self.entry(SYMBOLS)?;
        let at = symbols.checked_add((info >> 32).checked_mul(SYMBOL)?)?;
        self.name(self.entry(STRINGS)?, self.code(at, SYMBOL)?)
    }

    /// The name of a symbol, by the address of all names.
    fn name(&self, strings: u64, symbol: &[u8]) -> Option<&'a [u8]> {
        let at = strings.checked_add(long(symbol, 0)?.into())?;
        let bytes = self.code(at, MAX_NAME)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(&bytes[..end])
    }

    /// Whether a call of the function of this name can have led to a function; `None` if the file has no such function.
    pub(crate) fn export_leads(&self, name: &[u8], to: &Function) -> Option<bool> {
        let (symbols, strings) = (self.entry(SYMBOLS)?, self.entry(STRINGS)?);
        // No entry tells the number of symbols; linkers put the names behind them.
        let bytes = strings.checked_sub(symbols)?.min(MAX_ROWS * SYMBOL);
        let rows = self.code(symbols, bytes)?.chunks_exact(SYMBOL as usize);
        let strings = self.code(strings, u64::MAX)?;
        let has_name = |row: &[u8]| {
            let text = strings.get(long(row, 0)? as usize..)?;
            Some(text.strip_prefix(name)?.first() == Some(&0))
        };
        let named = rows.filter(|row| {
            // One without a section is another file's.
            let is_function = row[4] & 0xf == FUNCTION && half(row, 6) != Some(0);
            is_function && has_name(row) == Some(true)
        });
        let mut all = named.filter_map(|row| word(row, 8)).peekable();
        all.peek()?;
        Some(all.any(|address| self.leads(address, Some(to))))
    }
}

/// Targets of the jumps in code at an address, and of what looks like one: `E9` and `0F 80` to `0F 8F` with a distance of 32
/// bits (Intel SDM, JMP and Jcc).
fn jumps(code: &[u8], address: u64) -> impl Iterator<Item = u64> {
    code.windows(6).enumerate().filter_map(move |(at, bytes)| {
        let (operand, length) = match bytes {
            [0xe9, operand @ .., _] => (operand, 5),
            [0x0f, 0x80..=0x8f, operand @ ..] => (operand, 6),
            _ => return None,
        };
        let distance = i32::from_le_bytes(operand.try_into().ok()?);
        let next = address.wrapping_add(at as u64 + length);
        Some(next.wrapping_add_signed(distance.into()))
    })
}

/// Whether code has a jump to an address in a register or in memory, `FF /4` (Intel SDM, JMP), other than that of a `switch`,
/// which compilers mark with `3E` where they mark targets of indirect jumps.
fn jumps_anywhere(code: &[u8]) -> bool {
    code.windows(3)
        .any(|bytes| bytes[0] != 0x3e && bytes[1] == 0xff && (bytes[2] >> 3) & 7 == 4)
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
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Place of the code of the file below, in it and in memory.
    pub(crate) const CODE: u64 = 0x400;
    /// Beginnings of its functions: a stub, one that calls, one that is called, one that jumps, and another.
    pub(crate) const BEGINNINGS: [u64; 5] = [0x400, 0x420, 0x440, 0x460, 0x480];

    /// Place of the address that the stub jumps to.
    const SLOT: u64 = 0x4f0;

    /// An ELF file with five functions and a table of them, that needs `pwrite` and has it.
    pub(crate) fn small_elf() -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(0x500, 0x90);
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..58].copy_from_slice(&[56, 0, 3, 0]);
        for (at, kind, offset, length) in [
            (64, 1_u32, 0_u64, 0x500_u64),
            (120, EH_FRAME_HDR, 0x200, 12 + 8 * 5),
            (176, DYNAMIC, 0x100, 16 * 4),
        ] {
            file[at..at + 4].copy_from_slice(&kind.to_le_bytes());
            file[at + 8..at + 16].copy_from_slice(&offset.to_le_bytes());
            file[at + 16..at + 24].copy_from_slice(&offset.to_le_bytes());
            file[at + 32..at + 40].copy_from_slice(&length.to_le_bytes());
        }
        file[0x200..0x204].copy_from_slice(&KNOWN_FORM);
        file[0x208..0x20c].copy_from_slice(&5_u32.to_le_bytes());
        for (row, begin) in BEGINNINGS.into_iter().enumerate() {
            let distance = (begin as i32 - 0x200).to_le_bytes();
            file[0x20c + row * 8..0x210 + row * 8].copy_from_slice(&distance);
        }
        let entries = [
            [SYMBOLS, 0x280],
            [STRINGS, 0x280 + 3 * SYMBOL],
            [STUB_RELOCATIONS.0, 0x300],
            [STUB_RELOCATIONS.1, RELOCATION],
        ];
        for (at, number) in (0x100..).step_by(8).zip(entries.concat()) {
            file[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        // Of another file, and of this one: the third function.
        for (at, section, address) in [(0x298, 0, 0), (0x2b0, 1, 0x40)] {
            file[at..at + 8].copy_from_slice(&[1, 0, 0, 0, 0x12, 0, section, 0]);
            file[at + 8..at + 10].copy_from_slice(&[address, if section > 0 { 4 } else { 0 }]);
            file[at + 10..at + 16].fill(0);
        }
        file[0x2c8..0x2d0].copy_from_slice(b"\0pwrite\0");
        for (at, number) in [(0x300, SLOT), (0x308, 1 << 32 | SLOTS[1])] {
            file[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        file[0x400..0x406].copy_from_slice(&[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25]);
        file[0x406..0x40a].copy_from_slice(&(SLOT as u32 - 0x40a).to_le_bytes());
        // The fourth jumps to the third, the fifth to the stub.
        for (at, to) in [(0x468, 0x440), (0x488, 0x400)] {
            file[at] = 0xe9;
            file[at + 1..at + 5].copy_from_slice(&(to - (at as i32 + 5)).to_le_bytes());
        }
        file
    }

    #[test]
    fn an_address_lies_in_the_function_that_begins_last_before_it() {
        let file = small_elf();
        let code = ElfCode::of(&file).unwrap();
        let found = [0x3ff, 0x400, 0x43f, 0x440, 0x4ff].map(|address| code.function(address));
        assert_eq!(
            found,
            [
                None,
                Some(0x400..0x420),
                Some(0x420..0x440),
                Some(0x440..0x460),
                Some(0x480..u64::MAX)
            ]
        );
        assert_eq!(
            (code.address(0x444), code.address(0x501)),
            (Some(0x444), None)
        );
    }

    #[test]
    fn a_call_leads_to_what_it_calls_to_what_that_jumps_to_and_by_a_stub_to_other_files() {
        let file = small_elf();
        let code = ElfCode::of(&file).unwrap();
        let third = code.function(0x444).unwrap();
        let to_third = BEGINNINGS.map(|target| code.leads(target, Some(&third)));
        assert_eq!(to_third, [true, false, true, true, false]);
        let elsewhere = BEGINNINGS.map(|target| code.leads(target, None));
        assert_eq!(elsewhere, [true, false, false, false, true]);
    }

    #[test]
    fn a_call_of_another_file_leads_to_the_function_of_that_name() {
        let file = small_elf();
        let code = ElfCode::of(&file).unwrap();
        assert_eq!(code.slot_of_stub(0x400), Some(SLOT));
        assert_eq!(code.slot_of_stub(0x420), None);
        assert_eq!(code.import(SLOT), Some(&b"pwrite"[..]));
        assert_eq!(code.import(SLOT + 8), None);
        let leads = |name: &[u8], at| code.export_leads(name, &code.function(at).unwrap());
        assert_eq!(leads(b"pwrite", 0x444), Some(true));
        assert_eq!(leads(b"pwrite", 0x484), Some(false));
        assert_eq!(leads(b"write", 0x444), None);
    }

    #[test]
    fn names_of_the_c_library_are_found() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.contains("/libc.so"));
        let (start, path) = line.unwrap().split_once('-').unwrap();
        let file = std::fs::read(&path[path.find('/').unwrap()..]).unwrap();
        let code = ElfCode::of(&file).unwrap();
        let base = u64::from_str_radix(start, 16).unwrap();
        let function = code
            .function(nix::libc::pwrite as *const () as u64 - base)
            .unwrap();
        assert_eq!(code.export_leads(b"pwrite", &function), Some(true));
        assert_eq!(code.export_leads(b"fclose", &function), Some(false));
    }

    #[test]
    fn a_short_function_that_jumps_to_an_address_it_was_given_may_lead_anywhere() {
        let mut file = small_elf();
        for (jump, leads) in [([0x48, 0xff, 0xe0], true), ([0x3e, 0xff, 0xe0], false)] {
            file[0x430..0x433].copy_from_slice(&jump);
            let code = ElfCode::of(&file).unwrap();
            assert_eq!(code.leads(0x420, None), leads, "{jump:x?}");
        }
    }

    #[test]
    fn functions_of_this_very_program_are_found() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let code = ElfCode::of(&file).unwrap();
        let (address, offset, _) = code.segments[1];
        let middle = code.address(offset + 4096).unwrap();
        assert_eq!(middle, address + 4096);
        assert!(
            code.function(middle)
                .is_some_and(|function| function.contains(&middle))
        );
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(places in proptest::collection::vec((0_usize..0x300, any::<u8>()), 0..32), address: u64) {
            let mut file = small_elf();
            for (at, byte) in places {
                file[at] = byte;
            }
            if let Some(code) = ElfCode::of(&file) {
                let function = code.function(address);
                code.leads(address, function.as_ref());
                code.leads(address % 0x500, None);
                let name = code.slot_of_stub(address % 0x500).and_then(|slot| code.import(slot));
                code.import(SLOT);
                if let Some(function) = function {
                    code.export_leads(name.unwrap_or(b"pwrite"), &function);
                }
                code.address(address);
            }
        }
    }
}
