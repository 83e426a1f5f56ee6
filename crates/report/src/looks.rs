//! A scheme's colour and line: the same on every page, whatever else is compared there.

use std::collections::BTreeMap;

use serde::Serialize;

/// Hues a page has.
const HUES: usize = 7;
/// Kinds of lines it has, the plain one first.
const DASHES: usize = 5;
/// Schemes in the order in which hues are given: those compared most often have hues of their own.
const ORDER: [&str; 24] = [
    "pcstream",
    "hints",
    "anabranch",
    "pcstream*",
    "sepbit",
    "autostream-sfr",
    "manual",
    "fstream",
    "autostream-mq",
    "vstream",
    "pcstream-fcfs",
    "sequential",
    "dac",
    "eti",
    "fadac",
    "warcip",
    "multilog",
    "sfs",
    "fk",
    "midas",
    "dogi",
    "oracle",
    "oracle-rate",
    "fdp",
];

/// How a scheme is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The number of its hue; none for a drive without streams, which is drawn in ink.
    pub hue: Option<usize>,
    /// The number of its line.
    pub dash: usize,
}

/// The looks of these schemes.
pub fn looks<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, Look> {
    names.map(|name| (name.to_owned(), look(name))).collect()
}

fn look(name: &str) -> Look {
    let (host, rest) = match name.find(['+', ':']) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    // Another relocation or parameter is another line of the same hue.
    let variant = match rest {
        "" => 0,
        _ => 1 + number_of(rest) % (DASHES - 1),
    };
    if host == "baseline" {
        return Look {
            hue: None,
            dash: variant,
        };
    }
    let place = ORDER.iter().position(|known| *known == host);
    let place = place.unwrap_or_else(|| number_of(host) % (HUES * DASHES));
    Look {
        hue: Some(place % HUES),
        dash: (place / HUES + variant) % DASHES,
    }
}

/// A number that is the same for the same words (FNV-1a, 32 bits).
fn number_of(words: &str) -> usize {
    let hash = words.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schemes_look_does_not_depend_on_what_it_is_compared_with() {
        let few = looks(["baseline", "sepbit"].into_iter());
        let many = looks(["pcstream", "hints", "sepbit", "baseline"].into_iter());
        assert_eq!(few["sepbit"], many["sepbit"]);
        assert_eq!(few["baseline"], Look { hue: None, dash: 0 });
    }

    #[test]
    fn known_schemes_are_drawn_each_in_a_way_of_its_own() {
        let mut all: Vec<(Option<usize>, usize)> = ORDER
            .iter()
            .map(|name| (look(name).hue, look(name).dash))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), ORDER.len());
    }
}
