use anabranch_placement::Names;
use anabranch_trace::FileId;

use super::*;

fn context(id: u32, kind: ContextKind, role: &str, path: &[(&str, &str)]) -> Context {
    let frame = |(object, symbol): &(&str, &str)| Frame {
        build_id: String::new(),
        object: (*object).to_owned(),
        file_offset: 1,
        symbol: Some((*symbol).to_owned()),
    };
    Context {
        id: ContextId(id),
        signature: u64::from(id),
        kind,
        role: role.to_owned(),
        frames: path.iter().map(frame).collect(),
        generation: 0,
    }
}

fn files(written: &[(u32, u32)], names: &[&str]) -> FilesWritten {
    let mut files = FilesWritten::default();
    let rows = (1..)
        .map(FileId)
        .zip(names.iter().map(|name| (*name).to_owned()));
    files.learn(&Names {
        files: rows.collect(),
        contexts: Vec::new(),
    });
    for (context, file) in written {
        files.count(*context, FileId(*file), 4096);
    }
    files
}

const SQLITE: &str = "/usr/lib/libsqlite3.so.0";
const LIBC: &str = "/lib/libc.so.6";
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn a_script_is_called_by_its_file_and_the_librarys_innermost_calls() {
    let application = ContextKind::Application;
    let path = |inner: &'static str| {
        [
            (LIBC, "pwrite64"),
            (SQLITE, "unixWrite"),
            (SQLITE, inner),
            (SQLITE, "sqlite3_step"),
            (PYTHON, "_PyEval_EvalFrameDefault"),
        ]
    };
    let contexts = [
        context(1, application, "python", &path("sqlite3WalFrames")),
        context(2, application, "python", &path("walCheckpoint")),
    ];
    let files = files(&[(1, 1), (2, 2)], &["my.db-wal", "my.db"]);
    assert_eq!(
        labels(contexts.iter(), &files, &|_| None),
        [
            "my.db-wal · sqlite3WalFrames · python",
            "my.db · walCheckpoint · python"
        ]
    );
}

#[test]
fn a_go_program_is_called_by_its_own_functions() {
    let go = "/usr/bin/store";
    let path = [
        (go, "internal/runtime/syscall.Syscall6"),
        (go, "syscall.write"),
        (go, "internal/poll.(*FD).Write"),
        (go, "os.(*File).Write"),
        (go, "example.org/store/log.(*Segment).Append"),
        (go, "main.func2"),
        (go, "runtime.goexit.abi0"),
    ];
    let one = context(1, ContextKind::Application, "store", &path);
    let labels = labels([one].iter(), &FilesWritten::default(), &|_| None);
    assert_eq!(labels, ["log.Segment.Append < main.func2 · store"]);
    assert_eq!(
        short("example.org/store/log.(*Segment).Append"),
        "log.Segment.Append"
    );
}

#[test]
fn the_file_systems_own_writers_have_plain_names() {
    let contexts = [
        context(1, ContextKind::Journal, "jbd/loop-", &[]),
        context(2, ContextKind::Metadata, "metadata", &[]),
        context(
            3,
            ContextKind::Application,
            "mkfs.ext",
            &[("/sbin/mkfs", "ext2fs_write")],
        ),
        context(0, ContextKind::Unknown, "", &[]),
    ];
    assert_eq!(
        labels(contexts.iter(), &FilesWritten::default(), &|_| None),
        [
            "journal of the file system",
            "metadata of the file system",
            "making the file system",
            "writer not known",
        ]
    );
}

#[test]
fn contexts_that_would_be_called_the_same_are_told_apart() {
    let own = "/usr/bin/db";
    let application = ContextKind::Application;
    let inner = [(own, "a"), (own, "b"), (own, "c")];
    let path = |outer: &'static str| [&inner[..], &[(own, outer)]].concat();
    let contexts = [
        context(1, application, "db", &path("flush_all")),
        context(2, application, "db", &path("merge")),
        context(3, application, "db", &path("merge")),
    ];
    let labels = labels(contexts.iter(), &FilesWritten::default(), &|_| None);
    let mut apart = labels.clone();
    apart.sort();
    apart.dedup();
    assert_eq!(apart.len(), 3, "{labels:?}");
    assert!(
        labels[0].contains("flush_all") && labels[1].contains("merge"),
        "{labels:?}"
    );
}

#[test]
fn a_program_without_symbols_is_not_called_by_what_starts_every_program() {
    let path = [
        (LIBC, "__GI___libc_write"),
        (LIBC, "__libc_start_call_main"),
    ];
    let one = context(1, ContextKind::Application, "dd", &path);
    assert_eq!(
        labels([one].iter(), &FilesWritten::default(), &|_| None),
        ["dd"]
    );
}

#[test]
fn several_files_are_called_by_what_their_names_have_in_common() {
    let written = [(1, 1), (1, 2), (2, 3), (2, 4), (3, 5)];
    let files = files(
        &written,
        &[
            "000012.sst",
            "000013.sst",
            "binlog.01",
            "binlog.02",
            "CURRENT",
        ],
    );
    assert_eq!(
        [1, 2, 3, 4].map(|row| files.titles().remove(&row).unwrap_or_default()),
        ["*.sst", "binlog.*", "CURRENT", ""]
    );
}

