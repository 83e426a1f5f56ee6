//! The test whether a word found on a stack is a return address: a call lies before it, and leads on to the frame within.

use serde::{Deserialize, Serialize};

use crate::elf_code::ElfCode;

/// Number of bytes before an address that decide; the longest call instruction looked for has 7
/// bytes.
const CALL_BYTES: usize = 7;

/// Whether `before`, the bytes of code that end just before an address, end with a call
/// instruction of x86_64 (Intel SDM, CALL): `E8` with a 32-bit distance, or `FF /2` with any
/// operand. Words of a stack that fail this never were return addresses.
/// Other machines' code has no such test here and always passes.
fn follows_call(before: &[u8]) -> bool {
    if !cfg!(target_arch = "x86_64") {
        return true;
    }
    if before.len() >= 5 && before[before.len() - 5] == 0xe8 {
        return true;
    }
    (2..=CALL_BYTES.min(before.len()))
        .any(|length| is_indirect_call(&before[before.len() - length..]))
}

/// The place of the frame that a call must have led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Within {
    /// An offset in the same file.
    Here(u64),
    /// Another file.
    Elsewhere,
    /// Not known: code of no file.
    Unknown,
}

/// Whether the call that ends at an offset of a file can have led to the frame within it. Stacks keep addresses of calls
/// that have returned, too: a function leaves its frame without clearing it. Where the file does not tell, it can.
pub(crate) fn leads_on(file: &[u8], end: u64, within: Within) -> bool {
    let offset = usize::try_from(end).unwrap_or(usize::MAX);
    let Some(before) = offset
        .checked_sub(CALL_BYTES)
        .and_then(|begin| file.get(begin..offset))
    else {
        return true;
    };
    if !follows_call(before) {
        return false;
    }
    let ([.., 0xe8, a, b, c, d], false) = (before, within == Within::Unknown) else {
        return true;
    };
    let distance = i32::from_le_bytes([*a, *b, *c, *d]);
    let can = || {
        let code = ElfCode::of(file)?;
        let target = code.address(end)?.wrapping_add_signed(distance.into());
        let function = match within {
            // A call that never returns may be the last of its function.
            Within::Here(offset) => Some(code.function(code.address(offset)?.wrapping_sub(1))?),
            Within::Elsewhere | Within::Unknown => None,
        };
        Some(code.leads(target, function.as_ref()))
    };
    !cfg!(target_arch = "x86_64") || can().unwrap_or(true)
}

/// Whether `code` is exactly one `FF /2`.
fn is_indirect_call(code: &[u8]) -> bool {
    let (0xff, modrm) = (code[0], code[1]) else {
        return false;
    };
    if (modrm >> 3) & 7 != 2 {
        return false;
    }
    let (mode, register) = (modrm >> 6, modrm & 7);
    let scaled = mode != 3 && register == 4;
    let displacement = match mode {
        0 if register == 5 => 4,
        0 if scaled && code.get(2).is_some_and(|sib| sib & 7 == 5) => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    code.len() == 2 + usize::from(scaled) + displacement
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_call_is_recognised() {
        let calls: [&[u8]; 9] = [
            &[0xe8, 0x10, 0x20, 0x30, 0x40],             // call rel32
            &[0xff, 0xd0],                               // call rax
            &[0x41, 0xff, 0xd4],                         // call r12
            &[0xff, 0x10],                               // call [rax]
            &[0xff, 0x50, 0x18],                         // call [rax+24]
            &[0xff, 0x54, 0x24, 0x08],                   // call [rsp+8]
            &[0xff, 0x15, 0x01, 0x02, 0x03, 0x04],       // call [rip+n]
            &[0xff, 0x90, 0x00, 0x01, 0x00, 0x00],       // call [rax+256]
            &[0xff, 0x94, 0xc1, 0x00, 0x01, 0x00, 0x00], // call [rcx+rax*8+256]
        ];
        for call in calls {
            let mut before = vec![0x90; 8];
            before.extend(call);
            assert!(follows_call(&before), "{call:02x?}");
            assert!(follows_call(call), "{call:02x?} at the start of the code");
        }
    }

    #[test]
    fn other_code_is_no_call() {
        let others: [&[u8]; 6] = [
            &[],
            &[0xff],
            &[0x90; 8],
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0], // jmp rax
            &[0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24], // cut off
            &[0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0xe5], // mov rbp, rsp
        ];
        for other in others {
            assert!(!follows_call(other), "{other:02x?}");
        }
    }

    #[test]
    fn a_call_of_another_function_is_no_frame_of_this_path() {
        use crate::elf_code::tests::{BEGINNINGS, CODE, small_elf};

        let mut file = small_elf();
        let end = CODE + 0x30;
        let verdicts = BEGINNINGS.map(|target| {
            let distance = (target as i32 - end as i32).to_le_bytes();
            file[end as usize - 5] = 0xe8;
            file[end as usize - 4..end as usize].copy_from_slice(&distance);
            [Within::Here(0x444), Within::Elsewhere, Within::Unknown]
                .map(|within| leads_on(&file, end, within))
        });
        assert_eq!(verdicts[0], [true, true, true], "a stub");
        assert_eq!(verdicts[2], [true, false, true], "the function itself");
        assert_eq!(verdicts[4], [false, true, true], "one that jumps to a stub");
        file[end as usize - 5] = 0x90;
        assert!(!leads_on(&file, end, Within::Unknown));
        // An indirect call may lead anywhere, and so may one of a file that does not tell.
        file[end as usize - 2..end as usize].copy_from_slice(&[0xff, 0xd0]);
        assert!(leads_on(&file, end, Within::Elsewhere));
        assert!(leads_on(b"short", 3, Within::Elsewhere));
    }
}
