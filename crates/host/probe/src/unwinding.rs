//! The way from where a thread stands to its callers, by the rules of files' tables for unwinding.
//!
//! ```text
//! where the thread stands, then at each return address:
//!     rule           <- of the file; without one, guess: the next word of the stack that lies behind a call
//!     caller's stack <- stack or frame pointer + bytes of the rule
//!     return address <- the word below the caller's stack
//!     frame pointer  <- the word where the rule has it saved
//! until nobody called, the words end, or the path is long enough
//! ```

use serde::{Deserialize, Serialize};

use crate::event::SCAN_WORDS;

/// The most calls of a path that is unwound; `RECALLED_FRAMES` of `stack.bpf.h`.
const MAX_CALLS: usize = 16;
/// The most calls of a path with a guess in it; `SCANNED_FRAMES` of `stack.bpf.h`, and where the thread stands.
const MAX_GUESSED: usize = 9;
/// The mark of where a thread stands, among addresses; `STANDS_HERE` of `events.h`.
const STANDS_HERE: u64 = 1 << 63;
const WORD_BYTES: u64 = 8;

/// Pointer that leads to the caller's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pointer {
    Stack,
    Frame,
}

/// Step from a place in code to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// The caller's stack begins so many bytes above the pointer, and its return address lies below that. The caller's
    /// frame pointer was saved so many bytes below; 0 if it still is where it was.
    Call { by: Pointer, bytes: u32, saved: u16 },
    /// The thread began here: nobody called.
    Last,
}

/// Facts about an address in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rule {
    /// Whether a call instruction ends there.
    pub is_behind_call: bool,
    /// `None` where the file has no rule.
    pub step: Option<Step>,
}

impl Rule {
    /// Rule of code in no file, or in one that cannot be read.
    pub(crate) const UNKNOWN: Rule = Rule {
        is_behind_call: true,
        step: None,
    };
}

/// A step as the kernel side has it: `enum step_kind` of `events.h`.
pub(crate) fn step_word(step: Option<Step>) -> u64 {
    match step {
        Some(Step::Call { by, bytes, saved }) => {
            let kind = match by {
                Pointer::Stack => 1,
                Pointer::Frame => 2,
            };
            kind << 48 | u64::from(saved) << 32 | u64::from(bytes)
        }
        Some(Step::Last) => 3 << 48,
        None => 4 << 48,
    }
}

/// A thread that stopped: where it stands, its registers, and the words of its stack from the stack pointer on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoppedThread<'a> {
    pub instruction: u64,
    pub stack_pointer: u64,
    pub frame_pointer: u64,
    pub words: &'a [u64],
}

impl StoppedThread<'_> {
    /// The number of the word at an address.
    fn at(&self, address: u64) -> Option<usize> {
        let bytes = address.checked_sub(self.stack_pointer)?;
        let at = usize::try_from(bytes / WORD_BYTES).ok()?;
        (bytes % WORD_BYTES == 0 && at < self.words.len()).then_some(at)
    }

    fn word(&self, address: u64) -> Option<u64> {
        self.at(address).map(|at| self.words[at])
    }
}

/// A thread's call path, and the steps that lead along it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallPath {
    /// Addresses: where the thread stands, then those behind each call.
    pub addresses: Vec<u64>,
    /// The steps before the first guess, with their addresses as the kernel side has them.
    pub steps: Vec<(u64, Option<Step>)>,
}

/// A place on the way: address, and the registers there.
#[derive(Debug, Clone, Copy)]
struct Place {
    address: u64,
    stack_pointer: u64,
    frame_pointer: u64,
}

