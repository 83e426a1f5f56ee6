//! A drive of more units than its map has cells.

use anabranch_replay::Start;
use anabranch_ssd::Config;

use crate::{
    hold,
    lanes::{compared, drive, requests},
};

#[test]
fn a_drive_of_many_units_is_shown_as_it_was() {
    let drive = Config {
        logical_pages: 16_384,
        pages_per_unit: 4,
        physical_units: 5_000,
        ..drive()
    };
    let ios = requests(5, 600);
    let (_, lines) = compared(&drive, &Start::default(), &ios, "many");
    hold("cells", &lines);
}
