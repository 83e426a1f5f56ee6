//! Symbols for the addresses of a context table.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anabranch_trace::Context;

use crate::inspector::Inspector;
use crate::inspector::message::{Answer, Call, Limits, Question};

/// Limits of one question. Our choice: parsing the debug information of a large database takes a second or two and a
/// few hundred MiB.
const LIMITS: Limits = Limits {
    seconds: 10,
    heap_bytes: 512 << 20,
    address_bytes: 2 << 30,
};
/// The longest that all of it may take. Our choice.
const PATIENCE: Duration = Duration::from_secs(60);
/// The attempts at one file: with its debug information, and without.
const ATTEMPTS: u8 = 2;

/// Fills in `symbol` of every frame whose object is still the same file at its path, as long as `is_wanted`. Answers
/// with the number of addresses whose file was not read to the end: it did not answer in time, was cut short, or asked
/// for too much memory.
pub fn symbolise(contexts: &mut [Context], is_wanted: &mut dyn FnMut() -> bool) -> u64 {
    let mut names = Names {
        inspector: Inspector::new(LIMITS),
        known: HashMap::new(),
        failures: HashMap::new(),
        until: Instant::now() + PATIENCE,
        unread: 0,
    };
    let frames = contexts.iter_mut().flat_map(|context| &mut context.frames);
    // A just-in-time compiler has named its own.
    for frame in frames.filter(|frame| frame.symbol.is_none()) {
        let key = (frame.object.clone(), frame.file_offset);
        let known = names.known.get(&key).cloned();
        frame.symbol = known.unwrap_or_else(|| {
            let name = names.find(&key.0, &frame.build_id, key.1, is_wanted);
            names.known.insert(key, name.clone());
            name
        });
    }
    names.unread
}

/// A sentence on addresses that [`symbolise`] found no name for; `None` if there are none.
pub fn unnamed(addresses: u64) -> Option<String> {
    (addresses > 0).then(|| {
        format!(
            "{addresses} calls are known by file and offset alone: their file did not answer in time, was cut short, or \
             asked for too much memory when their names were looked for."
        )
    })
}

struct Names {
    inspector: Inspector,
    known: HashMap<(String, u64), Option<String>>,
    /// Attempts at each file that led to no answer.
    failures: HashMap<String, u8>,
    until: Instant,
    unread: u64,
}

impl Names {
    fn find(
        &mut self,
        object: &str,
        build_id: &str,
        file_offset: u64,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Option<String> {
        if !object.starts_with('/') {
            return None;
        }
        // A return address may already lie in the next function: ask for the call itself.
        let file_offset = file_offset.checked_sub(1)?;
        let until = self.until;
        let mut is_wanted = || is_wanted() && Instant::now() < until;
        loop {
            let failures = self.failures.get(object).copied().unwrap_or(0);
            if failures >= ATTEMPTS || !is_wanted() {
                self.unread += 1;
                return None;
            }
            let mut call = Call {
                path: object.to_owned(),
                build_id: build_id.to_owned(),
                file_offset,
                debug: failures == 0,
            };
            let mut answer = self.ask(&call, &mut is_wanted);
            // A debug file that cannot be read must not hide what the object's own table says.
            if call.debug && answer == Some(None) {
                call.debug = false;
                answer = self.ask(&call, &mut is_wanted);
            }
            match answer {
                Some(name) => return name,
                None => *self.failures.entry(object.to_owned()).or_default() += 1,
            }
        }
    }

    fn ask(&mut self, call: &Call, is_wanted: &mut dyn FnMut() -> bool) -> Option<Option<String>> {
        match self
            .inspector
            .ask(&Question::Symbol(call.clone()), is_wanted)?
        {
            Answer::Text(name) => Some(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_trace::{ContextId, ContextKind, Frame};

    fn context(frame: Frame) -> Context {
        Context {
            id: ContextId(1),
            signature: 1,
            kind: ContextKind::Application,
            role: String::new(),
            frames: vec![frame],
            generation: 0,
        }
    }

    #[test]
    fn a_function_of_our_own_is_named() {
        let own = std::env::current_exe().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let address = context as fn(Frame) -> Context as usize as u64 + 1;
        let mut contexts = [context(frame_at(&maps, address, own.to_str().unwrap()))];
        assert_eq!(symbolise(&mut contexts, &mut || true), 0);
        let symbol = contexts[0].frames[0].symbol.clone().unwrap();
        assert!(symbol.contains("context"), "{symbol}");
    }

    fn frame_at(maps: &str, address: u64, object: &str) -> Frame {
        let line = maps
            .lines()
            .find(|line| line.contains(object) && line.contains("r-xp"))
            .unwrap();
        let mut fields = line.split_ascii_whitespace();
        let start = fields.next().unwrap().split('-').next().unwrap();
        let file_offset = u64::from_str_radix(fields.nth(1).unwrap(), 16).unwrap();
        Frame {
            build_id: crate::build_id::build_id(object.as_ref()).unwrap(),
            object: object.to_owned(),
            file_offset: address - u64::from_str_radix(start, 16).unwrap() + file_offset,
            symbol: None,
        }
    }

    #[test]
    fn a_file_that_is_not_the_captured_one_gives_no_names() {
        let own = std::env::current_exe().unwrap();
        let mut contexts = [context(Frame {
            build_id: "00".into(),
            object: own.to_str().unwrap().into(),
            file_offset: 0x1000,
            symbol: None,
        })];
        assert_eq!(symbolise(&mut contexts, &mut || true), 0);
        assert_eq!(contexts[0].frames[0].symbol, None);
    }

    #[test]
    fn a_file_that_is_gone_gives_no_names() {
        let mut contexts = [context(Frame {
            build_id: String::new(),
            object: "/nowhere/at/all".into(),
            file_offset: 0x1000,
            symbol: None,
        })];
        assert_eq!(symbolise(&mut contexts, &mut || true), 0);
        assert_eq!(contexts[0].frames[0].symbol, None);
    }
}
