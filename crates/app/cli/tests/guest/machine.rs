//! The guest as a test sees it: a script that runs there, says things and asks for things.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

/// Result of a section of a script's output.
#[derive(Debug, Clone)]
pub struct Section {
    /// Printed text.
    pub output: String,
    /// The exit status.
    pub status: i32,
}

/// Extras of a guest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hardware<'a> {
    /// A disk, of which the guest changes a copy alone.
    pub disk: Option<&'a Path>,
    /// Environment of `scripts/guest.sh`.
    pub environment: &'a [(&'static str, String)],
    /// Whether the script ends by resetting the machine.
    pub is_reset: bool,
}

/// All sections of a script, by name.
#[derive(Debug)]
pub struct Report(BTreeMap<String, Section>);

impl Report {
    /// A section, whatever it came to.
    pub fn section(&self, name: &str) -> &Section {
        self.0
            .get(name)
            .unwrap_or_else(|| panic!("the script has no section {name}: {:?}", self.0.keys()))
    }

    /// All sections, by name.
    pub fn sections(&self) -> impl Iterator<Item = (&String, &Section)> {
        self.0.iter()
    }

    /// The output of a section that succeeded.
    pub fn output(&self, name: &str) -> &str {
        let section = self.section(name);
        assert_eq!(section.status, 0, "{name} failed: {}", section.output);
        &section.output
    }

    /// The output of a section that succeeded, as JSON.
    pub fn json(&self, name: &str) -> Value {
        let output = self.output(name);
        let begin = output.find(['{', '[']).unwrap_or(0);
        serde_json::from_str(&output[begin..])
            .unwrap_or_else(|error| panic!("{name}: {error}: {output}"))
    }

    /// The output of a section that printed bytes as hexadecimal numbers.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let words = self.output(name).split_whitespace();
        words
            .map(|word| u8::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{name}: {word}")))
            .collect()
    }

    /// The same as 16-bit numbers.
    pub fn numbers(&self, name: &str) -> Vec<u16> {
        let bytes = self.bytes(name);
        bytes
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect()
    }

    /// A section that had to fail, and whose output names a status.
    pub fn refused(&self, name: &str, word: &str) {
        let section = self.section(name);
        assert_ne!(section.status, 0, "{name} succeeded: {}", section.output);
        assert!(section.output.contains(word), "{name}: {}", section.output);
    }
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .unwrap()
        .to_owned()
}

/// Runs a script of this directory in the guest, behind the prelude and a few variables. What it
/// asks for (`ask WHAT`) is answered by `answer`. Panics unless the script ends well.
pub fn run(
    script: &str,
    seconds: u32,
    variables: &[(&str, String)],
    answer: impl FnMut(&str) -> String,
) -> Report {
    run_with(script, seconds, variables, &[], answer)
}

/// The same with files, which lie beside the script in `/job`.
pub fn run_with(
    script: &str,
    seconds: u32,
    variables: &[(&str, String)],
    files: &[PathBuf],
    answer: impl FnMut(&str) -> String,
) -> Report {
    run_text(&text_of(script), seconds, variables, files, answer)
}

/// A script of this directory.
pub fn text_of(script: &str) -> String {
    fs::read_to_string(root().join("crates/app/cli/tests/guest").join(script)).unwrap()
}

/// The same with a script's text.
pub fn run_text(
    script: &str,
    seconds: u32,
    variables: &[(&str, String)],
    files: &[PathBuf],
    answer: impl FnMut(&str) -> String,
) -> Report {
    run_whole(
        script,
        seconds,
        variables,
        Hardware::default(),
        files,
        answer,
    )
}

/// Runs a script of this directory beside a disk, of which the guest changes a copy alone.
pub fn run_on(disk: &Path, script: &str, seconds: u32, variables: &[(&str, String)]) -> Report {
    let nothing = |_: &str| String::new();
    let hardware = Hardware {
        disk: Some(disk),
        ..Hardware::default()
    };
    run_whole(&text_of(script), seconds, variables, hardware, &[], nothing)
}

