//! Labels of contexts for people: the files they write, the innermost calls of the application's own code, and the role
//! of the thread. No two contexts of a comparison have the same label.

use std::collections::{HashMap, HashSet};

use anabranch_trace::{COMPILED, Context, ContextId, ContextKind, Frame, is_of_runtime};

mod files;
mod patterns;

pub use files::FilesWritten;
pub use patterns::NamePatterns;

/// Calls of a path that a label shows (our choice).
const CALLS: usize = 3;
/// Characters of a label (our choice).
const WIDTH: usize = 96;
/// The fewest characters of a call that are worth showing (our choice).
const LEAST: usize = 8;
/// Libraries that carry out what others decide: the C and C++ runtimes and the loader.
const RUNTIMES: [&str; 9] = [
    "libc.",
    "libc-",
    "libpthread",
    "ld-",
    "libstdc++",
    "libgcc_s",
    "libm.",
    "[vdso]",
    "libaio",
];
/// Packages of Go's own library and runtime that lie between a program and the kernel.
const GO: [&str; 12] = [
    "runtime", "syscall", "internal", "os", "io", "bufio", "fmt", "sync", "bytes", "encoding",
    "compress", "archive",
];
/// Packages of Java's own library that lie between a program and the kernel.
const JAVA: [&str; 4] = ["java.", "javax.", "sun.", "jdk."];
/// Beginnings of the names of interpreters' functions, which say what runs a script and not what the script does.
const INTERPRETERS: [&str; 6] = ["Py", "_Py", "py_", "PyEval", "v8::", "node::"];
/// Functions at the beginning or end of nearly every path; the last two are Java's.
const EVERYWHERE: [&str; 8] = [
    "main",
    "_start",
    "start_thread",
    "__libc_start_main",
    "__libc_start_call_main",
    "clone",
    "Interpreter",
    "StubRoutines",
];

/// A label for each of these contexts, in their order. `median_life` is the median lifetime of what a context wrote, in
/// bytes written to the drive.
pub fn labels<'a>(
    contexts: impl Iterator<Item = &'a Context>,
    files: &FilesWritten,
    median_life: &dyn Fn(ContextId) -> Option<u64>,
) -> Vec<String> {
    let contexts: Vec<&Context> = contexts.collect();
    let named = contexts.iter().map(|context| own_calls(&context.frames));
    let paths: Vec<Path> = contexts.iter().zip(named).map(Path::of).collect();
    let shown = telling_calls(&paths);
    let titles = files.titles();
    let rows: Vec<Wording<'_>> = contexts
        .iter()
        .zip(shown.iter().zip(&paths))
        .map(|(context, (calls, path))| Wording {
            context,
            file: titles.get(&context.id.0).cloned().unwrap_or_default(),
            calls,
            apart: None,
            generation: None,
            life: (!path.is_named).then(|| median_life(context.id)).flatten(),
        })
        .collect();
    told_apart(rows, &paths, median_life)
}

/// The calls of a context that may stand in its label, innermost first.
struct Path {
    calls: Vec<String>,
    /// Whether they are names of functions, and not offsets in a module.
    is_named: bool,
    /// The offsets of the calls that have no name.
    offsets: Vec<String>,
}

impl Path {
    fn of((context, named): (&&Context, Vec<String>)) -> Path {
        let offsets = offsets(&context.frames);
        let is_named = !named.is_empty() || offsets.is_empty();
        let calls = if is_named { named } else { offsets.clone() };
        Path {
            calls,
            is_named,
            offsets,
        }
    }
}

/// The calls that each label shows: those of few contexts, which tell most; where a path has none, those that not all
/// have, or any.
fn telling_calls(paths: &[Path]) -> Vec<Vec<String>> {
    let many = paths.iter().filter(|path| !path.calls.is_empty()).count();
    let mut sharing: HashMap<&str, usize> = HashMap::new();
    for path in paths {
        let own: HashSet<&str> = path.calls.iter().map(String::as_str).collect();
        own.into_iter()
            .for_each(|call| *sharing.entry(call).or_default() += 1);
    }
    let of_path = |path: &Path| {
        let shared_by = |most: usize| -> Vec<String> {
            let calls = path
                .calls
                .iter()
                .filter(|call| sharing[call.as_str()] <= most);
            calls.take(CALLS).cloned().collect()
        };
        let choices = [many / 2, many.saturating_sub(1), many];
        let mut shown = choices.into_iter().map(shared_by);
        shown.find(|calls| !calls.is_empty()).unwrap_or_default()
    };
    paths.iter().map(of_path).collect()
}

