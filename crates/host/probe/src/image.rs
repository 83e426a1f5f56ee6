//! The number by which the image of a process is known ([`ImageKey`](crate::event::ImageKey)).

use std::fs;

/// The number of the process's image, computed from `/proc/PID/stat`.
pub(crate) fn image_of(tgid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{tgid}/stat")).ok()?;
    image_in(&String::from_utf8_lossy(&stat))
}

/// `startcode ^ startstack`: fields 26 and 28 (proc_pid_stat(5)). The second field, the name in
/// brackets, may itself hold brackets and spaces.
fn image_in(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut from_26 = fields.split_ascii_whitespace().skip(23);
    let start_code: u64 = from_26.next()?.parse().ok()?;
    let start_stack: u64 = from_26.nth(1)?.parse().ok()?;
    Some(start_code ^ start_stack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_image_is_found_behind_a_name_with_brackets() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b) {}", fields.join(" "));
        assert_eq!(image_in(&stat), Some(26 ^ 28));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9]{0,3} ?[(]?[a-z) ]{0,8}( ?[0-9]{0,20}){0,30}") {
            image_in(&text);
        }
    }
}
