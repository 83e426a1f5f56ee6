//! Results for people: tables for a terminal, and a page of pictures. This crate computes no
//! figures.

mod difference;
mod difference_table;
mod downsample;
mod exposition;
mod fleet;
mod foreign;
mod format;
mod grid;
mod heading;
mod looks;
mod lost;
mod page;
mod steered;
mod table;
mod time;

pub use difference::{Change, Difference, Figures, Moved, difference};
pub use difference_table::difference_table;
pub use exposition::{Exposition, Labels, Metric};
pub use fleet::{Fleet, FleetCell, FleetDrive, FleetScheme, fleet_page};
pub use foreign::{cells, foreign, line, message, printable};
pub use format::{bytes, ratio, ratio_within, share, span, standing_words, time_unit};
pub use grid::{Cell, Column, Grid, Look};
pub use heading::{Heading, heading};
pub use lost::lost_events;
pub use page::page;
pub use steered::{
    Compared, ComparedPeriod, ComparedWay, HostCollected, ModelledTotals, STEERED_SCHEMA, Steered,
    SteeredError, SteeredSet, SteeredTotals, WafDifference, WafOfWays, steered_page,
};
pub use table::{TERMS, answer, answers, comparison, notes, stands_table, verdict};
pub use time::times;