/// The parts of a label.
struct Wording<'a> {
    context: &'a Context,
    file: String,
    calls: &'a [String],
    /// The call that tells it from another.
    apart: Option<&'a str>,
    generation: Option<u8>,
    life: Option<u64>,
}

/// A label for each context. Those that would be the same get the call that tells them apart, then the generation of
/// their files, how long their data live, an offset in their program or, where nothing else does, their numbers.
fn told_apart<'a>(
    mut rows: Vec<Wording<'a>>,
    paths: &'a [Path],
    median_life: &dyn Fn(ContextId) -> Option<u64>,
) -> Vec<String> {
    let same = |rows: &[Wording<'_>]| groups(&rows.iter().map(Wording::text).collect::<Vec<_>>());
    for same in same(&rows) {
        for &row in &same {
            rows[row].apart = apart(row, &same, &|row| &paths[row].calls);
        }
    }
    for row in same(&rows).into_iter().flatten() {
        let generation = rows[row].context.generation;
        rows[row].generation = Some(generation).filter(|generation| *generation > 0);
    }
    for row in same(&rows).into_iter().flatten() {
        rows[row].life = median_life(rows[row].context.id);
    }
    for same in same(&rows) {
        for &row in &same {
            let offset = apart(row, &same, &|row| &paths[row].offsets);
            rows[row].apart = offset.or(rows[row].apart);
        }
    }
    let mut labels: Vec<String> = rows.iter().map(Wording::text).collect();
    for row in groups(&labels).into_iter().flatten() {
        labels[row] += &format!(" #{}", rows[row].context.id.0);
    }
    labels
}

/// The call of a row that fewest of the others have; of equals the innermost. `None` if all others have all its calls.
fn apart<'a>(row: usize, same: &[usize], calls: &dyn Fn(usize) -> &'a [String]) -> Option<&'a str> {
    let others = || same.iter().filter(|other| **other != row);
    let sharing = |call: &String| {
        others()
            .filter(|other| calls(**other).contains(call))
            .count()
    };
    let call = calls(row).iter().min_by_key(|call| sharing(call))?;
    (sharing(call) < same.len() - 1).then_some(call.as_str())
}

/// The positions of labels that are the same as another, in groups.
fn groups(labels: &[String]) -> Vec<Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, label) in labels.iter().enumerate() {
        places.entry(label).or_default().push(place);
    }
    places.into_values().filter(|same| same.len() > 1).collect()
}

impl Wording<'_> {
    /// The text of a label: file, calls and role. The call that tells it from another is never cut off.
    fn text(&self) -> String {
        let role = self.context.role.trim_end_matches(['-', '/', ':', '.']);
        let is_made = role.starts_with("mkfs");
        let mut who = match self.context.kind {
            _ if is_made => "making the file system".to_owned(),
            ContextKind::Journal => "journal of the file system".to_owned(),
            ContextKind::Metadata => "metadata of the file system".to_owned(),
            ContextKind::Unknown => "writer not known".to_owned(),
            ContextKind::Kernel => format!("kernel thread {role}"),
            ContextKind::Folded => format!("{role}, rare call paths"),
            ContextKind::Application => role.to_owned(),
        };
        if let Some(generation) = self.generation {
            who += &format!(", generation {generation}");
        }
        if let Some(life) = self.life {
            who += &format!(", lives {}", class_of_life(life));
        }
        let known = if is_made { &[][..] } else { self.calls };
        let around = [&self.file, "", &who].map(str::trim);
        let around: Vec<&str> = around.into_iter().filter(|part| !part.is_empty()).collect();
        let room = WIDTH.saturating_sub(around.join(" · ").chars().count() + 3);
        let calls = joined(known, self.apart, room);
        let parts = [&self.file, calls.as_str(), &who].map(str::trim);
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" · ")
    }
}