/// Runs a script's text in a guest with this hardware.
pub fn run_whole(
    script: &str,
    seconds: u32,
    variables: &[(&str, String)],
    hardware: Hardware<'_>,
    files: &[PathBuf],
    mut answer: impl FnMut(&str) -> String,
) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("script");
    let mut text: String = variables
        .iter()
        .map(|(name, value)| format!("{name}='{value}'\n"))
        .collect();
    text.push_str(&text_of("prelude.sh"));
    text.push_str(script);
    fs::write(&whole, text).unwrap();
    let mut child = start(&whole, seconds, hardware, files);
    let mut input = child.stdin.take().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (report, transcript) = listen(output, &mut input, &mut answer);
    let status = child.wait().unwrap();
    // The word of `scripts/guest.sh` for a machine that was gone before its script had ended.
    const FELL: i32 = 125;
    let expected = if hardware.is_reset { FELL } else { 0 };
    assert_eq!(
        status.code(),
        Some(expected),
        "a script in the guest: {status}\n{transcript}"
    );
    report
}

/// A program of this directory, with frame pointers.
pub fn compiled(name: &str, directory: &Path) -> PathBuf {
    let built = directory.join(name);
    let mut compiler = Command::new("gcc");
    compiler.args([
        "-O1",
        "-fno-omit-frame-pointer",
        "-fno-optimize-sibling-calls",
        "-static",
        "-o",
    ]);
    let source = root().join(format!("crates/app/cli/tests/guest/{name}.c"));
    let status = compiler.arg(&built).arg(source).status();
    assert!(status.expect("gcc is there").success());
    built
}

/// `anabranch` for a guest, without what only debuggers read, and its libraries: `anabranch` of `prelude.sh` starts it.
pub fn program(directory: &Path) -> Vec<PathBuf> {
    let built = env!("CARGO_BIN_EXE_anabranch");
    let stripped = directory.join("anabranch");
    let mut strip = Command::new("strip");
    let status = strip.arg("-o").arg(&stripped).arg(built).status();
    assert!(status.expect("strip runs").success(), "{built}");
    libraries(built.as_ref())
        .into_iter()
        .chain([stripped])
        .collect()
}

/// The libraries of a program, its loader among them.
pub fn libraries(program: &Path) -> Vec<PathBuf> {
    let listed = Command::new("ldd").arg(program).output().expect("ldd runs");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let words = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    words.map(PathBuf::from).collect()
}

fn start(script: &Path, seconds: u32, hardware: Hardware<'_>, files: &[PathBuf]) -> Child {
    // The guest dies with us, however we die.
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL"])
        .arg(root().join("scripts/guest.sh"));
    command.args(["run", "-t"]).arg(seconds.to_string());
    if let Some(disk) = hardware.disk {
        command.arg("-d").arg(disk);
    }
    command.envs(hardware.environment.iter().cloned());
    command.arg(script).args(files);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    piped.spawn().expect("setpriv starts scripts/guest.sh")
}

/// A step that takes longer is told, so that who waits for a guest finds out for what.
const SLOW: Duration = Duration::from_secs(5);

fn listen(
    output: impl BufRead,
    input: &mut ChildStdin,
    answer: &mut impl FnMut(&str) -> String,
) -> (Report, String) {
    let mut sections = BTreeMap::new();
    let mut current: Option<(String, String)> = None;
    let mut transcript = String::new();
    let mut last = Instant::now();
    for line in output.split(b'\n') {
        let line = String::from_utf8_lossy(&line.unwrap()).into_owned();
        if line.starts_with('@') {
            if last.elapsed() > SLOW {
                eprintln!("after {} s: {line}", last.elapsed().as_secs());
            }
            last = Instant::now();
        }
        transcript.push_str(&line);
        transcript.push('\n');
        if let Some(name) = line.strip_prefix("@begin ") {
            current = Some((name.to_owned(), String::new()));
        } else if let Some(status) = line.strip_prefix("@end ") {
            let (name, output) = current
                .take()
                .unwrap_or_else(|| panic!("@end of nothing:\n{transcript}"));
            let status = status.trim().parse().unwrap();
            let output = output.trim_end().to_owned();
            assert!(
                sections
                    .insert(name.clone(), Section { output, status })
                    .is_none(),
                "two sections {name}"
            );
        } else if let Some(what) = line.strip_prefix("@ask ") {
            let reply = answer(what);
            writeln!(input, "{reply}").unwrap();
        } else if let Some((_, output)) = &mut current {
            output.push_str(&line);
            output.push('\n');
        }
    }
    (Report(sections), transcript)
}