/// Follows a thread's path. `rule_of` has the rule of an address, which is where a thread stands or, if the flag is
/// set, lies behind a call: `Some(None)` where no code is, and `None`, which ends the walk, where it is yet to be asked
/// for.
pub(crate) fn unwind(
    thread: &StoppedThread<'_>,
    mut rule_of: impl FnMut(u64, bool) -> Option<Option<Rule>>,
) -> Option<CallPath> {
    let mut path = CallPath::default();
    let mut is_guessed = false;
    let mut place = Place {
        address: thread.instruction,
        stack_pointer: thread.stack_pointer,
        frame_pointer: thread.frame_pointer,
    };
    loop {
        let is_return = !path.addresses.is_empty();
        // A rule that is not here yet ends the walk: its caller asks for all that this stack may need in one question,
        // and a program that ends soon does not wait for many.
        let Some(rule) = rule_of(place.address, is_return)? else {
            return Some(path);
        };
        path.addresses.push(place.address);
        if !is_guessed {
            let mark = if is_return { 0 } else { STANDS_HERE };
            // The first place without a rule, too: there the kernel side's scan is final (`SCANNED_FOR_GOOD`). Steps
            // behind it are of no use, since its walk ends there.
            path.steps.push((place.address | mark, rule.step));
        }
        is_guessed |= rule.step.is_none();
        let most = if is_guessed { MAX_GUESSED } else { MAX_CALLS };
        if path.addresses.len() >= most {
            return Some(path);
        }
        let next = match rule.step {
            Some(step) => caller(thread, place, step),
            None => guess(thread, place, &mut rule_of)?,
        };
        // The kernel side tells stacks without a rule apart by so many of their words.
        let is_told_apart = |next: &Place| !is_guessed || next.stack_pointer <= scanned_end(thread);
        let Some(next) = next.filter(is_told_apart) else {
            return Some(path);
        };
        place = next;
    }
}

fn scanned_end(thread: &StoppedThread<'_>) -> u64 {
    thread
        .stack_pointer
        .saturating_add(SCAN_WORDS as u64 * WORD_BYTES)
}

/// The caller's place by a step; `None` if nobody called, or the words do not reach as far.
fn caller(thread: &StoppedThread<'_>, place: Place, step: Step) -> Option<Place> {
    let Step::Call { by, bytes, saved } = step else {
        return None;
    };
    let pointer = match by {
        Pointer::Stack => place.stack_pointer,
        Pointer::Frame => place.frame_pointer,
    };
    let stack_pointer = pointer.checked_add(bytes.into())?;
    // Stacks grow downwards: what leads back would never end.
    if stack_pointer <= place.stack_pointer {
        return None;
    }
    Some(Place {
        // Checked throughout: the rules come from files that any program may bring.
        address: thread.word(stack_pointer.checked_sub(WORD_BYTES)?)?,
        stack_pointer,
        frame_pointer: match saved {
            0 => place.frame_pointer,
            saved => thread.word(stack_pointer.checked_sub(saved.into())?)?,
        },
    })
}

