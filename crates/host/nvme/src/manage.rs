//! Management of a drive's namespaces: they are made, deleted, attached and formatted.

use std::sync::Arc;

use tracing::warn;

use crate::{
    completion::Status,
    controller::Controller,
    namespace::{Namespace, NamespaceError, Wanted},
    target::Target,
};

/// Bytes that are erased at a time (our choice).
const ERASED: u64 = 16 << 20;

impl Target {
    /// Makes a namespace, which no controller has attached, and answers its identifier. Its room is erased
    /// first: a file may hold what no namespace had.
    pub(crate) fn create(&self, wanted: &Wanted) -> Result<u32, NotMade> {
        if self.incidents.is_read_only() {
            return Err(NotMade::ServedDrive(Status::WRITE_PROTECTED));
        }
        let made = {
            let mut drive = self.drive();
            let made = drive.create(wanted).map_err(NotMade::Namespace)?;
            // Until it is there it can be neither used nor deleted.
            made.begin_format();
            made.make(false);
            made
        };
        let status = match self.erase(&made) {
            Status::SUCCESS => {
                made.make(true);
                self.saved_as(Status::SUCCESS)
            }
            status => status,
        };
        if !status.is_success() {
            self.remove(&made);
            return Err(NotMade::ServedDrive(status));
        }
        made.end_format(None);
        Ok(made.id())
    }

    /// Enables an FDP configuration, or disables Flexible Data Placement.
    pub(crate) fn configure(&self, configuration: Option<u8>) -> Status {
        {
            // Under one lock, so that of two hosts the same one is last in both.
            let mut drive = self.drive();
            if let Err(status) = drive.configure(configuration) {
                return status;
            }
            self.totals.clear_statistics();
            self.enabled.set_places(configuration.is_some());
        }
        self.saved_as(Status::SUCCESS)
    }

    /// Deletes a namespace with all that it holds. Commands under way there are aborted.
    pub(crate) fn delete(&self, namespace: &Namespace) -> Status {
        if let Err(status) = self.begin_format(namespace) {
            return status;
        }
        let status = self.erase(namespace);
        if !status.is_success() {
            namespace.end_format(None);
            return status;
        }
        namespace.was_erased();
        self.remove(namespace);
        self.saved_as(status)
    }

    /// A namespace that is empty and that no command uses is no more.
    fn remove(&self, namespace: &Namespace) {
        let _one = self.gates.managing();
        let id = namespace.id();
        namespace.delete();
        for controller in self.controllers().iter() {
            controller.detach(id);
        }
        // No host can enable streams there any more.
        self.enabled
            .streaming_mut()
            .retain(|scope| scope.namespace != id);
        self.drive().remove(id);
    }

    /// Attaches a namespace to controllers, all of them or none (§5.2.10).
    pub(crate) fn attach(&self, namespace: &Arc<Namespace>, controllers: &[u16]) -> Status {
        let attached = self.attach_now(namespace, controllers);
        self.saved_after(attached)
    }

    fn attach_now(&self, namespace: &Arc<Namespace>, controllers: &[u16]) -> Result<(), Status> {
        let _one = self.gates.managing();
        let named = self.named(controllers)?;
        let id = namespace.id();
        if namespace.is_deleted() {
            return Err(Status::INVALID_FIELD);
        }
        if named.iter().any(|one| one.has(id)) {
            return Err(Status::ALREADY_ATTACHED);
        }
        let others = self.controllers().iter().filter(|one| one.has(id)).count();
        if !namespace.is_shared() && others + named.len() > 1 {
            return Err(Status::NAMESPACE_IS_PRIVATE);
        }
        for controller in &named {
            controller.attach(namespace);
            controller.namespace_changed(id);
        }
        namespace.offer(true);
        Ok(())
    }

    /// Takes a namespace from controllers, all of them or none. One that no controller has is not
    /// attached to those that come, either (our choice).
    pub(crate) fn detach(&self, namespace: &Namespace, controllers: &[u16]) -> Status {
        let detached = self.detach_now(namespace, controllers);
        self.saved_after(detached)
    }

