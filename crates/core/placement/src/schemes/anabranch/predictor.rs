//! Everything learned that settings are applied to: lifetimes, class bounds, file-name rules, files.

use anabranch_ssd::{PageRange, StreamId};

use super::{
    classes::Classes, lifetime_predictor::LifetimePredictor, page::Features, span::Eighths,
    stream_budget::StreamBudget,
};
use crate::{
    assign::{Assign, Names, Write},
    geometry::HostGeometry,
    rules::Rules,
    schemes::{
        flashalloc::{self, FlashAlloc},
        manual::Manual,
    },
};

/// The predictions for a page that is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prediction<'a> {
    /// Its predicted life.
    pub life: Eighths,
    /// The write, with its context and file.
    pub write: &'a Write,
    /// The stream that its file has while it is written.
    pub object: StreamId,
}

/// All that settings are applied to.
#[derive(Debug)]
pub(super) struct Predictor {
    pub lifetimes: LifetimePredictor,
    pub classes: Classes,
    rules: Manual,
    objects: FlashAlloc,
}

impl Predictor {
    pub fn new(geometry: &HostGeometry, features: Features) -> Predictor {
        let objects = flashalloc::Parameters {
            objects: u32::from(StreamBudget::new(geometry).most_classes()) - 1,
            ..flashalloc::Parameters::default()
        };
        Predictor {
            lifetimes: LifetimePredictor::new(geometry.logical_pages, features),
            classes: Classes::new(),
            rules: Manual::new(
                &Rules::default(),
                geometry.host_streams,
                geometry.page_bytes,
            ),
            objects: FlashAlloc::new(&objects, geometry),
        }
    }

    /// A page is written.
    #[inline]
    pub fn write<'a>(&mut self, page: u32, write: &'a Write, now_pages: u64) -> Prediction<'a> {
        let life = self.lifetimes.write(page, write, now_pages);
        self.classes.count(life);
        let object = self.objects.assign(&Write {
            pages: PageRange::new(page, 1),
            now_pages,
            ..*write
        });
        Prediction {
            life,
            write,
            object,
        }
    }

    /// The stream that rules over a file's name give a write.
    pub fn ruled(&self, write: &Write) -> StreamId {
        self.rules.stream_of(write)
    }

    pub fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.lifetimes.discard(pages, now_pages);
    }

    /// Names of files and contexts.
    pub fn learn(&mut self, names: &Names) {
        for (file, name) in &names.files {
            self.lifetimes.files_mut().learn(*file, name);
        }
        self.rules.learn(names);
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<Predictor>()
            + self.lifetimes.memory_bytes()
            + self.classes.memory_bytes()
            + self.rules.memory_bytes()
            + self.objects.memory_bytes()
    }
}
