//! The colour and line in which a scheme is drawn: the same on every page, whatever else is compared there.

use std::collections::BTreeMap;

use serde::Serialize;

/// Number of hues in the page's stylesheet.
const HUES: usize = 7;
/// Number of kinds of lines, the plain one first.
const DASHES: usize = 5;
/// Schemes in the order in which hues are given: those compared most often have hues of their own.
const ORDER: [&str; 25] = [
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
    "flashalloc",
];

/// Drawing style of a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The number of its hue; `None` for a drive without streams, which is drawn in ink.
    pub hue: Option<usize>,
    /// The number of its kind of line.
    pub dash: usize,
}

/// The look of each of these schemes.
pub fn looks<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, Look> {
    names.map(|name| (name.to_owned(), look_of(name))).collect()
}

fn look_of(name: &str) -> Look {
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

/// A number computed from the words, the same in every run (FNV-1a, 32 bits).
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
            .map(|name| (look_of(name).hue, look_of(name).dash))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), ORDER.len());
    }

    /// A colour of sRGB in OKLab (Ottosson 2020), where distances are about as far apart as people see them.
    fn oklab(colour: &str) -> [f64; 3] {
        let part = |at: usize| {
            let byte = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
            let part = f64::from(byte) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        };
        let [red, green, blue] = [1, 3, 5].map(part);
        let cone = |share: [f64; 3]| (share[0] * red + share[1] * green + share[2] * blue).cbrt();
        let [l, m, s] = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ]
        .map(cone);
        [
            0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
            1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
            0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
        ]
    }

    #[test]
    fn hues_are_far_from_each_other_and_from_their_kin_on_light_and_dark_grounds() {
        let programs = include_str!("page/colours.js");
        for name in ["const ON_LIGHT = [", "const ON_DARK = ["] {
            let list = programs.split(name).nth(1).unwrap();
            let list = list.split(']').next().unwrap();
            let hues: Vec<&str> = list.split('"').filter(|hue| hue.starts_with('#')).collect();
            assert_eq!(hues.len(), HUES);
            for (at, one) in hues.iter().enumerate() {
                for other in &hues[..at] {
                    let pairs = oklab(one).into_iter().zip(oklab(other));
                    let apart = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    assert!(apart > 0.12, "{one} and {other}: {apart:.3}");
                    // Two blues may be far apart and are still both called blue.
                    let hue = |colour: &str| {
                        let [_, a, b] = oklab(colour);
                        b.atan2(a).to_degrees()
                    };
                    let turn = (hue(one) - hue(other)).rem_euclid(360.0);
                    assert!(
                        turn.min(360.0 - turn) > 16.0,
                        "{one} and {other}: {turn:.0} degrees"
                    );
                }
            }
        }
    }
}
