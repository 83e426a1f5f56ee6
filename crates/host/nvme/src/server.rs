//! Listening for hosts.

mod ticking;

use anabranch_security::{ErrorStack, Tls};
use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use thiserror::Error;
use tokio::{
    net::TcpListener,
    runtime::{self, Runtime},
    sync::oneshot,
    time,
};
use tracing::warn;

use crate::{
    connection,
    controller::MOST_DISCOVERIES,
    metrics::{self, More},
    options::DISCOVERY,
    places::Places,
    target::Target,
};

/// Connections whose hosts have proven nothing yet: 64, and all queues of eight hosts (our choice). A Linux host opens
/// the TCP connections of all its queues before it sends the first Connect.
const NEWCOMERS: usize = 64;
const HOSTS_AT_ONCE: usize = 8;
/// Pause before accepting again where the system refuses (our choice): mostly too many
/// open files, which others' closing ends.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest time that connections may take to end when the server stops (our choice).
const FAREWELL: Duration = Duration::from_secs(2);

/// A server that cannot start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {problem}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        problem: io::Error,
    },
    /// Connections cannot be encrypted.
    #[error("cannot prepare TLS: {0}")]
    Tls(#[from] ErrorStack),
    /// The threads of the server cannot be started.
    #[error("cannot start the network's threads: {0}")]
    Threads(io::Error),
}

/// A target that listens, on threads of its own. Dropped, it stops.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Begins to listen at an address; port 0 takes any that is free.
    ///
    /// # Errors
    /// When that cannot be.
    pub fn start(target: Arc<Target>, address: SocketAddr) -> Result<Server, ServerError> {
        Server::with_metrics(target, address, None, None)
    }

    /// Begins to listen, and to answer requests for metrics at another address, with those that `more` renders.
    ///
    /// # Errors
    /// When either cannot be.
    pub fn with_metrics(
        target: Arc<Target>,
        address: SocketAddr,
        metrics: Option<SocketAddr>,
        more: Option<More>,
    ) -> Result<Server, ServerError> {
        let runtime = threads()?;
        let options = &target.options;
        let tls = Tls::new(&options.keys, &[&options.subsystem, DISCOVERY])?.map(Arc::new);
        let (listener, address) = runtime.block_on(listen(address))?;
        let metrics_address = answer_metrics(&runtime, &target, metrics, more)?;
        ticking::start(&target).map_err(ServerError::Threads)?;
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            runtime.block_on(async {
                accept(listener, (Arc::clone(&target), tls), stopped).await;
                farewell(&target).await;
            });
            runtime.shutdown_timeout(FAREWELL);
        };
        Ok(Server {
            address,
            metrics_address,
            stop: Some(stop),
            thread: Some(run(serve)?),
        })
    }

    /// Answers requests for metrics, and lets no host connect: for a drive with another front end.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub fn of_metrics(
        target: &Arc<Target>,
        address: SocketAddr,
        more: Option<More>,
    ) -> Result<Server, ServerError> {
        let runtime = threads()?;
        let bound = answer_metrics(&runtime, target, Some(address), more)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = move || {
            // It is stopped by the sender's end.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(FAREWELL);
        };
        Ok(Server {
            address: bound.unwrap_or(address),
            metrics_address: bound,
            stop: Some(stop),
            thread: Some(run(serve)?),
        })
    }

    /// Address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Address at which it answers requests for metrics.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Stops listening, and ends all connections.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been told by its thread.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn threads() -> Result<Runtime, ServerError> {
    runtime::Builder::new_multi_thread()
        .enable_io()
        .enable_time()
        .thread_name("nvme")
        .build()
        .map_err(ServerError::Threads)
}

fn run(serve: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>, ServerError> {
    let thread = thread::Builder::new().name("nvme-listen".to_owned());
    thread.spawn(serve).map_err(ServerError::Threads)
}

/// Begins to answer requests for metrics, where that is wanted. Answers where.
fn answer_metrics(
    runtime: &Runtime,
    target: &Arc<Target>,
    address: Option<SocketAddr>,
    more: Option<More>,
) -> Result<Option<SocketAddr>, ServerError> {
    let Some(address) = address else {
        return Ok(None);
    };
    let (listener, bound) = runtime.block_on(listen(address))?;
    runtime.spawn(metrics::serve(listener, Arc::clone(target), more));
    Ok(Some(bound))
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServerError> {
    let failed = |problem| ServerError::Listen { address, problem };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Ends all controllers, and waits until their connections have given up what they held.
async fn farewell(target: &Target) {
    target.controllers().iter().for_each(|one| one.end());
    let begin = Instant::now();
    while target.controllers().iter().next().is_some() && begin.elapsed() < FAREWELL {
        time::sleep(Duration::from_millis(5)).await;
    }
}

/// Target and TLS context of connections.
type Served = (Arc<Target>, Option<Arc<Tls>>);

async fn accept(listener: TcpListener, (target, tls): Served, stopped: oneshot::Receiver<()>) {
    let options = &target.options;
    let most_queues = usize::from(options.most_queues);
    let queues = usize::from(options.most_controllers) * (most_queues + 1);
    let newcomers = NEWCOMERS + HOSTS_AT_ONCE * most_queues;
    let places = Places::new(queues + MOST_DISCOVERIES, newcomers);
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let accepted = tokio::select! {
            biased;
            _ = &mut stopped => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "no connection can be accepted");
                time::sleep(PAUSE).await;
                continue;
            }
        };
        // Dropped, the stream closes, and the host may try again.
        let Some(place) = places.admit_soon(peer.ip()).await else {
            warn!(%peer, "connection dropped: too many are open");
            continue;
        };
        let (target, tls) = (Arc::clone(&target), tls.clone());
        tokio::spawn(async move {
            connection::serve(stream, target, tls, place).await;
        });
    }
}