    fn detach_now(&self, namespace: &Namespace, controllers: &[u16]) -> Result<(), Status> {
        let _one = self.gates.managing();
        let named = self.named(controllers)?;
        let id = namespace.id();
        if namespace.is_deleted() {
            return Err(Status::INVALID_FIELD);
        }
        if !named.iter().all(|one| one.has(id)) {
            return Err(Status::NOT_ATTACHED);
        }
        named.iter().for_each(|one| one.detach(id));
        if !self.controllers().iter().any(|one| one.has(id)) {
            namespace.offer(false);
        }
        Ok(())
    }

    /// The state is written of what was changed. Other hosts may connect meanwhile.
    fn saved_after(&self, changed: Result<(), Status>) -> Status {
        match changed {
            Ok(()) => self.saved_as(Status::SUCCESS),
            Err(status) => status,
        }
    }

    /// A controller begins with what is offered to it. Dynamic controllers keep nothing of former ones
    /// (§3.1.1).
    pub(crate) fn attach_offered(&self, controller: &Controller) {
        let _one = self.gates.managing();
        for namespace in self.namespaces() {
            let id = namespace.id();
            let taken = || self.controllers().iter().any(|one| one.has(id));
            if namespace.is_offered() && (namespace.is_shared() || !taken()) {
                controller.attach(&namespace);
            }
        }
    }

    /// The I/O controllers of a list.
    fn named(&self, controllers: &[u16]) -> Result<Vec<Arc<Controller>>, Status> {
        let find = |&id: &u16| self.controllers().get(id).filter(|one| one.is_io());
        let named: Option<Vec<_>> = controllers.iter().map(find).collect();
        named
            .filter(|named| !named.is_empty())
            .ok_or(Status::CONTROLLER_LIST)
    }

    fn saved_as(&self, status: Status) -> Status {
        match self.save() {
            Ok(()) => status,
            Err(error) => {
                warn!(%error, "the drive's state cannot be saved");
                Status::INTERNAL
            }
        }
    }

    /// Begins a Format: I/O commands of the namespace are refused until it ends.
    fn begin_format(&self, namespace: &Namespace) -> Result<(), Status> {
        let _alone = self.gates.alone();
        if !namespace.is_formatting() {
            namespace.begin_format();
            return Ok(());
        }
        if namespace.is_deleted() {
            Err(Status::INVALID_FIELD)
        } else {
            Err(Status::FORMAT_IN_PROGRESS)
        }
    }

    /// A namespace's blocks are erased and have another size from now on. I/O commands are refused
    /// meanwhile; those of other controllers' admin queues are not kept waiting.
    pub(crate) fn format(&self, namespace: &Namespace, block_shift: u32) -> Status {
        if let Err(status) = self.begin_format(namespace) {
            return status;
        }
        let status = match namespace.capacity() >> block_shift {
            0 => Status::INVALID_FORMAT,
            _ => self.erase(namespace),
        };
        if !status.is_success() {
            namespace.end_format(None);
            return status;
        }
        namespace.was_erased();
        namespace.end_format(Some(block_shift));
        for controller in self
            .controllers()
            .iter()
            .filter(|one| one.has(namespace.id()))
        {
            controller.namespace_changed(namespace.id());
        }
        // A drive that is killed must not come back with blocks of the former size.
        self.saved_as(status)
    }

    /// Discards and zeroes all of a namespace, so much at a time, and makes that safe: a state may say so
    /// next.
    fn erase(&self, namespace: &Namespace) -> Status {
        {
            let mut drive = self.drive();
            if drive.is_read_only() {
                return Status::WRITE_PROTECTED;
            }
            drive.close_streams(namespace.id());
        }
        let mut at = namespace.begin();
        let end = at + namespace.capacity();
        while at < end {
            let length = ERASED.min(end - at);
            // Contents first: the drive knows of all data there are, though this fails in between.
            if self.store.zero(at, length).is_err() {
                return Status::INTERNAL;
            }
            let result = self.drive().discard(self.facts.touched(at, length));
            let status = self.incidents.recorded(result);
            if !status.is_success() {
                return status;
            }
            at += length;
        }
        match self.store.flush() {
            Ok(()) => Status::SUCCESS,
            Err(_) => Status::INTERNAL,
        }
    }
}

/// Cause of a namespace's refusal.
pub(crate) enum NotMade {
    /// Its layout is refused.
    Namespace(NamespaceError),
    /// The drive cannot make it.
    ServedDrive(Status),
}
