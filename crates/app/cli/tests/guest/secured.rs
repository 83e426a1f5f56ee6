//! A drive whose hosts authenticate, in the hands of the kernel's nvme-tcp.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use tempfile::TempDir;

use super::{
    amount,
    machine::{Report, run_text, text_of},
    served::Served,
};

/// The guest's host, as `prelude.sh` names it.
const HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:2cd2c43b-a90a-45c1-a8cd-86b33ab273b5";
/// Output of `nvme gen-dhchap-key` of nvme-cli 2.13 with `--hmac=1`, 2, 3 and 0.
const SECRET: &str = "DHHC-1:01:VJOOWUW4nLeZgshDDUaQQxaGjhwVFmVsJTYyuRKzlSMCMgIH:";
const SECRET_384: &str =
    "DHHC-1:02:KsDnCfllxWVfTQh1H0vcSeqCjR2eAaeedbVYrkFuV3hgAIFEgIn+bih/Tcl40VKvmdra3w==:";
const SECRET_512: &str = "DHHC-1:03:xW1eIfqsB9+NoQfoI5jLhiWQ7rG/TFInPnhmZfXjO3O0PjXgaZzna+Uy7bhuHtJEf9u54mlv5bQmHe5zv9bIsJh6un0=:";
const OWN: &str = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";

/// Files that nobody else may read.
struct Kept(TempDir);

impl Kept {
    fn new() -> Kept {
        Kept(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn served(more: &[&str]) -> Served {
    let drive = [
        "--device", "demo", "--mode", "streams", "--size", "256MiB", "--unit", "4MiB",
    ];
    Served::start(&[&drive, more].concat())
}

fn port(served: &Served) -> String {
    served.address().port().to_string()
}

/// Runs a script behind what all scripts of secured drives begin with.
fn secured(script: &str, variables: &[(&str, String)]) -> Report {
    let text = text_of("secured-prelude.sh") + &text_of(script);
    run_text(&text, 600, variables, &[], |_| String::new())
}

/// Sections of a script that had to fail, and leave no drive behind.
fn all_refused(report: &Report, names: &[&str]) {
    for name in names {
        let section = report.section(name);
        assert_ne!(section.status, 0, "{name} got in: {}", section.output);
        assert!(!section.output.contains("a drive is there"), "{name}");
    }
}

#[test]
fn a_host_authenticates_and_none_without_the_secret_gets_in() {
    let kept = Kept::new();
    let own = kept.file("own", OWN);
    let secrets = |name: &str, secret: &str| kept.file(name, &format!("{HOST} {secret}\n"));
    let with = |file: &str, more: &[&str]| served(&[&["--host-secret", file], more].concat());
    let first = with(&secrets("256", SECRET), &["--controller-secret", &own]);
    let strong = ["--dhchap-hash", "sha384", "--dhchap-group", "ffdhe8192"];
    let second = with(
        &secrets("384", SECRET_384),
        &[&strong[..], &["--controller-secret", &own]].concat(),
    );
    let weak = ["--dhchap-hash", "sha512", "--dhchap-group", "null"];
    let third = with(&secrets("512", SECRET_512), &weak);
    let mut variables = first.variables();
    variables.extend([
        ("PORT_384", port(&second)),
        ("PORT_512", port(&third)),
        ("SECRET", SECRET.to_owned()),
        ("SECRET_384", SECRET_384.to_owned()),
        ("SECRET_512", SECRET_512.to_owned()),
        ("OWN", OWN.to_owned()),
        ("SIZE", amount(8, 64) + "M"),
    ]);
    let report = secured("authenticated.sh", &variables);
    for name in ["one-way", "mutual", "sha384", "sha512", "again"] {
        report.output(name);
    }
    let kernel = report.output("kernel");
    for words in [
        "authenticated with hash hmac(sha256) dhgroup ffdhe2048",
        "authenticated with hash hmac(sha384) dhgroup ffdhe8192",
        "authenticated with hash hmac(sha512) dhgroup null",
        "controller authenticated",
    ] {
        assert!(kernel.contains(words), "{words} is not in:\n{kernel}");
    }
    all_refused(
        &report,
        &[
            "wrong",
            "none",
            "wrong-drive",
            "no-drive-secret",
            "stranger",
        ],
    );
    for served in [first, second, third] {
        served.stop();
    }
}

/// Output of `nvme gen-tls-key` of nvme-cli 2.13 with `--hmac=1`.
const KEY: &str = "NVMeTLSkey-1:01:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";

#[test]
fn a_host_encrypts_and_none_without_the_key_gets_in() {
    let kept = Kept::new();
    let keys = |name: &str, key: &str| kept.file(name, &format!("{HOST} {key}\n"));
    let keys = keys("keys", KEY);
    let secrets = kept.file("hosts", &format!("{HOST} {SECRET}\n"));
    let first = served(&["--tls-key", &keys]);
    let second = served(&["--tls-key", &keys, "--host-secret", &secrets]);
    let mut variables = first.variables();
    variables.extend([
        ("PORT_BOTH", port(&second)),
        ("KEY", KEY.to_owned()),
        ("SECRET", SECRET.to_owned()),
        ("SIZE", amount(8, 64) + "M"),
    ]);
    let report = secured("encrypted.sh", &variables);
    for name in ["first", "digests", "both", "again"] {
        report.output(name);
    }
    let refused = [
        "clear",
        "other-name",
        "half",
        "wrong",
        "wrong-zeroth",
        "stranger",
        "none",
    ];
    all_refused(&report, &refused);
    for served in [first, second] {
        served.stop();
    }
}