/// The next word that lies behind a call, taken for the return address, as PCStream takes it (FAST'19, section 4.1).
fn guess(
    thread: &StoppedThread<'_>,
    place: Place,
    rule_of: &mut impl FnMut(u64, bool) -> Option<Option<Rule>>,
) -> Option<Option<Place>> {
    let Some(from) = thread.at(place.stack_pointer) else {
        return Some(None);
    };
    for (at, &address) in thread.words.iter().enumerate().take(SCAN_WORDS).skip(from) {
        if rule_of(address, true)?.is_some_and(|rule| rule.is_behind_call) {
            let above = (at as u64 + 1) * WORD_BYTES;
            return Some(Some(Place {
                address,
                stack_pointer: thread.stack_pointer.wrapping_add(above),
                // The register is callee-saved: code that does not use it leaves the caller's there, and rules lead on.
                frame_pointer: place.frame_pointer,
            }));
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOP: u64 = 0x7fff_0000;
    const CODE: std::ops::Range<u64> = 0x1000..0x2000;

    fn by_stack(bytes: u32) -> Option<Step> {
        let by = Pointer::Stack;
        Some(Step::Call {
            by,
            bytes,
            saved: 0,
        })
    }

    /// The path of a thread at 0x1000 whose frame pointer is the address of its 8th word.
    fn path(words: &[u64], rules: &[(u64, Option<Step>)]) -> CallPath {
        let thread = StoppedThread {
            instruction: 0x1000,
            stack_pointer: TOP,
            frame_pointer: TOP + 64,
            words,
        };
        let rule = |address, _| {
            let step = rules.iter().find(|rule| rule.0 == address);
            let rule = Rule {
                is_behind_call: address % 2 == 0,
                step: step.and_then(|rule| rule.1),
            };
            Some(CODE.contains(&address).then_some(rule))
        };
        unwind(&thread, rule).unwrap()
    }

    #[test]
    fn a_path_follows_the_rules_and_nothing_between_them() {
        let words = [0x1666, 0x1100, 0x1668, 0x166a, 0x1200];
        let rules = [
            (0x1000, by_stack(16)),
            (0x1100, by_stack(24)),
            (0x1200, Some(Step::Last)),
        ];
        let found = path(&words, &rules);
        assert_eq!(found.addresses, [0x1000, 0x1100, 0x1200]);
        let steps: Vec<u64> = found.steps.iter().map(|step| step.0).collect();
        assert_eq!(steps, [0x1000 | STANDS_HERE, 0x1100, 0x1200]);
        // Where the words end, the path does.
        assert_eq!(path(&words[..4], &rules).addresses, [0x1000, 0x1100]);
    }

    #[test]
    fn a_saved_frame_pointer_leads_on() {
        // Word 1 saves the frame pointer, which the caller goes by.
        let words = [0, TOP + 40, 0x1100, 0, 0, 0, 0, 0x1200, 0];
        let rules = [
            (
                0x1000,
                Some(Step::Call {
                    by: Pointer::Stack,
                    bytes: 24,
                    saved: 16,
                }),
            ),
            (
                0x1100,
                Some(Step::Call {
                    by: Pointer::Frame,
                    bytes: 24,
                    saved: 0,
                }),
            ),
            (0x1200, Some(Step::Last)),
        ];
        assert_eq!(path(&words, &rules).addresses, [0x1000, 0x1100, 0x1200]);
    }

    #[test]
    fn without_a_rule_the_next_word_behind_a_call_is_guessed_and_rules_lead_on_from_there() {
        let words = [0x5000, 0x1101, 0x1100, 0x1668, 0x1200];
        let rules = [(0x1100, by_stack(16)), (0x1200, Some(Step::Last))];
        let found = path(&words, &rules);
        assert_eq!(found.addresses, [0x1000, 0x1100, 0x1200]);
        assert_eq!(found.steps, [(0x1000 | STANDS_HERE, None)]);
        // Stacks with a guess are told apart by their first words alone.
        let mut deep = [0; SCAN_WORDS + 2];
        deep[SCAN_WORDS] = 0x1100;
        assert_eq!(path(&deep, &[]).addresses, [0x1000]);
    }

    #[test]
    fn a_step_has_the_kernel_sides_form() {
        let step = Step::Call {
            by: Pointer::Frame,
            bytes: 0x1234_5678,
            saved: 16,
        };
        assert_eq!(step_word(Some(step)), 0x0002_0010_1234_5678);
        assert_eq!(step_word(by_stack(8)), 0x0001_0000_0000_0008);
        assert_eq!(step_word(Some(Step::Last)), 0x0003_0000_0000_0000);
        assert_eq!(step_word(None), 0x0004_0000_0000_0000);
    }

    proptest! {
        #[test]
        fn whatever_the_rules_a_path_ends_within_its_bounds(
            words in proptest::collection::vec(prop_oneof![0x1000_u64..0x1040, TOP..TOP + 800, any::<u64>()], 0..100),
            rules in proptest::collection::vec((any::<bool>(), prop_oneof![0_u32..200, any::<u32>()], prop_oneof![0_u16..100, any::<u16>()]), 0x40),
            holes in proptest::collection::vec(any::<bool>(), 0x40),
        ) {
            let steps = rules.into_iter().zip(holes).map(|((by, bytes, saved), hole)| {
                let by = if by { Pointer::Stack } else { Pointer::Frame };
                (!hole).then_some(Step::Call { by, bytes, saved })
            });
            let rules: Vec<_> = (0x1000..).zip(steps).collect();
            let found = path(&words, &rules);
            prop_assert!((1..=MAX_CALLS).contains(&found.addresses.len()));
            prop_assert!(found.steps.len() <= found.addresses.len());
        }
    }
}
