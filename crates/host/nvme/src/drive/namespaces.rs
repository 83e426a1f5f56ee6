//! The namespaces of a drive, and what of them the device must know.

use std::sync::Arc;

use super::{Kind, ServedDrive, fdp};
use crate::namespace::{Layout, Namespace, NamespaceError, Namespaces, Wanted};

impl ServedDrive {
    /// The namespaces there are.
    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    pub(super) fn no_namespaces(&self, births: u64) -> Namespaces {
        let config = self.config();
        Namespaces::new(config.logical_pages, config.page_bytes, births)
    }

    /// The drive with one namespace, of all its pages and all its handles, as far as one may have them.
    ///
    /// # Errors
    /// When its device has namespaces already.
    pub fn whole(self, block_bytes: u32) -> Result<ServedDrive, NamespaceError> {
        let handles = self.as_fdp().map_or(0, |device| {
            device.configuration().handles.min(fdp::MOST_HANDLES)
        });
        let all = Wanted {
            bytes: None,
            block_shift: block_bytes.trailing_zeros(),
            shared: true,
            handles: (0..handles).collect(),
        };
        self.with(&[all])
    }

    /// The drive without any.
    #[must_use]
    pub fn without_namespaces(mut self) -> ServedDrive {
        let ids: Vec<u32> = self.namespaces.iter().map(|one| one.id()).collect();
        ids.into_iter().for_each(|id| self.remove(id));
        self
    }

    /// The drive with these namespaces, which all controllers have attached.
    ///
    /// # Errors
    /// When they do not fit, or their handles are none.
    pub fn with(mut self, wanted: &[Wanted]) -> Result<ServedDrive, NamespaceError> {
        for wanted in wanted {
            let namespace = self.create(wanted)?;
            self.count(&namespace);
            namespace.offer(true);
        }
        Ok(self)
    }

    /// The drive with the namespaces that were kept, that has had so many, and whose FDP configuration is
    /// that.
    ///
    /// # Errors
    /// When they are none of this drive's.
    pub fn with_kept(
        mut self,
        layouts: &[Layout],
        births: u64,
        configuration: Option<u8>,
    ) -> Result<ServedDrive, NamespaceError> {
        self.namespaces = self.no_namespaces(births);
        let configured = self.use_configuration(configuration);
        configured.map_err(|_| NamespaceError::Configuration(configuration))?;
        // Those that list handles first: what the drive picks for the others is none of those.
        let (listed, others): (Vec<&Layout>, Vec<&Layout>) =
            layouts.iter().partition(|one| !one.handles.is_empty());
        for layout in listed.into_iter().chain(others) {
            let namespace = self.add(layout)?;
            self.count(&namespace);
        }
        Ok(self)
    }

    /// Counts the pages of a namespace that hold data already: those of a state, or of an aged drive.
    fn count(&self, namespace: &Namespace) {
        let pages = namespace.pages();
        let all = pages.first..pages.first + pages.count;
        let mapped = match self.mapped_pages() {
            0 => 0,
            mapped if pages.count == self.config().logical_pages => mapped,
            _ => all.filter(|&page| self.locate(page).is_some()).count() as u64,
        };
        namespace.changed(0, mapped, 0);
    }

    /// A new namespace, which no controller has attached.
    ///
    /// # Errors
    /// When it cannot be.
    pub(crate) fn create(&mut self, wanted: &Wanted) -> Result<Arc<Namespace>, NamespaceError> {
        let layout = self.namespaces.plan(wanted)?;
        self.add(&layout)
    }

    fn add(&mut self, layout: &Layout) -> Result<Arc<Namespace>, NamespaceError> {
        let is_enabled = self.configuration.is_some();
        if let Kind::Fdp(device) = &mut self.kind {
            let handles = if is_enabled {
                &layout.handles[..]
            } else {
                &[0]
            };
            device.create_namespace(layout.id, handles)?;
        }
        let added = self.namespaces.add(layout);
        if added.is_err() {
            self.forget(layout.id);
        }
        added
    }

    /// A namespace is no more. Its pages were discarded, but for those of a write that was refused while
    /// that went on: they hold nothing and are discarded now.
    pub(crate) fn remove(&mut self, id: u32) {
        if let Some(table) = self.table_mut() {
            table.release_namespace(id);
        }
        let held = self.namespaces.get(id).filter(|one| one.mapped_pages() > 0);
        if let Some(pages) = held.map(|one| one.pages()) {
            // A drive that is read-only keeps them, and takes no more writes anyway.
            let _ = self.discard(pages);
        }
        self.forget(id);
        self.namespaces.remove(id);
    }

    fn forget(&mut self, id: u32) {
        if let Kind::Fdp(device) = &mut self.kind {
            // There is none such: then there is nothing to forget.
            let _ = device.delete_namespace(id);
        }
    }
}
