//! Runtimes that run other programs, whose own calls tell nothing of what these do.

use crate::{Context, Frame};

/// The object of functions that a just-in-time compiler named (`/tmp/perf-PID.map`); their names are symbols.
pub const COMPILED: &str = "[jit]";

/// A runtime, by the files that hold its code.
struct Runtime {
    program: &'static str,
    /// Beginnings of the files' names.
    files: &'static [&'static str],
    remedy: &'static str,
}

const RUNTIMES: [Runtime; 3] = [
    Runtime {
        program: "Java",
        files: &["libjvm."],
        remedy: "start it with `-XX:+PreserveFramePointer`, and run `jcmd PID Compiler.perfmap` once it is warm, before you record",
    },
    Runtime {
        program: "Node",
        files: &["node", "libnode."],
        remedy: "start it with `--perf-basic-prof`",
    },
    Runtime {
        program: "Python",
        files: &["python", "libpython"],
        remedy: "start it with `-X perf` (Python 3.12 or newer, built with frame pointers: `-fno-omit-frame-pointer` in CFLAGS)",
    },
];

impl Runtime {
    fn has(&self, frame: &Frame) -> bool {
        let name = frame.object.rsplit('/').next().unwrap_or_default();
        self.files.iter().any(|file| name.starts_with(file))
    }

    fn runs(&self, context: &Context) -> bool {
        context.frames.iter().any(|frame| self.has(frame))
    }
}

/// Whether a call is a language runtime's own.
pub fn is_of_runtime(frame: &Frame) -> bool {
    RUNTIMES.iter().any(|runtime| runtime.has(frame))
}

/// A sentence, with the remedy, for each runtime whose contexts hold the calls of the runtime alone.
pub fn unnamed_functions(contexts: &[Context]) -> Vec<String> {
    let is_named = |context: &&Context| context.frames.iter().any(|frame| frame.object == COMPILED);
    let sentence = |runtime: &Runtime| {
        let run: Vec<&Context> = contexts.iter().filter(|one| runtime.runs(one)).collect();
        let is_silent = !run.is_empty() && !run.iter().any(is_named);
        is_silent.then(|| {
            format!(
                "No function of a {} program has a name: {} call paths hold calls of its runtime alone. To name them, {}.",
                runtime.program,
                run.len(),
                runtime.remedy
            )
        })
    };
    RUNTIMES.iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextId, ContextKind};

    fn context(objects: &[&str]) -> Context {
        let frame = |object: &&str| Frame {
            build_id: String::new(),
            object: (*object).into(),
            file_offset: 0,
            symbol: None,
        };
        let mut context = Context::new(ContextId(1), 1, ContextKind::Application, "writer");
        context.frames = objects.iter().map(frame).collect();
        context
    }

    #[test]
    fn a_runtime_whose_functions_have_no_names_comes_with_the_remedy() {
        let silent = [
            context(&["/lib/libc.so.6", "/usr/bin/python3.11"]),
            context(&["/usr/bin/mysqld"]),
            context(&["/lib/libc.so.6", "/opt/jdk/lib/server/libjvm.so", "[anon]"]),
        ];
        let sentences = unnamed_functions(&silent);
        assert_eq!(sentences.len(), 2, "{sentences:?}");
        assert!(sentences[0].contains("jcmd PID Compiler.perfmap"));
        assert!(sentences[1].contains("1 call paths") && sentences[1].contains("-X perf"));
        let named = [
            silent[0].clone(),
            context(&["/usr/bin/python3.12", COMPILED]),
        ];
        assert_eq!(unnamed_functions(&named), [""; 0]);
    }
}
