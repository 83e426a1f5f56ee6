//! Labels of contexts for people: the files they write, the innermost calls of the application's own code, and the role
//! of the thread. No two contexts of a comparison have the same label.

use std::collections::HashMap;

use anabranch_placement::{FileClasses, Names};
use anabranch_trace::{Context, ContextKind, FileId, Frame};

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
/// Beginnings of the names of interpreters' functions, which say what runs a script and not what the script does.
const INTERPRETERS: [&str; 6] = ["Py", "_Py", "py_", "PyEval", "v8::", "node::"];
/// Functions at the beginning or end of nearly every path.
const EVERYWHERE: [&str; 6] = [
    "main",
    "_start",
    "start_thread",
    "__libc_start_main",
    "__libc_start_call_main",
    "clone",
];

/// The files that contexts wrote, with the bytes of each.
#[derive(Debug, Default)]
pub struct FilesWritten {
    names: Vec<String>,
    classes: FileClasses,
    written: HashMap<(u32, u16), Written>,
}

#[derive(Debug, Clone, Copy)]
struct Written {
    first: FileId,
    last: FileId,
    bytes: u64,
}

impl FilesWritten {
    /// Learns names of files.
    pub fn learn(&mut self, names: &Names) {
        for (file, name) in &names.files {
            let row = file.0 as usize;
            if row >= self.names.len() {
                self.names.resize(row + 1, String::new());
            }
            self.names[row].clone_from(name);
            self.classes.learn(*file, name);
        }
    }

    /// Counts bytes that a context wrote to a file.
    pub fn count(&mut self, context: u32, file: FileId, bytes: u64) {
        let class = self.classes.class_of(file);
        let new = Written {
            first: file,
            last: file,
            bytes: 0,
        };
        let written = self.written.entry((context, class)).or_insert(new);
        written.last = file;
        written.bytes += bytes;
    }

    /// The file a context wrote most to, or what the names of several such files have in common;
    /// empty where that is not known.
    pub fn most_of(&self, context: u32) -> String {
        let own = self.written.iter().filter(|((row, _), _)| *row == context);
        let most =
            own.max_by_key(|((_, class), written)| (written.bytes, std::cmp::Reverse(*class)));
        let Some(((_, class), written)) = most.filter(|((_, class), _)| *class > 0) else {
            return String::new();
        };
        let name = |file: FileId| self.names.get(file.0 as usize).map_or("", String::as_str);
        if name(written.first) == name(written.last) {
            name(written.first).to_owned()
        } else {
            match self.classes.name(*class) {
                Some(class) if class.starts_with('.') => format!("*{class}"),
                class => class.unwrap_or_default().replace('#', "*"),
            }
        }
    }
}

/// A label for each of these contexts, in their order.
pub fn labels<'a>(
    contexts: impl Iterator<Item = &'a Context> + Clone,
    files: &FilesWritten,
) -> Vec<String> {
    let paths: Vec<Vec<String>> = contexts
        .clone()
        .map(|context| own_calls(&context.frames))
        .collect();
    let shares = |call: &String| paths.iter().filter(|path| path.contains(call)).count();
    let many = paths.iter().filter(|path| !path.is_empty()).count();
    let telling = |most: usize| {
        let tells = |path: &Vec<String>| -> Vec<String> {
            path.iter()
                .filter(|call| shares(call) <= most)
                .cloned()
                .collect()
        };
        paths.iter().map(tells).collect::<Vec<_>>()
    };
    // Calls of few contexts tell most; where a path has none, those that not all have, or any.
    let choices = [
        telling(many / 2),
        telling(many.saturating_sub(1)),
        paths.clone(),
    ];
    let rows = contexts.enumerate().map(|(row, context)| {
        let calls = choices
            .iter()
            .map(|choice| &choice[row])
            .find(|calls| !calls.is_empty());
        let calls = calls.map_or(&[][..], |calls| &calls[..calls.len().min(CALLS)]);
        Wording {
            context,
            file: files.most_of(context.id.0),
            calls,
        }
    });
    unlike(&rows.collect::<Vec<_>>(), &paths)
}

/// The parts of a label.
struct Wording<'a> {
    context: &'a Context,
    file: String,
    calls: &'a [String],
}

/// A label for each context. Those that would be the same get the call that tells them apart or, where no call does,
/// their numbers.
fn unlike(rows: &[Wording<'_>], paths: &[Vec<String>]) -> Vec<String> {
    let labels: Vec<String> = rows.iter().map(|row| row.worded(None)).collect();
    let mut changed = labels.clone();
    for same in groups(&labels) {
        for &row in &same {
            // The call that fewest of the others have; of equals the innermost.
            let others = || same.iter().filter(|other| **other != row);
            let sharing = |call: &String| {
                others()
                    .filter(|other| paths[**other].contains(call))
                    .count()
            };
            let call = paths[row].iter().min_by_key(|call| sharing(call));
            if let Some(call) = call.filter(|call| sharing(call) < same.len() - 1) {
                changed[row] = rows[row].worded(Some(call));
            }
        }
    }
    for row in groups(&changed).into_iter().flatten() {
        changed[row] += &format!(" #{}", rows[row].context.id.0);
    }
    changed
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
    /// The text of a label: file, calls and role. `apart` is the call that tells it from another; it is never cut off.
    fn worded(&self, apart: Option<&str>) -> String {
        let role = self.context.role.trim_end_matches(['-', '/', ':', '.']);
        let is_made = role.starts_with("mkfs");
        let who = match self.context.kind {
            _ if is_made => "making the file system".to_owned(),
            ContextKind::Journal => "journal of the file system".to_owned(),
            ContextKind::Metadata => "metadata of the file system".to_owned(),
            ContextKind::Unknown => "writer not known".to_owned(),
            ContextKind::Kernel => format!("kernel thread {role}"),
            ContextKind::Folded => format!("{role}, rare call paths"),
            ContextKind::Application => role.to_owned(),
        };
        let who = match self.context.generation {
            0 => who,
            generation => format!("{who}, generation {generation}"),
        };
        let known = if is_made { &[][..] } else { self.calls };
        let around = [&self.file, "", &who].map(str::trim);
        let around: Vec<&str> = around.into_iter().filter(|part| !part.is_empty()).collect();
        let room = WIDTH.saturating_sub(around.join(" · ").chars().count() + 3);
        let calls = joined(known, apart, room);
        let parts = [&self.file, calls.as_str(), &who].map(str::trim);
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" · ")
    }
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
    let tells = |frame: &Frame, symbol: &str| {
        let object = frame.object.rsplit('/').next().unwrap_or_default();
        let is_runtime = RUNTIMES.iter().any(|runtime| object.starts_with(runtime));
        !is_runtime && !EVERYWHERE.contains(&symbol)
    };
    let is_own = |symbol: &str| {
        let is_interpreter = INTERPRETERS.iter().any(|prefix| symbol.starts_with(prefix));
        let is_library = is_go && GO.contains(&package(symbol));
        !is_interpreter && !is_library
    };
    let telling = || named().filter(|(frame, symbol)| tells(frame, symbol));
    let own = telling().filter(|(_, symbol)| is_own(symbol));
    let mut calls: Vec<String> = own.map(|(_, symbol)| short(symbol)).collect();
    if calls.is_empty() {
        calls = telling().map(|(_, symbol)| short(symbol)).collect();
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
