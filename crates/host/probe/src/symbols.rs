//! Symbols for the addresses of a context table.

use std::collections::HashMap;

use anabranch_trace::Context;
use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolizer};

/// Fills in `symbol` of every frame whose object is still the same file at its path.
pub fn symbolise(contexts: &mut [Context]) {
    let mut names: HashMap<(String, u64), Option<String>> = HashMap::new();
    let symbolizer = Symbolizer::builder()
        .enable_code_info(false)
        .enable_inlined_fns(false)
        .build();
    for frame in contexts.iter_mut().flat_map(|context| &mut context.frames) {
        let key = (frame.object.clone(), frame.file_offset);
        let name = names.entry(key).or_insert_with(|| {
            name_of(
                &symbolizer,
                &frame.object,
                &frame.build_id,
                frame.file_offset,
            )
        });
        frame.symbol = name.clone();
    }
}

fn name_of(
    symbolizer: &Symbolizer,
    object: &str,
    build_id: &str,
    file_offset: u64,
) -> Option<String> {
    if !object.starts_with('/') || crate::build_id::build_id(object).unwrap_or_default() != build_id
    {
        return None;
    }
    // A return address may already lie in the next function: ask for the call itself.
    let call = file_offset.checked_sub(1)?;
    // A debug file that cannot be read must not hide what the object's own table says.
    [true, false].into_iter().find_map(|debug_syms| {
        let mut elf = Elf::new(object);
        elf.debug_syms = debug_syms;
        let symbolized = symbolizer
            .symbolize_single(&Source::from(elf), Input::FileOffset(call))
            .ok()?;
        Some(symbolized.into_sym()?.name.into_owned())
    })
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
        let address = symbolise as fn(&mut [Context]) as usize as u64 + 1;
        let mut contexts = [context(frame_at(&maps, address, own.to_str().unwrap()))];
        symbolise(&mut contexts);
        let symbol = contexts[0].frames[0].symbol.clone().unwrap();
        assert!(symbol.contains("symbolise"), "{symbol}");
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
            build_id: crate::build_id::build_id(object).unwrap(),
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
        symbolise(&mut contexts);
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
        symbolise(&mut contexts);
        assert_eq!(contexts[0].frames[0].symbol, None);
    }
}
