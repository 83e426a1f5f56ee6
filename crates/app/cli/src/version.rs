//! The text of `--version`: the release, its commit, the features built in, and those of this kernel.

use std::{path::Path, sync::LazyLock};

use crate::kernel::said_by_kernel;

/// The text of `--version`; `-V` prints the release only.
pub static LONG: LazyLock<String> = LazyLock::new(|| {
    let types = Path::new("/sys/kernel/btf/vmlinux").exists();
    long(
        env!("ANABRANCH_COMMIT"),
        [
            cfg!(feature = "live"),
            cfg!(feature = "serve"),
            cfg!(feature = "steer"),
            cfg!(feature = "doctor"),
            cfg!(feature = "calibrate"),
        ],
        &said_by_kernel("osrelease"),
        types,
    )
});

fn long(commit: &str, built: [bool; 5], kernel: &str, types: bool) -> String {
    let commit = match commit {
        "" => "not known (a development build)",
        known => known,
    };
    let verbs: Vec<&str> = built
        .into_iter()
        .zip([
            "run, record, watch",
            "serve",
            "steer",
            "doctor",
            "calibrate",
        ])
        .filter_map(|(has, verbs)| has.then_some(verbs))
        .collect();
    let verbs = match verbs.join(", ") {
        none if none.is_empty() => "none".to_owned(),
        some => some,
    };
    let types = if types {
        "has type information (BTF), which `run`, `record` and `watch` need"
    } else {
        "has no type information (/sys/kernel/btf/vmlinux), which `run`, `record` and `watch` need"
    };
    format!(
        "{}\ncommit: {commit}\nbuilt in: {verbs}\nkernel: {kernel}, {types}",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::long;

    #[test]
    fn a_build_of_a_known_commit_names_it() {
        let text = long("0123456789ab", [true; 5], "6.18.0", true);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "commit: 0123456789ab");
        assert_eq!(
            lines[2],
            "built in: run, record, watch, serve, steer, doctor, calibrate"
        );
        assert!(lines[3].starts_with("kernel: 6.18.0, has type information"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let text = long("", [false; 5], "6.18.0", false);
        assert!(text.contains("commit: not known"), "{text}");
        assert!(text.contains("built in: none"), "{text}");
        assert!(text.contains("has no type information"), "{text}");
    }
}