/// A lifetime to the next lower power of two: `4 MiB`.
fn class_of_life(bytes: u64) -> String {
    let power = bytes.max(1).ilog2();
    let unit = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][power as usize / 10];
    format!("{} {unit}", 1u64 << (power % 10))
}

/// As many calls as `room` characters hold, then `apart`, which must stay. If not even the innermost call fits, it is
/// cut.
fn joined(calls: &[String], apart: Option<&str>, room: usize) -> String {
    let last = apart.map_or_else(String::new, |call| {
        let call: String = call.chars().take(room).collect();
        format!("… < {call}")
    });
    let whole = |many: usize| {
        let kept = calls[..many].join(" < ");
        match (kept.is_empty(), last.is_empty()) {
            (false, false) => format!("{kept} < {last}"),
            _ => kept + &last,
        }
    };
    let fits = |many: &usize| whole(*many).chars().count() <= room;
    let many = (1..=calls.len()).rev().find(fits).unwrap_or(0);
    let words = if many > 0 { whole(many) } else { last.clone() };
    // The rest of the room goes to the beginning of the next call.
    let left = room.saturating_sub(words.chars().count() + if words.is_empty() { 1 } else { 4 });
    match calls
        .get(many)
        .filter(|_| many == 0 || last.is_empty() && left >= LEAST)
    {
        None => words,
        Some(next) => {
            let next: String = next.chars().take(left).collect();
            let next = next.trim_end();
            match (many, last.is_empty()) {
                (0, true) => format!("{next}…"),
                (0, false) => format!("{next}{last}"),
                _ => format!("{words} < {next}…"),
            }
        }
    }
}

/// The named calls of the application's own code, innermost first, without those that only pass bytes on. Where there
/// are none, the calls of its interpreter; never calls of the C library alone, which every program has.
fn own_calls(frames: &[Frame]) -> Vec<String> {
    let named = || {
        frames
            .iter()
            .filter_map(|frame| Some((frame, frame.symbol.as_deref()?)))
    };
    let is_go =
        named().any(|(_, symbol)| symbol.starts_with("runtime.") || symbol.starts_with("main."));
    let is_compiled = frames.iter().any(|frame| frame.object == COMPILED);
    let tells = |frame: &Frame, symbol: &str| {
        // Where functions of the program have names, those of what runs it tell nothing.
        let runs_others = is_compiled && is_of_runtime(frame);
        !is_runtime(frame) && !runs_others && !EVERYWHERE.contains(&bare(symbol))
    };
    let is_own = |symbol: &str| {
        let is_interpreter = INTERPRETERS.iter().any(|prefix| symbol.starts_with(prefix));
        let is_library = is_go && GO.contains(&package(symbol));
        // A compiled method is `int java.nio.Bits.pageSize()`.
        let method = bare(symbol).rsplit(' ').next().unwrap_or_default();
        let is_java = is_compiled && JAVA.iter().any(|package| method.starts_with(package));
        !is_interpreter && !is_library && !is_java
    };
    let telling = || named().filter(|(frame, symbol)| tells(frame, symbol));
    let own = telling().filter(|(_, symbol)| is_own(symbol));
    let mut calls: Vec<String> = own.map(shown).collect();
    if calls.is_empty() {
        calls = telling().map(shown).collect();
    }
    // Of several calls within one class only the innermost is kept.
    calls.dedup_by(|outer, inner| {
        outer == inner || class(outer).is_some_and(|own| class(inner) == Some(own))
    });
    let hands_on = calls.iter().take_while(|call| hands_on(call)).count();
    if hands_on < calls.len() {
        calls.drain(..hands_on);
    }
    calls
}

/// A function's name without what stands in brackets behind it.
fn bare(symbol: &str) -> &str {
    symbol.split('(').next().unwrap_or(symbol).trim_end()
}

