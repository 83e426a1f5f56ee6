//! The kernel's own target with its handler in user space (TCMU): commands come by a ring in shared memory, and `tcm_loop`
//! brings the device to this host as /dev/sdX.
//!
//! Everything here but [`Ring`] has effects. The ring is read through [`Memory`], so that tests hand it any bytes.

mod configfs;
mod error;
mod handler;
mod mapping;
mod memory;
mod ring;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use configfs::check;
pub use error::TcmuError;
pub use memory::Memory;
pub use ring::{Ring, RingError};

use crate::unit::Unit;
use configfs::Tree;
use handler::Handler;

/// A unit that the kernel has as a block device, for as long as this lives.
#[derive(Debug)]
pub struct Attached {
    tree: Tree,
    handler: Option<Handler>,
    device: PathBuf,
    taken_over: bool,
}

impl Attached {
    /// Makes the kernel's device of that name, or takes over what a killed server of that name has left, and serves it.
    /// `contents` tells what the unit holds from what others hold, and is the same once it is served again; none of a
    /// unit whose contents end with the process.
    ///
    /// # Errors
    /// When the name is none, the kernel has no such target, or refuses a step; when another process serves the name, or
    /// what was left is of another size, or has other contents, or has lost them.
    pub fn new(
        name: &str,
        unit: &Arc<Unit>,
        contents: Option<&[u8]>,
    ) -> Result<Attached, TcmuError> {
        let tree = Tree::of(name, unit, contents)?;
        let taken_over = tree.is_enabled();
        let is_new = !taken_over && tree.make(unit)?;
        let prepare = || {
            if taken_over {
                tree.check(unit).and_then(|()| tree.reset())
            } else {
                Ok(())
            }
        };
        let handler = tree
            .ring(prepare)
            .and_then(|(device, ring)| Handler::start(device, ring, Arc::clone(unit)));
        let handler = match handler {
            Ok(handler) => handler,
            Err(error) => {
                if is_new && !matches!(error, TcmuError::Busy) {
                    // It is ours, and nobody has it.
                    let _ = tree.remove();
                }
                return Err(error);
            }
        };
        let mut attached = Attached {
            tree,
            handler: Some(handler),
            device: PathBuf::new(),
            taken_over,
        };
        // The kernel asks what the unit is while it is brought to the host: it is served by then.
        let brought = attached.tree.bring(|| attached.has_ended());
        match brought {
            Ok(device) => attached.device = device,
            // Why it is not served says more than that nothing has appeared.
            Err(error) if taken_over => {
                let handler = attached.handler.take();
                let problem = handler.and_then(|handler| handler.end().err());
                return Err(attached.left(problem.unwrap_or(error)));
            }
            Err(error) => {
                let handler = attached.handler.take();
                let ended = handler.map_or(Ok(()), |handler| attached.take_away(handler));
                return Err(ended.err().unwrap_or(error));
            }
        }
        Ok(attached)
    }

    /// The block device: /dev/sdX.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// Whether a killed server's device was taken over.
    pub fn was_taken_over(&self) -> bool {
        self.taken_over
    }

    /// Whether it is no longer served, for a reason that [`Attached::detach`] tells.
    pub fn has_ended(&self) -> bool {
        self.handler.as_ref().is_none_or(Handler::has_ended)
    }

    /// Takes the block device from the host, and the unit from the kernel.
    ///
    /// # Errors
    /// When the kernel refuses a step, or the unit could not be served to the end: the host keeps a block device that is
    /// no longer served. The error tells how to go on with it, or how to take it away.
    pub fn detach(mut self) -> Result<(), TcmuError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), TcmuError> {
        let Some(handler) = self.handler.take() else {
            return Ok(());
        };
        if handler.has_ended() {
            return Err(self.left(handler.end().err().unwrap_or(TcmuError::Thread)));
        }
        self.take_away(handler)
    }

    fn left(&self, problem: TcmuError) -> TcmuError {
        TcmuError::Left {
            problem: Box::new(problem),
            remedy: self.tree.remedy(),
        }
    }

    fn take_away(&self, handler: Handler) -> Result<(), TcmuError> {
        // Whoever takes a block device away has it write what it holds: it is served meanwhile.
        let taken = self.tree.take_away();
        handler.end()?;
        taken?;
        self.tree.remove()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Whoever wants to know calls `detach`.
        let _ = self.end();
    }
}
