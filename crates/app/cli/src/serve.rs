//! `anabranch serve`: the drive on the network, or in this machine's kernel.

mod arguments;
mod build;
mod front;
#[cfg_attr(not(feature = "security"), path = "serve/keyless.rs")]
mod keys;
mod namespaces;
mod outcome;
mod placed;
mod shadows;
mod view;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anabranch_nvme::{CheckpointError, Options, Target};
use anabranch_security::{Keys, is_name};
use anabranch_trace::WholeFile;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

pub use arguments::{EXAMPLE, ServeArguments};

use crate::error::{CommandError, Result};
use front::Front;
use shadows::Shadows;
use view::View;

/// Period between two looks for signals (our choice).
const TICK: Duration = Duration::from_millis(50);

/// Serves a drive until a signal stops it.
pub fn serve(arguments: &ServeArguments) -> Result {
    check(arguments)?;
    let keys = keys::read(arguments)?;
    let file = arguments.output.as_ref().map(WholeFile::create);
    let file = file.transpose()?;
    let mut built = build::build(arguments)?;
    let shadows = Shadows::start(arguments, &mut built.drive)?;
    let keys = Arc::new(keys);
    let options = options(arguments, &built, keys);
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(CommandError::work)?;
    }
    let checkpoint = built.checkpoint.clone();
    let target = Target::new(
        options,
        built.drive,
        built.store,
        built.totals,
        built.checkpoint,
    );
    let target = target.map_err(CommandError::usage)?;
    if let Some(checkpoint) = checkpoint {
        checkpoint.begin().map_err(CommandError::work)?;
    }
    let told = shadows.as_ref().map(Shadows::report);
    let more = told.clone().map(shadows::metrics);
    let front = match Front::start(arguments, &target, more) {
        Ok(front) => front,
        Err(error) => {
            // Why hosts cannot be answered says more; the next one need not learn what was not done.
            let _ = target.stop();
            return Err(error);
        }
    };
    let mut view = View::new(told);
    view.greet(&built.told, &front, &target);
    // What recovery learned is not to be learned again. Hosts need not wait for it: a drive killed before
    // learns it once more.
    target.save().map_err(CommandError::work)?;
    let saver = Saver::start(arguments, &target)?;
    wait((&target, &front), &stop, &saver, &mut view);
    view.end();
    saver.end()?;
    let ended = front.end();
    target.stop().map_err(CommandError::work)?;
    ended?;
    target.drive().listen(None);
    let shadowed = shadows.map(Shadows::end).transpose()?;
    outcome::publish(arguments, &target, shadowed.as_ref(), file)
}

/// Checks the arguments in ways that clap cannot.
fn check(arguments: &ServeArguments) -> Result {
    check_reach(arguments)?;
    front::check(arguments)?;
    let names = arguments.allow_host.iter().chain(&arguments.nqn);
    match names.into_iter().find(|name| !is_name(name)) {
        Some(bad) => Err(CommandError::wrong_use(format!(
            "\"{bad}\" is no name: an NQN has 1 to 223 characters"
        ))),
        None => Ok(()),
    }
}

/// Refuses an address that can be reached from elsewhere unless that is meant. Names of hosts guard the drive alone: whoever
/// asks for metrics gives none.
fn check_reach(arguments: &ServeArguments) -> Result {
    let keyed = arguments.host_secret.is_some() || arguments.tls_key.is_some();
    let named = !arguments.allow_host.is_empty() || keyed;
    let open = !named && !arguments.allow_any_host;
    if !arguments.listen.ip().is_loopback() && open {
        return Err(CommandError::wrong_use(format!(
            "--listen {} can be reached from elsewhere: give hosts keys with --tls-key FILE or --host-secret FILE, \
             name who may connect with --allow-host, or say --allow-any-host",
            arguments.listen
        )));
    }
    match arguments.metrics {
        Some(metrics) if !metrics.ip().is_loopback() && !arguments.allow_any_reader => {
            Err(CommandError::wrong_use(format!(
                "--metrics {metrics} can be reached from elsewhere, and answers whoever asks: keep \
                 it to loopback, or say --allow-any-reader"
            )))
        }
        _ => Ok(()),
    }
}

fn options(arguments: &ServeArguments, built: &build::Built, keys: Arc<Keys>) -> Options {
    Options {
        allowed_hosts: arguments.allow_host.clone(),
        most_controllers: arguments.max_hosts,
        most_queues: arguments.max_queues,
        queue_entries: arguments.queue_entries,
        shared_streams: arguments.shared_streams,
        advertised: arguments.advertise,
        keys,
        ..Options::new(&built.name)
    }
}

/// Draws the view until a signal comes, the state cannot be written, or hosts are answered no longer.
fn wait((target, front): (&Target, &Front), stop: &AtomicBool, saver: &Saver, view: &mut View) {
    let is_over = || saver.thread.is_finished() || front.has_ended();
    while !stop.load(Ordering::Relaxed) && !is_over() {
        thread::sleep(TICK);
        view.draw(target);
    }
}

/// A thread that writes the state from time to time, if it has changed. Hosts are served meanwhile.
struct Saver {
    ending: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), CheckpointError>>,
}

impl Saver {
    fn start(arguments: &ServeArguments, target: &Arc<Target>) -> Result<Saver> {
        let every = Duration::from_secs(arguments.checkpoint_every);
        let ending = Arc::new(AtomicBool::new(false));
        let (target, is_ending) = (Arc::clone(target), Arc::clone(&ending));
        let save = move || {
            let mut saved = Instant::now();
            while !is_ending.load(Ordering::Relaxed) {
                thread::park_timeout(every.saturating_sub(saved.elapsed()));
                if saved.elapsed() >= every {
                    target.save_changes()?;
                    saved = Instant::now();
                }
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("nvme-state".to_owned());
        let thread = thread.spawn(save).map_err(CommandError::work)?;
        Ok(Saver { ending, thread })
    }

    /// Ends it, after what it may be writing.
    fn end(self) -> Result {
        self.ending.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        match self.thread.join() {
            Ok(saved) => saved.map_err(CommandError::work),
            // What it panicked of has been told.
            Err(_) => Err(CommandError::work(anyhow::anyhow!(
                "the thread that writes the state has failed"
            ))),
        }
    }
}
