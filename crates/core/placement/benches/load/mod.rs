//! Load of the benchmarks: random addresses, sixteen contexts and files, four tenants.

#![allow(
    dead_code,
    clippy::expect_used,
    reason = "each benchmark uses a part of it, and stops at the first thing that goes wrong"
)]

use std::sync::Arc;

use anabranch_placement::{
    Assign, ContextName, DeviceHalf, Future, HostGeometry, Names, SCHEMES, SchemeSpec, Site, Write,
};
use anabranch_ssd::PageRange;
use anabranch_trace::{ContextId, ContextKind, FileId, WriteHint};

/// Schemes that parameters make others of.
pub const VARIANTS: [&str; 7] = [
    "autostream-sfr:preset=sepbit-port",
    "autostream-mq:preset=sepbit-port",
    "autostream-mq:preset=log10-emulator",
    "vstream:by=file",
    "hints:tenants=4",
    "pcstream:tenants=4",
    "anabranch:setting=classes",
];

/// Every scheme there is, and variants, each as it would be at work on a drive: whole, where it has
/// both halves. `future` is for those that must know it.
pub fn schemes(
    drive: &HostGeometry,
    future: &Arc<Future>,
) -> impl Iterator<Item = (&'static str, Box<dyn Assign>)> {
    let names = SCHEMES.iter().map(|scheme| scheme.name).chain(VARIANTS);
    names.map(move |name| {
        let spec: SchemeSpec = name.parse().expect("the catalogue's names read");
        let drive = drive.drive();
        let site = Site::new(&drive, DeviceHalf::Own).foreseen(Some(future));
        let halves = spec.build(&site);
        let mut assign = halves.expect("it fits the drive").into_assign();
        assign.learn(&names_of_writers());
        (name, assign)
    })
}

fn names_of_writers() -> Names {
    let context = |id| ContextName {
        id: ContextId(id),
        signature: id.into(),
        kind: ContextKind::Application,
        role: format!("role-{}", id % 3),
    };
    Names {
        files: (0..16)
            .map(|id| (FileId(id), format!("{id}.k{}", id % 5)))
            .collect(),
        contexts: (0..16).map(context).collect(),
    }
}

/// A sequence of writes. The generator is cheap beside what is measured, and the same on every run.
#[derive(Debug)]
pub struct Load {
    state: u64,
    /// Pages written.
    pub now_pages: u64,
}

impl Load {
    pub fn new() -> Load {
        Load {
            state: 1,
            now_pages: 0,
        }
    }

    /// The next number drawn.
    pub fn draw(&mut self) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.state >> 33) as u32
    }

    /// The next request, of so many pages of a drive of so many.
    pub fn write(&mut self, request_pages: u32, logical_pages: u32) -> Write {
        let slot = self.draw() % (logical_pages / request_pages);
        let drawn = self.draw();
        let write = Write {
            pages: PageRange::new(slot * request_pages, request_pages),
            context: ContextId(drawn % 16),
            file: FileId(drawn / 16 % 16),
            hint: WriteHint::ALL[(drawn % 6) as usize],
            tenant: drawn / 256 % 4,
            now_pages: self.now_pages,
        };
        self.now_pages += u64::from(request_pages);
        write
    }
}
