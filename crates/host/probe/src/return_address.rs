//! The test whether code before an address ends with a call: only then can a word of a stack be a return address.

/// Number of bytes before an address that decide; the longest call instruction looked for has 7
/// bytes.
pub(crate) const CALL_BYTES: usize = 7;

/// Whether `before`, the bytes of code that end just before an address, end with a call
/// instruction of x86_64 (Intel SDM, CALL): `E8` with a 32-bit distance, or `FF /2` with any
/// operand. Words of a stack that fail this never were return addresses.
/// Other machines' code has no such test here and always passes.
pub(crate) fn follows_call(before: &[u8]) -> bool {
    if !cfg!(target_arch = "x86_64") {
        return true;
    }
    if before.len() >= 5 && before[before.len() - 5] == 0xe8 {
        return true;
    }
    (2..=CALL_BYTES.min(before.len()))
        .any(|length| is_indirect_call(&before[before.len() - length..]))
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
}
