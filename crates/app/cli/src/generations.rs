//! Whether what threads read is watched.

use clap::Args;

/// For every verb that watches who writes.
#[derive(Debug, Clone, Copy, Args)]
pub struct GenerationArguments {
    /// Do not watch what threads read before they begin a file, which tells a tree's levels apart (from Linux 6.12 on; it
    /// costs each read of a file on the machine)
    #[arg(long)]
    pub no_generations: bool,
}
