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
/// A place for the address that a function of this file chooses: `R_X86_64_IRELATIVE` (psABI).
const CHOSEN_SLOT: u64 = 37;
/// A function, and one that chooses among several when it is bound: `STT_FUNC` and `STT_GNU_IFUNC` (gABI).
const FUNCTION: u8 = 2;
const CHOOSING: u8 = 10;
/// The most stubs that a call is followed through, one after the other (our choice).
const MAX_STUBS: u8 = 3;

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

    /// Whether a call of `target` can have led to a function of `other`, which may be this file: the target is that
    /// function, jumps to it in place of a last call, is short and jumps somewhere, or is a stub of the linker's for it.
    pub(crate) fn leads(&self, target: u64, other: &ElfCode<'_>, to: &Function) -> bool {
        self.leads_by(target, other, to, MAX_STUBS)
    }

    fn leads_by(&self, target: u64, other: &ElfCode<'_>, to: &Function, stubs: u8) -> bool {
        let is_same = std::ptr::eq(self.file, other.file);
        let arrives = |address: u64| match self.slot_of_stub(address) {
            Some(slot) => self.slot_leads_by(slot, other, to, stubs),
            None => is_same && to.contains(&address),
        };
        if self.slot_of_stub(target).is_some() {
            return arrives(target);
        }
        // What is in no table is not judged.
        let Some(called) = self.function(target) else {
            return true;
        };
        let bytes = called.end.saturating_sub(called.start).min(MAX_CODE);
        let Some(code) = self.code(called.start, bytes) else {
            return true;
        };
        arrives(target)
            || jumps(code, called.start).any(arrives)
            || code.len() <= MAX_THIN && jumps_anywhere(code)
    }

    /// Whether a call or a jump through a place that is filled when the file is loaded can have led to a function of
    /// `other`. Where the files do not tell, it can; but a function that this file lacks is none of its own.
    pub(crate) fn slot_leads(&self, slot: u64, other: &ElfCode<'_>, to: &Function) -> bool {
        self.slot_leads_by(slot, other, to, MAX_STUBS)
    }

    fn slot_leads_by(&self, slot: u64, other: &ElfCode<'_>, to: &Function, stubs: u8) -> bool {
        let Some(left) = stubs.checked_sub(1) else {
            return true;
        };
        let is_same = std::ptr::eq(self.file, other.file);
        if let Some(choosing) = self.chosen_by(slot) {
            return is_same && self.chooses(choosing, to);
        }
        let Some(name) = self.import(slot) else {
            return true;
        };
        other.export_leads(name, to, left).unwrap_or(!is_same)
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

    /// The relocation that fills a place when the file is loaded.
    fn relocation(&self, slot: u64) -> Option<&'a [u8]> {
        let tables = [STUB_RELOCATIONS, RELOCATIONS].into_iter();
        let rows = tables.filter_map(|(tag, size)| self.code(self.entry(tag)?, self.entry(size)?));
        let rows = rows.flat_map(|table| table.chunks_exact(RELOCATION as usize));
        rows.take(MAX_ROWS as usize)
            .find(|row| word(row, 0) == Some(slot))
    }

    /// The name of the function whose address is put into a place when the file is loaded.
    pub(crate) fn import(&self, slot: u64) -> Option<&'a [u8]> {
        let info = word(self.relocation(slot)?, 8)?;
        if !SLOTS.contains(&(info & 0xffff_ffff)) {
            return None;
        }
        let symbols = self.entry(SYMBOLS)?;
        let at = symbols.checked_add((info >> 32).checked_mul(SYMBOL)?)?;
        self.name(self.entry(STRINGS)?, self.code(at, SYMBOL)?)
    }

    /// The function of this file that chooses what address is put into a place.
    fn chosen_by(&self, slot: u64) -> Option<u64> {
        let row = self.relocation(slot)?;
        (word(row, 8)? & 0xffff_ffff == CHOSEN_SLOT).then(|| word(row, 16))?
    }

    /// Whether a function that chooses among several can have chosen this one: it takes its address, or that of none.
    fn chooses(&self, choosing: u64, to: &Function) -> bool {
        let taken = || {
            let called = self.function(choosing)?;
            let bytes = called.end.saturating_sub(called.start).min(MAX_CODE);
            let code = self.code(called.start, bytes)?;
            let begins = |address: &u64| {
                let function = self.function(*address);
                function.is_some_and(|function| function.start == *address)
            };
            Some(addresses(code, called.start).filter(begins))
        };
        let mut taken = taken().into_iter().flatten().peekable();
        taken.peek().is_none() || taken.any(|address| to.contains(&address))
    }

    /// The name of a symbol, by the address of all names.
    fn name(&self, strings: u64, symbol: &[u8]) -> Option<&'a [u8]> {
        let at = strings.checked_add(long(symbol, 0)?.into())?;
        let bytes = self.code(at, MAX_NAME)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(&bytes[..end])
    }

    /// Whether a call of the function of this name can have led to a function; `None` if the file has no such function.
    fn export_leads(&self, name: &[u8], to: &Function, stubs: u8) -> Option<bool> {
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
            let is_function = [FUNCTION, CHOOSING].contains(&(row[4] & 0xf));
            is_function && half(row, 6) != Some(0) && has_name(row) == Some(true)
        });
        let mut named = named.peekable();
        named.peek()?;
        Some(named.any(|row| match (word(row, 8), row[4] & 0xf) {
            (Some(address), CHOOSING) => self.chooses(address, to),
            (Some(address), _) => self.leads_by(address, self, to, stubs),
            (None, _) => false,
        }))
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

