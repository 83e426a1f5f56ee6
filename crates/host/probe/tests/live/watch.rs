//! A capture around some work, and questions to what it yields.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anabranch_probe::{Captured, Probe, ProbeOptions, Untold};
use anabranch_trace::{Context, ContextKind, File, Io, Operation, Sampled};

pub struct Watched {
    pub ios: Vec<Io>,
    pub untold: Untold,
    pub captured: Captured,
}

/// Captures while `work` runs.
pub fn watch(options: &ProbeOptions, work: impl FnOnce() + Send) -> Watched {
    watch_sampled(options, &[], work)
}

/// Captures the requests of these samples while `work` runs.
pub fn watch_sampled(
    options: &ProbeOptions,
    samples: &[Sampled],
    work: impl FnOnce() + Send,
) -> Watched {
    let mut probe = Probe::attach(options).unwrap();
    probe.tell_only(samples);
    let done = AtomicBool::new(false);
    let mut ios = Vec::new();
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // A failed assertion must end the loop below as well.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            done.store(true, Ordering::Release);
            outcome
        });
        while !done.load(Ordering::Acquire) {
            probe
                .poll(Duration::from_millis(20), &mut |io| ios.push(io))
                .unwrap();
        }
        if let Err(panic) = worker.join().unwrap() {
            std::panic::resume_unwind(panic);
        }
    });
    Watched::end(probe, ios)
}

impl Watched {
    /// Ends a capture of which these requests were read so far.
    pub fn end(mut probe: Probe, mut ios: Vec<Io>) -> Watched {
        probe.drain(&mut |io| ios.push(io)).unwrap();
        Watched {
            ios,
            untold: probe.untold(),
            captured: probe.finish(&mut || true),
        }
    }

    pub fn context(&self, io: &Io) -> &Context {
        &self.captured.contexts[io.context.0 as usize]
    }

    pub fn file(&self, io: &Io) -> &File {
        &self.captured.files[io.file.0 as usize]
    }

    pub fn file_name(&self, io: &Io) -> &str {
        &self.file(io).name
    }

    /// The writes to the files of that name.
    pub fn writes_to<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Io> {
        self.writes().filter(move |io| self.file_name(io) == name)
    }

    pub fn writes(&self) -> impl Iterator<Item = &Io> {
        self.ios
            .iter()
            .filter(|io| io.operation == Operation::Write)
    }

    pub fn kinds(&self) -> Vec<ContextKind> {
        self.writes().map(|io| self.context(io).kind).collect()
    }

    /// Asserts that exactly `bytes` reached the file, all of them from threads of `role`.
    pub fn assert_written(&self, name: &str, bytes: u64, role: &str) {
        let written: u64 = self.writes_to(name).map(|io| io.length_bytes).sum();
        assert_eq!(
            written, bytes,
            "bytes of {name}; files are {:?}",
            self.captured.files
        );
        for io in self.writes_to(name) {
            assert_eq!(self.context(io).role, role, "{io:?}");
        }
    }

    /// The share of the bytes written that satisfy `wanted`.
    pub fn share(&self, wanted: impl Fn(&Io) -> bool) -> f64 {
        let bytes =
            |ios: &mut dyn Iterator<Item = &Io>| ios.map(|io| io.length_bytes).sum::<u64>() as f64;
        bytes(&mut self.writes().filter(|io| wanted(io))) / bytes(&mut self.writes())
    }
}
