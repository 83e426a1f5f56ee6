//! The test whether a word found on a stack is a return address: a call lies before it, and leads on to the frame within.

use serde::{Deserialize, Serialize};

use crate::elf_code::{ElfCode, Function};

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

/// Place of a word of a stack: the number of its file among a question's, and the offset there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodePlace {
    pub file: usize,
    pub offset: u64,
}

/// Verdict on a word of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// No call lies before it.
    NoCall,
    /// The call before it has returned: it leads to another function than the frame within.
    Stale,
    /// A return address.
    Call,
}

/// Judges the words of a stack, from where the thread stands outwards: of those behind a call the first `most` that lead on,
/// each to the one within that does. `None` for a word of no file, which is not judged. `leads` answers whether a word lies
/// behind a call, and with the frame within, whether that call leads to it; it ends the whole with `None`.
pub(crate) fn judge(
    words: &[Option<CodePlace>],
    most: usize,
    mut leads: impl FnMut(usize, CodePlace, Option<CodePlace>) -> Option<bool>,
) -> Option<Vec<Verdict>> {
    let mut verdicts = vec![Verdict::NoCall; words.len()];
    let (mut inner, mut taken) = (None, 0);
    for (at, &word) in words.iter().enumerate() {
        if taken > most {
            break;
        }
        if let (Some(place), true) = (word, at > 0) {
            if !leads(at, place, None)? {
                continue;
            }
            taken += 1;
            verdicts[at] = Verdict::Stale;
            if inner.is_some() && !leads(at, place, inner)? {
                continue;
            }
        } else {
            // Where the thread stands is certain.
            taken += 1;
        }
        verdicts[at] = Verdict::Call;
        inner = word;
    }
    Some(verdicts)
}

/// The frame that a call must have led to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Within<'a> {
    /// An offset in the same file.
    Here(u64),
    /// Another file, and an offset there.
    There(&'a [u8], u64),
}

/// Whether the call that ends at an offset of a file can have led to the frame within it. Stacks keep addresses of calls
/// that have returned, too: a function leaves its frame without clearing it. Where the files do not tell, it can.
pub(crate) fn leads_on(file: &[u8], end: u64, within: Option<Within<'_>>) -> bool {
    let offset = usize::try_from(end).unwrap_or(usize::MAX);
    let begin = offset.checked_sub(CALL_BYTES);
    let Some(before) = begin.and_then(|begin| file.get(begin..offset)) else {
        return true;
    };
    if !follows_call(before) {
        return false;
    }
    let Some(within) = within.filter(|_| cfg!(target_arch = "x86_64")) else {
        return true;
    };
    let can = || {
        let code = ElfCode::of(file)?;
        let after = code.address(end)?;
        let [.., a, b, c, d] = before else {
            return None;
        };
        let distance = i32::from_le_bytes([*a, *b, *c, *d]);
        let place = after.wrapping_add_signed(distance.into());
        let (other, offset) = match within {
            Within::Here(offset) => (None, offset),
            Within::There(other, offset) => (Some(ElfCode::of(other)?), offset),
        };
        let other = other.as_ref().unwrap_or(&code);
        match before {
            [_, _, 0xe8, ..] => Some(code.leads(place, other, &holder(other, offset)?)),
            // An indirect call may lead anywhere, but one through a place that the linker fills.
            [_, 0xff, 0x15, ..] => Some(code.slot_leads(place, other, &holder(other, offset)?)),
            _ => None,
        }
    };
    can().unwrap_or(true)
}

/// The function that holds the call before an offset: one that never returns may be the last of its function.
fn holder(code: &ElfCode<'_>, offset: u64) -> Option<Function> {
    code.function(code.address(offset)?.wrapping_sub(1))
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
    fn of_a_stack_the_words_count_that_lead_on_to_the_one_within() {
        let place = |file, offset| Some(CodePlace { file, offset });
        let words = [
            place(0, 1),
            place(1, 2),
            place(0, 3),
            None,
            place(1, 4),
            place(0, 5),
        ];
        let mut asked = Vec::new();
        let mut judged = |most| {
            judge(&words, most, |at, _, within| {
                asked.push((at, within));
                Some(at != 1 && (at != 2 || within.is_none()))
            })
        };
        use Verdict::{Call, NoCall, Stale};
        let all = [Call, NoCall, Stale, Call, Call, Call];
        assert_eq!(judged(8).unwrap(), all);
        // Where the thread stands is beside these two.
        let first = [Call, NoCall, Stale, Call, NoCall, NoCall];
        assert_eq!(judged(2).unwrap(), first);
        // Behind code of no file nothing is known of the frame within.
        let within = |of: usize| asked.iter().filter(move |(at, _)| *at == of);
        assert!(within(4).all(|(_, inner)| inner.is_none()));
        assert!(asked.contains(&(2, place(0, 1))) && asked.contains(&(5, place(1, 4))));
        assert_eq!(judge(&words, 8, |_, _, _| None), None);
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
            let other = small_elf();
            [
                Some(Within::Here(0x444)),
                Some(Within::There(&other, 0x444)),
                None,
            ]
            .map(|within| leads_on(&file, end, within))
        });
        assert_eq!(verdicts[0], [true, true, true], "a stub");
        assert_eq!(verdicts[2], [true, false, true], "the function itself");
        assert_eq!(verdicts[4], [true, true, true], "one that jumps to a stub");
        let other = small_elf();
        let (right, wrong) = (Within::There(&other, 0x444), Within::There(&other, 0x484));
        let stub = (BEGINNINGS[0] as i32 - end as i32).to_le_bytes();
        file[end as usize - 4..end as usize].copy_from_slice(&stub);
        assert!(leads_on(&file, end, Some(right)));
        assert!(
            !leads_on(&file, end, Some(wrong)),
            "the stub of another function"
        );
        assert!(
            !leads_on(&file, end, Some(Within::Here(0x484))),
            "the stub of another function of this file"
        );
        file[end as usize - 5] = 0x90;
        assert!(!leads_on(&file, end, None));
        // An indirect call may lead anywhere, and so may one of a file that does not tell.
        file[end as usize - 2..end as usize].copy_from_slice(&[0xff, 0xd0]);
        let elsewhere = Some(Within::There(b"", 0x444));
        assert!(leads_on(&file, end, elsewhere));
        assert!(leads_on(b"short", 3, elsewhere));
    }
}
