//! The same of what observes a device: `run`, `record` and `watch`, by their own calls. Two runs of one of them never
//! write the same bytes, so what is found is read: it is whole, or what was there before.

use std::{fs::File, os::unix::process::ExitStatusExt as _};

use anabranch_trace::Reader;

use super::*;

/// A loop device of 64 MiB, as long as it lives.
struct Device(String);

impl Device {
    fn new(place: &Path) -> Device {
        let image = place.join("image");
        File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let mut losetup = Command::new("losetup");
        let made = losetup.args(["--find", "--show"]).arg(image).output();
        let made = made.expect("losetup is missing: apt-get install mount");
        let words = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "losetup: {words}");
        Device(String::from_utf8(made.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// A verb, and whether it goes on from what it left.
struct Live {
    words: &'static str,
    goes_on: bool,
}

const DD: &str = "dd if=/dev/zero of={to} bs=1M count=2 oflag=direct status=none";
const LIVE: [Live; 3] = [
    Live {
        words: "record --device {device} -o {out}/t.parquet -- {dd}",
        goes_on: false,
    },
    Live {
        words: "run --chdir --size 64MiB --unit 1MiB -s baseline -t {out}/t.parquet -o {out}/r.json --html {out}/p.html -- {dd}",
        goes_on: false,
    },
    Live {
        words: "watch {device} --unit 1MiB -s baseline --sample 1/1 --for 1s --state {out}/state -o {out}/w.json --traces {out}",
        goes_on: true,
    },
];

/// Whether a file that was found is whole.
fn is_whole(name: &str, bytes: &[u8], at: &Path) -> bool {
    match name.rsplit('.').next() {
        Some("json") => serde_json::from_slice::<serde_json::Value>(bytes).is_ok(),
        Some("html") => bytes.trim_ascii_end().ends_with(b"</html>"),
        Some("parquet") => {
            let Ok(mut reader) = Reader::open(at) else {
                return false;
            };
            let mut batch = Vec::new();
            loop {
                match reader.read_batch(&mut batch) {
                    Ok(true) => {}
                    ended => return ended.is_ok(),
                }
            }
        }
        // Whoever goes on from it says whether it is.
        _ => !bytes.is_empty(),
    }
}

fn kill_live(live: &Live, kills: usize) -> usize {
    let place = TempDir::new().unwrap();
    let (out, log) = (place.path().join("out"), place.path().join("log"));
    fs::create_dir(&out).unwrap();
    let device = Device::new(place.path());
    let to = if live.words.starts_with("run") {
        "x"
    } else {
        &device.0
    };
    let words = live.words.replace("{dd}", DD).replace("{to}", to);
    let words = words.replace("{device}", &device.0);
    let words: Vec<String> = words
        .replace("{out}", text(&out))
        .split(' ')
        .map(str::to_owned)
        .collect();
    assert!(strace(&log, &[], &words).success(), "{words:?}");
    let names: Vec<String> = tree(&out).into_keys().collect();
    assert!(!names.is_empty(), "{words:?} wrote nothing");
    // As the log of several threads has it.
    let lines = fs::read_to_string(&log).unwrap();
    let lines: String = lines.lines().map(|line| format!("1 {line}\n")).collect();
    fs::write(&log, lines).unwrap();
    let points = points(&log);
    let mut killed = 0;
    for (turn, (name, count)) in chosen(&points, kills).into_iter().enumerate() {
        // In every other turn there is something already, and in the next round at the other calls; a state is what
        // the kill before left.
        let is_over = (turn % points.len() + turn / points.len()).is_multiple_of(2);
        if !live.goes_on {
            prepare(&out, names.iter().filter(|_| is_over));
        }
        let before = tree(&out);
        let inject = format!("inject={name}:signal=SIGKILL:when={count}");
        let ended = strace(Path::new("/dev/null"), &["-e", &inject], &words);
        let at = format!("{words:?} killed at {name} {count}");
        assert!(
            ended.success() || ended.signal() == Some(9),
            "{at}: {ended}, by what was left before"
        );
        killed += usize::from(!ended.success());
        let found = tree(&out);
        for (file, bytes) in &found {
            // A trace that there was keeps its bytes under another name.
            let kept = before.values().any(|kept| kept == bytes);
            assert!(
                kept || is_whole(file, bytes, &out.join(file)),
                "{at}: {} bytes of {file}",
                bytes.len()
            );
        }
        let is_lost = |file: &&String| {
            !found.contains_key(*file) && !found.contains_key(&format!("{file}.old"))
        };
        let lost = before.keys().find(is_lost);
        assert!(live.goes_on || lost.is_none(), "{at}: {lost:?} is lost");
    }
    if !live.goes_on {
        prepare(&out, names.iter().filter(|_| false));
    }
    assert!(strace(&log, &[], &words).success(), "{words:?}");
    eprintln!(
        "{killed:>5} of {kills} kills at {} calls: {}",
        points.len(),
        live.words
    );
    killed
}

fn killed_so_often(live: &Live) {
    let kills = std::env::var("ANABRANCH_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let killed = kill_live(live, kills);
    assert!(killed * 2 >= kills, "{}: {killed} of {kills}", live.words);
}

#[test]
fn a_recording_that_is_killed_at_any_call_is_whole_or_absent() {
    killed_so_often(&LIVE[0]);
}

#[test]
fn a_run_that_is_killed_at_any_call_leaves_what_was_there_or_the_whole() {
    killed_so_often(&LIVE[1]);
}

#[test]
fn a_watcher_that_is_killed_at_any_call_goes_on() {
    killed_so_often(&LIVE[2]);
}
