//! The way to a drive: NVMe commands, by whatever carries them.

use anabranch_nvme_host::Queue;

use crate::CalibrateError;

/// A command. Which way its data go, its opcode says (bits 1:0; NVMe Base Specification 2.2, 4.1.1).
#[derive(Debug, Clone, Copy)]
pub struct DriveCommand {
    /// Its operation, for messages.
    pub what: &'static str,
    /// The queue it goes to.
    pub queue: Queue,
    /// Number of the command in its set, administration or I/O.
    pub opcode: u8,
    /// Whether it names the namespace.
    pub of_namespace: bool,
    /// Command words 10 to 15.
    pub words: [u32; 6],
}

/// Carrier of commands to one namespace.
pub trait Link {
    /// Sends a command whose data are, or whose answer fills, `data`; gives the first word of the completion.
    ///
    /// # Errors
    /// When the drive refuses it, or the way fails.
    fn ask(&mut self, command: &DriveCommand, data: &mut [u8]) -> Result<u32, CalibrateError>;

    /// Sends commands that each bring the first so many bytes of `data`; they may be under way together, and all
    /// have ended when this returns.
    ///
    /// # Errors
    /// As for [`Link::ask`].
    fn send(
        &mut self,
        all: &[(DriveCommand, usize)],
        data: &mut [u8],
    ) -> Result<(), CalibrateError> {
        for (command, bytes) in all {
            let bytes = (*bytes).min(data.len());
            self.ask(command, data.get_mut(..bytes).unwrap_or_default())?;
        }
        Ok(())
    }
}
