//! Contents of packages besides the command: completions, manual pages, and the output of `--version`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use tempfile::TempDir;

use command::{anabranch, complaint, text};

/// The verbs that `--help` lists.
fn verbs() -> BTreeSet<String> {
    let help = String::from_utf8(anabranch(&["--help"]).stdout).unwrap();
    let list = help
        .split("Commands:\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    let first_word = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let at_margin = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    list.lines()
        .filter(at_margin)
        .map(first_word)
        .filter(|verb| verb != "help")
        .collect()
}

fn completions(shell: &str) -> String {
    let output = anabranch(&["completions", shell]);
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_shell_completes_every_verb() {
    for shell in ["bash", "zsh", "fish"] {
        let script = completions(shell);
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell} does not know {verb}");
        }
    }
}

#[test]
fn bash_completes_the_beginning_of_a_verb_and_of_an_option() {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("anabranch.bash");
    fs::write(&script, completions("bash")).unwrap();
    let completed = |words: &str| {
        let last = words.rsplit(' ').next().unwrap();
        let ask = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _anabranch anabranch {last} x; echo \"${{COMPREPLY[@]}}\"",
            text(&script)
        );
        let output = Command::new("bash").args(["-c", &ask]).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(completed("anabranch repl").trim(), "replay");
    assert_eq!(
        completed("anabranch replay --over").trim(),
        "--over-provisioning"
    );
}

#[test]
fn there_is_a_manual_page_for_the_command_and_for_each_verb() {
    let directory = TempDir::new().unwrap();
    let pages = directory.path().join("man1");
    assert!(anabranch(&["man", text(&pages)]).status.success());
    let mut expected: BTreeSet<String> = verbs()
        .iter()
        .map(|verb| format!("anabranch-{verb}.1"))
        .collect();
    expected.insert("anabranch.1".to_owned());
    let names = fs::read_dir(&pages).unwrap();
    let names: BTreeSet<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, expected);
    let page = fs::read_to_string(pages.join("anabranch-replay.1")).unwrap();
    assert!(page.contains(".SH OPTIONS"));
    let examples = ".SH EXAMPLES\n.br\nExamples:\n.nf\n  anabranch replay rocksdb.parquet\n";
    assert!(page.contains(examples), "{page}");
}

#[test]
fn pages_that_cannot_be_written_are_failed_work() {
    let words = complaint(&["man", "/proc/pages"], 1);
    assert!(words.contains("manual pages in /proc/pages"), "{words}");
}

#[test]
fn version_names_release_commit_verbs_and_kernel() {
    let short = String::from_utf8(anabranch(&["-V"]).stdout).unwrap();
    assert_eq!(
        short.trim(),
        concat!("anabranch ", env!("CARGO_PKG_VERSION"))
    );
    let long = String::from_utf8(anabranch(&["--version"]).stdout).unwrap();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(long.starts_with(short.trim()), "{long}");
    for part in [
        "\ncommit: ",
        "\nbuilt in: ",
        &format!("\nkernel: {}", kernel.trim()),
    ] {
        assert!(long.contains(part), "{long}");
    }
}

/// The metrics with a prefix that a text names.
fn metrics<'a>(text: &'a str, prefix: &str) -> BTreeSet<&'a str> {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let words = text.split(|letter| !is_name(letter));
    words
        .filter(|word| word.starts_with(prefix) && word.len() > prefix.len())
        .collect()
}

#[test]
fn alerts_ask_for_metrics_that_the_dashboard_shows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for verb in ["watch", "steer"] {
        let rules = read(&format!("anabranch-{verb}.rules.yml"));
        let dashboard = read(&format!("anabranch-{verb}.grafana.json"));
        let prefix = format!("anabranch_{verb}_");
        let asked = metrics(&rules, &prefix);
        assert!(asked.len() >= 4, "{asked:?}");
        let shown = metrics(&dashboard, &prefix);
        let unknown: Vec<_> = asked.difference(&shown).copied().collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

/// The arguments of the containers of a manifest, as JSON lists that may span lines.
#[cfg(feature = "live")]
fn arguments(manifest: &str) -> Vec<Vec<String>> {
    let lists = manifest.split("args: ").skip(1);
    let list = |rest: &str| serde_json::from_str(&rest[..=rest.find(']').unwrap()]).unwrap();
    lists.map(list).collect()
}

#[test]
#[cfg(feature = "live")]
fn the_manifest_for_a_cluster_starts_what_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../packaging/anabranch-watch.kubernetes.yaml");
    let all = arguments(&fs::read_to_string(path).unwrap());
    assert_eq!(all.len(), 2);
    let directory = TempDir::new().unwrap();
    for arguments in all {
        // Whoever is not on the machine is refused without it.
        let is_public = arguments.iter().any(|one| one == "--metrics-public");
        assert_eq!(is_public, arguments[0] == "watch", "{arguments:?}");
        let elsewhere = |one: &String| {
            one.replace("/dev/nvme0n1", "/nonexistent/drive")
                .replace("/var/lib/anabranch", text(directory.path()))
        };
        let arguments: Vec<String> = arguments.iter().map(elsewhere).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        // No option is refused: it is the drive that is not there.
        let complaint = complaint(&arguments, 2);
        assert!(complaint.contains("/nonexistent/drive"), "{complaint}");
    }
}

#[test]
fn completions_know_schemes_profiles_workloads_and_experiments() {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["completions", "bash"])
        .current_dir(tree)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let workload = cfg!(feature = "live").then_some("sqlite-wal");
    for name in ["sepbit", "pcstream-emulator", "hotstorage14"]
        .into_iter()
        .chain(workload)
    {
        assert!(text.contains(&format!(" {name} ")), "{name}");
    }
}

#[test]
fn units_that_a_unit_names_are_packed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging");
    let script = fs::read_to_string(folder.join("dist.sh")).unwrap();
    let entries = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let services = entries.filter(|path| path.extension().is_some_and(|end| end == "service"));
    let mut named = BTreeSet::new();
    for service in services {
        let unit = fs::read_to_string(service).unwrap();
        let settings = unit.lines().filter(|line| !line.starts_with('#'));
        let values = settings.filter_map(|line| line.split_once('='));
        let units = values.filter(|(key, _)| {
            ["Wants", "Requires", "After", "PartOf", "WantedBy", "Also"].contains(key)
        });
        named.extend(units.flat_map(|(_, value)| value.split(' ').map(str::to_owned)));
    }
    named.retain(|unit| unit.starts_with("anabranch"));
    assert!(named.contains("anabranch-steer.target"), "{named:?}");
    for unit in named {
        assert!(folder.join(&unit).is_file(), "{unit}");
        assert!(script.contains(&unit), "dist.sh leaves {unit} out");
    }
}