/// Addresses that code takes relative to itself: `8D` with a distance of 32 bits (Intel SDM, LEA).
fn addresses(code: &[u8], address: u64) -> impl Iterator<Item = u64> {
    code.windows(6).enumerate().filter_map(move |(at, bytes)| {
        let [0x8d, place, operand @ ..] = bytes else {
            return None;
        };
        let distance = i32::from_le_bytes(operand.try_into().ok()?);
        let next = address.wrapping_add(at as u64 + 6);
        (place & 0xc7 == 5).then(|| next.wrapping_add_signed(distance.into()))
    })
}

/// Whether code has a jump to an address in a register or in memory, `FF /4` (Intel SDM, JMP), other than that of a `switch`,
/// which compilers mark with `3E` where they mark targets of indirect jumps. The distance of a call backwards ends with `FF`,
/// too: that is no jump, whatever follows it.
fn jumps_anywhere(code: &[u8]) -> bool {
    let is_jump = |at: usize| code[at] == 0xff && (code[at + 1] >> 3) & 7 == 4;
    let is_operand = |before: &[u8]| {
        matches!(
            before,
            [.., 0x3e | 0xff] | [.., 0xe8 | 0xe9, _, _, _] | [.., 0x0f, 0x80..=0x8f, _, _, _]
        )
    };
    (1..code.len()).any(|end| is_jump(end - 1) && !is_operand(&code[..end - 1]))
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
        let to_third = BEGINNINGS.map(|target| code.leads(target, &code, &third));
        assert_eq!(to_third, [true, false, true, true, true]);
        // A stub leads to the function of that name, also within one file.
        let fourth = code.function(0x464).unwrap();
        let to_fourth = BEGINNINGS.map(|target| code.leads(target, &code, &fourth));
        assert_eq!(to_fourth, [false, false, false, true, false]);
        let other = small_elf();
        let other = ElfCode::of(&other).unwrap();
        let elsewhere = BEGINNINGS.map(|target| code.leads(target, &other, &third));
        assert_eq!(elsewhere, [true, false, false, false, true]);
        let wrong = BEGINNINGS.map(|target| code.leads(target, &other, &fourth));
        assert_eq!(wrong, [false; 5]);
    }

    #[test]
    fn a_function_that_another_chooses_is_called_by_its_name() {
        let mut file = small_elf();
        // The third chooses when it is bound, the fourth.
        file[0x2b4] = 0x10 | CHOOSING;
        file[0x444..0x447].copy_from_slice(&[0x48, 0x8d, 0x05]);
        file[0x447..0x44b].copy_from_slice(&(0x460_i32 - 0x44b).to_le_bytes());
        let code = ElfCode::of(&file).unwrap();
        let leads = |at| code.leads(0x400, &code, &code.function(at).unwrap());
        assert_eq!([0x444, 0x464, 0x484].map(leads), [false, true, false]);
        // So does the place of a stub that has no name.
        let mut chosen = file.clone();
        chosen[0x308..0x310].copy_from_slice(&CHOSEN_SLOT.to_le_bytes());
        chosen[0x310..0x318].copy_from_slice(&0x440_u64.to_le_bytes());
        let code = ElfCode::of(&chosen).unwrap();
        let leads = |at| code.leads(0x400, &code, &code.function(at).unwrap());
        assert_eq!([0x444, 0x464, 0x484].map(leads), [false, true, false]);
        let other = small_elf();
        let other = ElfCode::of(&other).unwrap();
        assert!(!code.leads(0x400, &other, &other.function(0x464).unwrap()));
        // One that takes no function's address may choose any.
        chosen[0x444] = 0x90;
        chosen[0x445] = 0x90;
        let code = ElfCode::of(&chosen).unwrap();
        assert!(code.leads(0x400, &code, &code.function(0x484).unwrap()));
    }

    #[test]
    fn a_call_of_another_file_leads_to_the_function_of_that_name() {
        let file = small_elf();
        let code = ElfCode::of(&file).unwrap();
        assert_eq!(code.slot_of_stub(0x400), Some(SLOT));
        assert_eq!(code.slot_of_stub(0x420), None);
        assert_eq!(code.import(SLOT), Some(&b"pwrite"[..]));
        assert_eq!(code.import(SLOT + 8), None);
        let leads = |name: &[u8], at| code.export_leads(name, &code.function(at).unwrap(), 1);
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
        assert_eq!(code.export_leads(b"pwrite", &function, 1), Some(true));
        assert_eq!(code.export_leads(b"fclose", &function, 1), Some(false));
        // It chooses among several, and an older one of that name does not.
        assert_eq!(code.export_leads(b"memcpy", &function, 1), Some(false));
    }

    #[test]
    fn a_short_function_that_jumps_to_an_address_it_was_given_may_lead_anywhere() {
        let mut file = small_elf();
        let jumps: [(&[u8], bool); 6] = [
            (&[0x48, 0xff, 0xe0], true),
            (&[0x3e, 0xff, 0xe0], false),
            // A call backwards, and a prefix behind it.
            (&[0xe8, 0x10, 0xff, 0xff, 0xff, 0x66, 0x90], false),
            (&[0xe8, 0x10, 0x20, 0xfe, 0xff, 0x66, 0x90], false),
            (&[0x0f, 0x84, 0x10, 0x20, 0xfe, 0xff, 0x64, 0x90], false),
            (&[0xe8, 0x10, 0x20, 0xfe, 0xff, 0x5b, 0xff, 0xe0], true),
        ];
        for (jump, leads) in jumps {
            file[0x430..0x43c].fill(0x90);
            file[0x430..0x430 + jump.len()].copy_from_slice(jump);
            let code = ElfCode::of(&file).unwrap();
            let third = code.function(0x444).unwrap();
            assert_eq!(code.leads(0x420, &code, &third), leads, "{jump:x?}");
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
                let name = code.slot_of_stub(address % 0x500).and_then(|slot| code.import(slot));
                code.import(SLOT);
                if let Some(function) = function {
                    code.leads(address, &code, &function);
                    code.leads(address % 0x500, &code, &function);
                    let other = small_elf();
                    code.leads(address % 0x500, &ElfCode::of(&other).unwrap(), &function);
                    code.slot_leads(SLOT, &code, &function);
                    code.export_leads(name.unwrap_or(b"pwrite"), &function, 2);
                }
                code.address(address);
            }
        }
    }
}
