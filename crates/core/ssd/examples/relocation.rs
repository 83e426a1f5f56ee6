//! A relocation of one's own: copies of pages that have survived once go to an internal stream, so that they no longer
//! lie among new data. `cargo run --release --example relocation`

#![allow(clippy::print_stdout)]

use anabranch_ssd::{
    Config, Device, DeviceError, PageRange, StreamId,
    relocate::{Destination, Relocate, Victim},
};

/// The internal stream follows the host's only one.
const SURVIVORS: StreamId = StreamId(1);

/// Every copy goes to the stream of survivors.
#[derive(Debug)]
struct Apart;

impl Relocate for Apart {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Stream(SURVIVORS)
    }
}

/// Fills the drive, then overwrites it four times over; half of all writes go to a tenth of the pages.
fn waf(relocation: &mut impl Relocate) -> Result<Option<f64>, Box<dyn std::error::Error>> {
    let config = Config {
        internal_streams: 1,
        ..Config::new(65_536, 256, 256 + 32)
    };
    let mut device = Device::new(config, &*relocation)?;
    overwrite(&mut device, relocation)?;
    Ok(device.counters().waf())
}

fn overwrite(device: &mut Device, relocation: &mut impl Relocate) -> Result<(), DeviceError> {
    let pages = device.config().logical_pages;
    device.write(relocation, PageRange::new(0, pages), StreamId::DEFAULT)?;
    let mut random = 1_u32;
    for step in 0..4 * pages {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let page = (random >> 8) % [pages, pages / 10][step as usize % 2];
        device.write(relocation, PageRange::new(page, 1), StreamId::DEFAULT)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("copies among new data: {:?}", waf(&mut ())?);
    println!("copies apart: {:?}", waf(&mut Apart)?);
    Ok(())
}
