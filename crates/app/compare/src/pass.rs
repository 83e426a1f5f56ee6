//! One pass over a trace, with the changes that a drive makes to it on the way.

use anabranch_replay::Source;
use anabranch_trace::{Io, Sample};

use crate::{
    discards::{Delay, Discards},
    error::Result,
    numbers::Numbers,
    source::Requests,
    watch::Watch,
};

/// Changes to a trace on its way to the drive.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    /// Renumbering of the addresses, where it is asked for.
    pub numbers: Option<&'a Numbers>,
    /// When discards reach the drive.
    pub discards: Discards,
    /// The samples that are all there is; none where requests are looked at that they keep nothing of.
    pub kept: &'a [Sample],
}

/// One pass over a trace, watched. Returns the demands of the whole trace, if some of its requests were not made.
///
/// # Errors
/// When the trace cannot be read, has no clock where discards go by it, or when the watch ends the work.
pub(crate) fn pass(
    source: &dyn Requests,
    what: &str,
    changes: &Changes<'_>,
    watch: &mut dyn Watch,
    sink: &mut dyn FnMut(&[Io]) -> Result,
) -> Result<Option<Source>> {
    watch.begin(&format!("{what}{}", source.name()));
    let mut numbers = changes.numbers.cloned();
    let mut delay = Delay::new(changes.discards);
    let is_as_recorded = numbers.is_none() && changes.discards == Discards::Now;
    let mut changed = Vec::new();
    let whole = source.each_kept_batch(changes.kept, &mut |ios, done| {
        watch.done(done)?;
        if is_as_recorded {
            return sink(ios);
        }
        changed.clear();
        for io in ios {
            match &mut numbers {
                Some(numbers) => numbers.apply(io, |io| delay.apply(&io, |io| changed.push(io))),
                None => delay.apply(io, |io| changed.push(io)),
            }
        }
        sink(&changed)
    })?;
    watch.end();
    delay.check(&source.name())?;
    Ok(whole)
}
