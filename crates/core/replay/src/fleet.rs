//! Many lanes fed with the same requests, on several cores.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, SyncSender},
    },
    thread::{self, JoinHandle},
};

use anabranch_placement::Names;
use anabranch_ssd::Counters;
use anabranch_trace::Io;
use thiserror::Error;

use crate::lane::{Lane, LaneError};

/// Batches that a worker may lag behind before the source waits for it (our choice).
const QUEUE: usize = 64;

/// Reason that ended a comparison early.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FleetError {
    /// A lane could not perform a request.
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// A worker thread ended without an error: a defect of this program.
    #[error("a worker thread died; this is a defect of anabranch, please report it")]
    Worker,
}

/// A message to a worker.
#[derive(Debug, Clone)]
enum News {
    /// Requests of the feed with that number.
    Requests(usize, Arc<[Io]>),
    Names(Arc<Names>),
    /// A request to perform writes that wait in batches, and to report when that is done.
    Drain(SyncSender<()>),
}

type Finished = Result<Vec<(usize, Lane)>, LaneError>;

/// A lane at work, with its position among all lanes and the number of its feed.
#[derive(Debug)]
struct Fed {
    index: usize,
    feed: usize,
    lane: Lane,
}

/// Lanes at work on threads of their own. Lanes share nothing, so the counts are the same
/// whatever the number of threads.
#[derive(Debug)]
pub struct Fleet {
    senders: Vec<SyncSender<News>>,
    workers: Vec<JoinHandle<Finished>>,
    progress: Arc<[Mutex<Progress>]>,
}

/// The progress of a lane.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The counters of its device.
    pub counters: Counters,
    /// Logical pages that hold data.
    pub mapped_pages: u64,
}

impl Progress {
    fn of(lane: &Lane) -> Progress {
        Progress {
            counters: *lane.counters(),
            mapped_pages: lane.engine().mapped_pages(),
        }
    }
}

impl Fleet {
    /// Spreads the lanes over at most `threads` threads.
    pub fn start(lanes: Vec<Lane>, threads: NonZeroUsize) -> Fleet {
        let lanes = lanes.into_iter().map(|lane| (0, lane)).collect();
        Fleet::start_fed(lanes, threads)
    }

    /// Starts lanes that are not all fed alike: each comes with the number of its feed.
    pub fn start_fed(lanes: Vec<(usize, Lane)>, threads: NonZeroUsize) -> Fleet {
        let progress: Arc<[Mutex<Progress>]> = lanes
            .iter()
            .map(|(_, lane)| Mutex::new(Progress::of(lane)))
            .collect();
        let count = threads.get().min(lanes.len());
        let mut shares: Vec<Vec<Fed>> = (0..count).map(|_| Vec::new()).collect();
        for (index, (feed, lane)) in lanes.into_iter().enumerate() {
            shares[index % count].push(Fed { index, feed, lane });
        }
        let (senders, workers) = shares
            .into_iter()
            .map(|share| {
                let (sender, receiver) = mpsc::sync_channel(QUEUE);
                let progress = Arc::clone(&progress);
                (
                    sender,
                    thread::spawn(move || work(share, &receiver, &progress)),
                )
            })
            .unzip();
        Fleet {
            senders,
            workers,
            progress,
        }
    }

    /// Sends requests to every lane, to be performed after all those sent before.
    ///
    /// # Errors
    /// When a lane has failed; [`Fleet::finish`] gives the reason.
    pub fn send(&self, batch: &Arc<[Io]>) -> Result<(), FleetError> {
        self.send_to(0, batch)
    }

    /// Sends requests to every lane of a feed, to be performed after all those sent before.
    ///
    /// # Errors
    /// When a lane has failed; [`Fleet::finish`] gives the reason.
    pub fn send_to(&self, feed: usize, batch: &Arc<[Io]>) -> Result<(), FleetError> {
        self.broadcast(&News::Requests(feed, Arc::clone(batch)))
    }

    /// Sends names to every lane, to be learned before all requests that are sent later.
    ///
    /// # Errors
    /// When a lane has failed; [`Fleet::finish`] gives the reason.
    pub fn learn(&self, names: &Arc<Names>) -> Result<(), FleetError> {
        self.broadcast(&News::Names(Arc::clone(names)))
    }

    /// Waits until everything sent is performed, also the writes that lanes gather in batches.
    ///
    /// # Errors
    /// When a lane has failed; [`Fleet::finish`] gives the reason.
    pub fn drain(&self) -> Result<(), FleetError> {
        let (done, all_done) = mpsc::sync_channel(self.senders.len());
        self.broadcast(&News::Drain(done))?;
        let drained = all_done.iter().take(self.senders.len()).count();
        if drained == self.senders.len() {
            Ok(())
        } else {
            Err(FleetError::Worker)
        }
    }

    fn broadcast(&self, news: &News) -> Result<(), FleetError> {
        self.senders
            .iter()
            .try_for_each(|sender| sender.send(news.clone()))
            .map_err(|_| FleetError::Worker)
    }

    /// The progress of each lane, as of its last whole batch.
    pub fn progress(&self) -> Vec<Progress> {
        self.progress
            .iter()
            .map(|progress| *progress.lock().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// Waits until everything sent is done, and returns the lanes in their first order.
    ///
    /// # Errors
    /// When a lane has failed: its error, of several the first.
    pub fn finish(self) -> Result<Vec<Lane>, FleetError> {
        drop(self.senders);
        let mut lanes = Vec::new();
        for worker in self.workers {
            lanes.extend(worker.join().map_err(|_| FleetError::Worker)??);
        }
        lanes.sort_by_key(|(index, _)| *index);
        Ok(lanes.into_iter().map(|(_, lane)| lane).collect())
    }
}

fn work(mut share: Vec<Fed>, receiver: &Receiver<News>, progress: &[Mutex<Progress>]) -> Finished {
    let show = |fed: &Fed| {
        *progress[fed.index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Progress::of(&fed.lane);
    };
    for news in receiver {
        match news {
            News::Requests(feed, batch) => {
                for fed in share.iter_mut().filter(|fed| fed.feed == feed) {
                    fed.lane.apply_all(&batch)?;
                    show(fed);
                }
            }
            News::Names(names) => {
                let lanes = share.iter_mut().map(|fed| &mut fed.lane);
                lanes.for_each(|lane| lane.learn(&names));
            }
            News::Drain(done) => {
                share
                    .iter_mut()
                    .try_for_each(|fed| fed.lane.flush_batch())?;
                share.iter().for_each(show);
                // Whoever asked waits.
                let _ = done.send(());
            }
        }
    }
    share.iter_mut().try_for_each(|fed| fed.lane.finish())?;
    Ok(share.into_iter().map(|fed| (fed.index, fed.lane)).collect())
}
