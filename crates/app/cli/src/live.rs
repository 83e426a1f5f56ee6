//! `anabranch run` and `anabranch record`: writes captured as they happen.

mod capture;
mod end;
mod interrupt;
mod meter;
mod output;
mod record;
mod run;
mod spark;
mod stages;
mod view;

pub use record::record;
pub use run::run;
