//! Drives that a trace fills: their size follows from the pages that it writes.

use super::{
    expand::{bases, varied},
    size::{Size, TraceOrigin},
    spec::DriveSpec,
};
use crate::{
    error::{CompareError, Result},
    options::DriveOptions,
    texts::share,
};

/// The share of the drive that is filled by a trace which does not tell its device's size, unless an option does (our
/// choice: full enough that garbage is collected).
const FILL: &str = "90%";
/// The share of a profile's drive below which a trace that does not tell its device's size has it scaled (our choice: a
/// drive that was never fuller gives no answer).
const FULL: f64 = 0.75;

/// Number of pages that a trace ever writes, at a given page size.
pub(super) type CountPages<'a> = &'a mut dyn FnMut(u32) -> Result<u64>;

/// Drives just large enough that the trace fills each share of `--fill`.
pub(super) fn filled(
    shares: &[String],
    options: &DriveOptions,
    origin: &TraceOrigin,
    pages: CountPages<'_>,
) -> Result<Vec<DriveSpec>> {
    let mut all = Vec::new();
    for text in shares {
        for base in bases(options, origin)? {
            all.extend(filled_by(text, base, options, pages)?);
        }
    }
    Ok(all)
}

/// Drives for a trace that does not tell its device's size: a named profile's where the trace fills it, others so large
/// that it does. `None` where the trace is too little for a drive of its own.
pub(super) fn fitted(
    options: &DriveOptions,
    origin: &TraceOrigin,
    pages: CountPages<'_>,
) -> Result<Option<Vec<DriveSpec>>> {
    let is_named = !options.profiles.is_empty();
    let mut all = Vec::new();
    for base in bases(options, origin)? {
        all.extend(if is_named && !is_far_larger(&base, pages)? {
            varied(&base, options, origin.size)?
        } else {
            filled_by(FILL, base, options, pages)?
        });
    }
    let keeps_units = is_named || !options.unit.is_empty();
    let fits = keeps_units || all.iter_mut().all(DriveSpec::shrink_units);
    Ok(fits.then_some(all))
}

/// Whether a trace's pages leave a profile's drive so empty that no replay on it could answer.
fn is_far_larger(base: &DriveSpec, pages: CountPages<'_>) -> Result<bool> {
    let Ok(profile) = &base.profile else {
        return Ok(false);
    };
    let written = pages(base.page_bytes())?;
    Ok(written > 0 && (written as f64) < FULL * profile.logical_pages() as f64)
}

/// Drives of one profile just large enough that the pages a trace ever writes fill a share of them.
fn filled_by(
    text: &str,
    mut base: DriveSpec,
    options: &DriveOptions,
    pages: CountPages<'_>,
) -> Result<Vec<DriveSpec>> {
    let fill = share(text)?;
    if fill == 0.0 {
        return Err(CompareError::wrong_use(
            "--fill 0% asks for an endless drive: give a share above 0",
        ));
    }
    let page_bytes = base.page_bytes();
    let written = pages(page_bytes)?;
    base.fill = Some(fill);
    base.options.push(format!("--fill {text}"));
    if written == 0 {
        base.refuse(
            "the trace writes nothing that could fill a drive: leave out --fill, or give a --size",
        );
    }
    let pages = (written as f64 / fill).ceil() as u64;
    let size = Size::Fixed(pages.saturating_mul(u64::from(page_bytes)));
    varied(&base, options, size)
}