#[test]
fn of_long_labels_the_call_that_tells_them_apart_is_kept() {
    let own = "/usr/bin/db";
    let inner = [
        "rocksdb::WritableFileWriter::FinishTheLastBlock",
        "rocksdb::CompactionOutputs::WriteOneMoreEntry",
        "rocksdb::CompactionIterator::FinishCompactionOutputFile",
    ];
    let path = |outer: &'static str| [inner[0], inner[1], inner[2], outer].map(|call| (own, call));
    let (close, add) = ("rocksdb::Job::CloseOutput", "rocksdb::State::AddToOutput");
    let application = ContextKind::Application;
    let other = |id| context(id, application, "main", &[(own, "serve")]);
    let contexts = [
        context(1, application, "rocksdb:low", &path(close)),
        context(2, application, "rocksdb:low", &path(add)),
        other(3),
        other(4),
    ];
    let files = files(&[(1, 1), (2, 1)], &["000012.sst"]);
    let labels = labels(contexts.iter(), &files, &|_| None);
    let calls = ["Job::CloseOutput", "State::AddToOutput"];
    for (label, call) in labels.iter().zip(calls) {
        assert!(label.chars().count() <= WIDTH, "{label}");
        assert!(label.contains(call), "{label}");
        assert!(label.ends_with("· rocksdb:low"), "{label}");
    }
}

#[test]
fn parameters_are_left_out_and_a_go_methods_type_is_not() {
    for (call, name) in [
        ("internal/poll.(*FD).Write", "internal/poll.(*FD).Write"),
        (
            "main.(*Segment).Append.func1",
            "main.(*Segment).Append.func1",
        ),
        (
            "rocksdb::(anonymous namespace)::Sync",
            "rocksdb::(anonymous namespace)::Sync",
        ),
        (
            "rocksdb::(anonymous namespace)::PosixFile::Append(rocksdb::Slice const&) const",
            "rocksdb::(anonymous namespace)::PosixFile::Append",
        ),
        ("f(int (*)(char), long)", "f"),
        ("f(int) [clone .part.0]", "f"),
        ("(strange)", "(strange)"),
        ("write", "write"),
        ("broken)", "broken)"),
    ] {
        assert_eq!(without_parameters(call), name);
    }
    assert_eq!(
        short("rocksdb::(anonymous namespace)::PosixFile::Append(rocksdb::Slice const&)"),
        "PosixFile::Append"
    );
}

#[test]
fn a_path_that_writes_files_of_several_generations_says_of_which() {
    let path = [("/usr/bin/db", "Compact"), ("/usr/bin/db", "Work")];
    let of = |id, generation| Context {
        generation,
        ..context(id, ContextKind::Application, "db:low", &path)
    };
    let contexts = [of(1, 0), of(2, 1), of(3, 2)];
    assert_eq!(
        labels(contexts.iter(), &FilesWritten::default(), &|_| None),
        [
            "Compact < Work · db:low",
            "Compact < Work · db:low, generation 1",
            "Compact < Work · db:low, generation 2",
        ]
    );
}

#[test]
fn without_symbols_a_context_is_called_by_an_offset_and_how_long_its_data_live() {
    let bare = |id, offset| {
        let mut context = context(id, ContextKind::Application, "db", &[("/bin/db", ""); 2]);
        context.frames[0].file_offset = 0x10;
        context.frames[1].file_offset = offset;
        for frame in &mut context.frames {
            frame.symbol = None;
        }
        context
    };
    let contexts = [bare(1, 0x20), bare(2, 0x30)];
    let life = |id: ContextId| Some(5 << (20 * id.0 / 2));
    let labels = labels(contexts.iter(), &FilesWritten::default(), &life);
    assert_eq!(
        labels,
        ["db+0x20 · db, lives 4 KiB", "db+0x30 · db, lives 4 MiB"]
    );
}

#[test]
fn a_generation_is_shown_only_where_it_tells_contexts_apart() {
    let path = [("/usr/bin/db", "Compact")];
    let old = Context {
        generation: 1,
        ..context(1, ContextKind::Application, "db", &path)
    };
    let labels = labels([old].iter(), &FilesWritten::default(), &|_| None);
    assert_eq!(labels, ["Compact · db"]);
}

#[test]
fn functions_that_a_compiler_named_stand_before_the_calls_of_what_runs_them() {
    let cases = [
        ("append_log:/opt/store.py", "append_log"),
        ("<module>:/opt/store.py", "store.py"),
        ("writeTable file:///opt/app.js:3:19", "writeTable"),
        ("file:///opt/app.js:1:1", "app.js:1:1"),
        (
            "void org.h2.mvstore.FileStore.flush(int)",
            "FileStore.flush",
        ),
    ];
    for (name, shown) in cases {
        let path = [
            (LIBC, "__libc_write"),
            (PYTHON, "cfunction_vectorcall_FASTCALL"),
            (COMPILED, "int sun.nio.ch.FileDispatcherImpl.write0(int)"),
            (COMPILED, name),
            (COMPILED, "StubRoutines (initial stubs)"),
            (PYTHON, "pymain_run_python"),
        ];
        let contexts = [context(1, ContextKind::Application, "writer", &path)];
        let files = files(&[(1, 1)], &["log"]);
        assert_eq!(
            labels(contexts.iter(), &files, &|_| None),
            [format!("log · {shown} · writer")]
        );
    }
}
