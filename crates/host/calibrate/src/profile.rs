//! Findings as a device profile.

use std::fmt::Write as _;

use anabranch_ssd::profile::Profile;

use crate::CalibrateError;
use crate::findings::{Band, Findings, Isolation};

/// Internal streams of a drive without FDP, where nothing shows their number (our choice: as many as the shipped profiles have).
const INTERNAL_STREAMS: u16 = 8;
/// The most pages of an erase block that a line has; more are said as dies.
const MOST_BLOCK_PAGES: u64 = 1 << 20;

impl Findings {
    /// The profile, with what each figure lies between beside it.
    ///
    /// # Errors
    /// When too little was learned, or what was learned makes no device.
    pub fn profile(&self) -> Result<String, CalibrateError> {
        let unfit = |words: &str| CalibrateError::Unfit(words.to_owned());
        let unit = self.unit.best_bytes();
        let unit = unit.ok_or_else(|| unfit("no profile: the unit is not known"))?;
        let page = self
            .mapping_unit
            .best_bytes()
            .unwrap_or(4096)
            .clamp(512, 1 << 20)
            .next_power_of_two();
        let physical = self.physical.bytes;
        let physical = physical.ok_or_else(|| unfit("no profile: the spare is not known"))?;
        let pages = ((unit as f64 / page as f64).round() as u64).max(1);
        let (dies, block_pages) = dies(pages);
        let units = (physical.best / unit as f64).round();
        // A profile's units are rounded up: half a unit less than measured gives just as many.
        let spare = (units - 0.5) * (pages * page) as f64 / self.logical_bytes as f64 - 1.0;
        let text = self.text(&[dies, block_pages, page], spare, units)?;
        let profile = Profile::parse("calibrated", &text);
        let resolved = profile.and_then(|profile| profile.resolve("calibrated"));
        match resolved {
            Ok(_) => Ok(text),
            Err(error) => Err(CalibrateError::Unfit(format!(
                "what was learned makes no device: {error}"
            ))),
        }
    }

    fn text(
        &self,
        [dies, block_pages, page]: &[u64; 3],
        spare: f64,
        units: f64,
    ) -> Result<String, CalibrateError> {
        let name = |text: &str| text.replace(['"', '\\'], "?");
        let mut text = String::new();
        let lines = [
            format!("description = \"{}, calibrated\"", name(&self.model)),
            format!(
                "source = \"anabranch calibrate, serial number {}; counted by {}; channels and dies are not known\"",
                name(&self.serial),
                self.counter
            ),
            "\n[geometry]\nchannels = 1".to_owned(),
            format!("dies_per_channel = {dies}"),
            format!(
                "# reclaim unit {}{}",
                bytes(self.unit.bytes),
                by(self.unit_by)
            ),
            format!("pages_per_block = {block_pages}"),
            format!("# mapping unit {}", bytes(self.mapping_unit.bytes)),
            format!("page_bytes = {page}"),
            format!("logical_bytes = {}", self.logical_bytes),
            format!("# spare {}", shares(self.spare)),
            format!("over_provisioning = {spare:.6}"),
            "# What has no row: a buffer is one of [timing], and the emulated drive frees what is discarded.".to_owned(),
            format!("# write buffer: {}", buffer(self.write_buffer.bytes)),
            format!("# discard: {}", self.discard_words()),
            String::new(),
        ];
        for line in lines {
            writeln!(text, "{line}").map_err(written)?;
        }
        text += &self.streams(block_pages * dies * page);
        text += &self.gc(units);
        Ok(text)
    }

    /// The rows on garbage collection; a comment on what was not learned.
    fn gc(&self, units: f64) -> String {
        let found = &self.collection;
        let victim = match found.victims {
            None => "# The rule of victims was not told apart: greedy is assumed.\n".to_owned(),
            Some(victims) => format!(
                "# Measured: copies are {:.3} off the rule's, {:.3} off the next one's.\nvictim = \"{}\"\n",
                found.misfit.unwrap_or(0.0),
                found.next_misfit.unwrap_or(0.0),
                victims.rule(),
            ),
        };
        // A drive that frees one unit at a time goes on until two are free, of which the host has one.
        let stop = match found.units_at_once.filter(|&freed| freed > 1) {
            None => String::new(),
            Some(freed) => format!(
                "# Measured: {freed} units are freed at a time.\nstop_free = {:.6}\n",
                (freed as f64 + 0.5) / units
            ),
        };
        format!("\n[gc]\n{victim}{stop}")
    }

    fn streams(&self, unit_bytes: u64) -> String {
        let handles = self.handle_count.max(1);
        if self.placement != "fdp" {
            // Stream 0 is that of writes without an identifier.
            let handles = handles.saturating_add(u16::from(self.placement == "streams"));
            return format!("[streams]\nhost = {handles}\ninternal = {INTERNAL_STREAMS}\n");
        }
        let groups = self.reclaim_groups;
        let isolated = self.persistently_isolated();
        let internal = u32::from(isolated) + u32::from(isolated < handles);
        format!(
            "[streams]\nhost = {}\ninternal = {}\n\n[fdp]\nnruh = {handles}\nnrg = {groups}\nruns = {unit_bytes}\n\
             # {}\npersistently_isolated = {isolated}\n",
            u32::from(handles).saturating_mul(groups),
            internal.saturating_mul(groups),
            self.isolation_words(),
        )
    }

    /// Handles that keep their data alone: measured ones, and of those that were not tried what the drive says.
    pub fn persistently_isolated(&self) -> u16 {
        let isolated =
            |one: &&crate::Handle| one.measured.or(one.told) == Some(Isolation::Persistent);
        let found = self.handles.iter().filter(isolated).count() as u16;
        let tried = self.handles.len() as u16;
        if found == tried && found > 0 {
            // A finding on all handles that were tried is taken to hold for the others.
            self.handle_count
        } else {
            found
        }
    }

    fn isolation_words(&self) -> String {
        let measured = self
            .handles
            .iter()
            .filter(|one| one.measured.is_some())
            .count();
        match measured {
            0 => "isolation as the drive says".to_owned(),
            some => format!(
                "isolation measured of {some} of {} handles",
                self.handle_count
            ),
        }
    }
}

fn written(error: std::fmt::Error) -> CalibrateError {
    CalibrateError::Unfit(error.to_string())
}

/// A unit's pages as dies and pages of a block.
fn dies(pages: u64) -> (u64, u64) {
    let mut dies = 1;
    while pages / dies > MOST_BLOCK_PAGES && (pages / dies).is_multiple_of(2) {
        dies *= 2;
    }
    (dies, pages / dies)
}

fn by(how: Option<&str>) -> String {
    how.map_or(String::new(), |how| format!(", by the {how}"))
}

fn bytes(band: Option<Band>) -> String {
    match band {
        None => "as the drive says".to_owned(),
        Some(band) if band.low == band.high => format!("measured: {:.0} bytes", band.best),
        Some(band) => format!(
            "measured: {:.0} bytes, {:.0} to {:.0}",
            band.best, band.low, band.high
        ),
    }
}

fn buffer(lag: Option<Band>) -> String {
    match lag {
        Some(lag) => format!(
            "at least {:.0} bytes: the counter was that far behind",
            lag.best
        ),
        None => "none that the counter shows".to_owned(),
    }
}

fn shares(band: Option<Band>) -> String {
    band.map_or("not measured".to_owned(), |band| {
        format!(
            "measured: {:.4} of the logical bytes, {:.4} to {:.4}",
            band.best, band.low, band.high
        )
    })
}
