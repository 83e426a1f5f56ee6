//! Worth of a second stream: the same writes on the same drive, once through one stream, once with data that are
//! rewritten often apart from what is not. `cargo run --release --example streams`

#![allow(clippy::print_stdout)]

use anabranch_ssd::{Config, Device, DeviceError, PageRange, StreamId};

/// Pages of the drive: 1 GiB.
const PAGES: u32 = 262_144;
/// Pages that are rewritten all the time: the first eighth.
const HOT_PAGES: u32 = PAGES / 8;

/// Fills the drive, then overwrites it three times over: nine writes in ten go to the hot pages.
fn load(device: &mut Device, hot: StreamId) -> Result<(), DeviceError> {
    let cold = StreamId::DEFAULT;
    device.write(&mut (), PageRange::new(0, HOT_PAGES), hot)?;
    device.write(&mut (), PageRange::new(HOT_PAGES, PAGES - HOT_PAGES), cold)?;
    let mut random = 1_u32;
    for _ in 0..3 * PAGES {
        // A linear congruential generator (Numerical Recipes); its high bits are good enough here.
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let draw = random >> 8;
        let (page, stream) = match draw % 10 {
            0 => (HOT_PAGES + draw / 10 % (PAGES - HOT_PAGES), cold),
            _ => (draw / 10 % HOT_PAGES, hot),
        };
        device.write(&mut (), PageRange::new(page, 1), stream)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, hot) in [("one stream", StreamId(0)), ("two streams", StreamId(1))] {
        // Units of 2 MiB, an eighth more flash than the host sees.
        let config = Config {
            host_streams: 2,
            ..Config::new(PAGES, 512, 512 + 64)
        };
        let mut device = Device::new(config, &())?;
        load(&mut device, hot)?;
        let waf = device.counters().waf().unwrap_or_default();
        println!("{name}: write amplification {waf:.2}");
    }
    Ok(())
}