/// The short form of a call.
fn shown((frame, symbol): (&Frame, &str)) -> String {
    if frame.object == COMPILED {
        compiled(symbol)
    } else {
        short(symbol)
    }
}

/// The short form of a function that a just-in-time compiler named: `Store.write` of Java's `void org.h2.Store.write(int)`,
/// the name in front of Node's and Python's place in a file, or that file where it has no name.
fn compiled(symbol: &str) -> String {
    if symbol.contains('(') {
        let method = bare(symbol);
        let name = method.rsplit(' ').next().unwrap_or(method);
        let at = name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
        return name[at..].to_owned();
    }
    let path = symbol.find('/').unwrap_or(symbol.len());
    let name = symbol[..path].split([' ', ':']).next().unwrap_or_default();
    let has_name = !name.is_empty() && name != "<module>" && name != "file";
    let file = symbol.rsplit('/').next().unwrap_or(symbol);
    if has_name { name } else { file }.to_owned()
}

/// The offsets of the application's own calls that have no name, innermost first: `fio+0x5dd0d`.
fn offsets(frames: &[Frame]) -> Vec<String> {
    // Code that lies in no file has no offset.
    let has_file = |frame: &Frame| {
        let is_bare = frame.object.starts_with('[') && frame.file_offset == 0;
        !frame.object.is_empty() && !is_bare
    };
    let own = frames
        .iter()
        .filter(|frame| frame.symbol.is_none() && has_file(frame) && !is_runtime(frame));
    // A library's version takes the room that the calls need.
    let module = |frame| object(frame).split(".so").next().unwrap_or_default();
    own.map(|frame| format!("{}+{:#x}", module(frame), frame.file_offset))
        .collect()
}

fn object(frame: &Frame) -> &str {
    frame.object.rsplit('/').next().unwrap_or_default()
}

fn is_runtime(frame: &Frame) -> bool {
    RUNTIMES
        .iter()
        .any(|runtime| object(frame).starts_with(runtime))
}

/// The class of a C++ method; `None` if the name has none.
fn class(call: &str) -> Option<&str> {
    call.rsplit_once("::").map(|(class, _)| class)
}

/// Whether a function's name says nothing more than that it writes.
fn hands_on(call: &str) -> bool {
    let last = call
        .rsplit([':', '.'])
        .next()
        .unwrap_or(call)
        .to_ascii_lowercase();
    let is_method = call.contains("::") && ["append", "sync", "flush"].contains(&last.as_str());
    let writes = ["write", "writev", "write64", "sync"];
    is_method || writes.iter().any(|name| last.ends_with(name))
}

/// The first part of a Go function's package: `internal` of `internal/poll.(*FD).Pwrite`.
fn package(symbol: &str) -> &str {
    let end = symbol.find(['/', '.']).unwrap_or(symbol.len());
    &symbol[..end]
}

/// A C++ function without its parameters; any other name as it is, a Go method's `(*Type)` too.
pub fn without_parameters(call: &str) -> &str {
    let Some(last) = call.rfind(')') else {
        return call;
    };
    if call[last + 1..].starts_with(['.', ':']) {
        return call;
    }
    let mut open = 0;
    let begins = call[..=last]
        .rmatch_indices(['(', ')'])
        .find(|(_, parenthesis)| {
            open += if *parenthesis == ")" { 1 } else { -1 };
            open == 0
        });
    match begins {
        Some((begins, _)) if begins > 0 => &call[..begins],
        _ => call,
    }
}

/// The short form of a function's name: no parameters, no template arguments, and the last two parts of a qualified
/// name.
pub fn short(symbol: &str) -> String {
    if symbol.contains(".(*") || symbol.contains("/") {
        // Go: the package's last part, type and method.
        let last = symbol.rsplit('/').next().unwrap_or(symbol);
        return last.replace("(*", "").replace(')', "");
    }
    // A lambda has no name: the function around it is named.
    let symbol = symbol.replace("(anonymous namespace)::", "");
    let name = symbol
        .split('(')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(&symbol);
    let name = name
        .split('<')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(name);
    match name.rmatch_indices("::").nth(1) {
        Some((at, colons)) => name[at + colons.len()..].to_owned(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
