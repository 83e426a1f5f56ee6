//! What was learned, in one: what pages' lives are predicted to be, and how predictions part.

use anabranch_ssd::{PageRange, StreamId};

use super::{classes::Classes, page::Senses, predictor::Predictor, room::Room, span::Eighths};
use crate::{
    assign::{Assign, Names, Write},
    geometry::HostGeometry,
    rules::Rules,
    schemes::{
        flashalloc::{self, FlashAlloc},
        manual::Manual,
    },
};

/// What is known of a page that is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook<'a> {
    /// How long it is predicted to live.
    pub life: Eighths,
    /// Who writes it, and to which file.
    pub write: &'a Write,
    /// The stream that its file has while it is written.
    pub object: StreamId,
}

/// All that settings are applied to.
#[derive(Debug)]
pub(super) struct Mind {
    pub predictor: Predictor,
    pub classes: Classes,
    rules: Manual,
    objects: FlashAlloc,
}

impl Mind {
    pub fn new(geometry: &HostGeometry, senses: Senses) -> Mind {
        let objects = flashalloc::Parameters {
            objects: u32::from(Room::new(geometry).most_classes()) - 1,
            ..flashalloc::Parameters::default()
        };
        Mind {
            predictor: Predictor::new(geometry.logical_pages, senses),
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
    pub fn write<'a>(&mut self, page: u32, write: &'a Write, now_pages: u64) -> Outlook<'a> {
        let life = self.predictor.write(page, write, now_pages);
        self.classes.count(life);
        let object = self.objects.assign(&Write {
            pages: PageRange::new(page, 1),
            now_pages,
            ..*write
        });
        Outlook {
            life,
            write,
            object,
        }
    }

    /// The stream that rules over a file's name give a write.
    pub fn ruled(&self, write: &Write) -> StreamId {
        self.rules.stream_of(write)
    }

    /// Pages are discarded.
    pub fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.predictor.discard(pages, now_pages);
    }

    /// Names of files and contexts.
    pub fn learn(&mut self, names: &Names) {
        for (file, name) in &names.files {
            self.predictor.files_mut().learn(*file, name);
        }
        self.rules.learn(names);
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<Mind>()
            + self.predictor.memory_bytes()
            + self.classes.memory_bytes()
            + self.rules.memory_bytes()
            + self.objects.memory_bytes()
    }
}
