//! The writers that the kernel side told of: what each one's stack claims, and which tenant it is.

use std::collections::HashMap;
use std::sync::Arc;

use anabranch_trace::{ContextKind, Operation, placed_role};

use crate::address_space::{AddressSpace, AddressSpaces};
use crate::bounded::BoundedMap;
use crate::capture_filter::{CaptureFilter, LeftOut, Stranger, Wanted};
use crate::context_table::{Claims, ContextTable};
use crate::event::{CodeMapping, ImageKey, IoEvent, StackEvent, WriterKind};
use crate::reply::Reply;
use crate::shared::Shared;
use crate::tenants::Tenants;
use crate::unwinding::{StoppedThread, step_word};
use crate::writer::{CallSite, Object, Writer};

/// The most hashes of writers that are remembered: four times as many as the kernel side remembers to have sent, since
/// a page may be written out long after it was made dirty. Our choice.
const MAX_WRITERS: usize = 65536;
/// The most processes that are gone and of which stacks are kept, and the most stacks of each. A process tells where it had
/// code when it ends, so they wait no longer than it takes to read what came before. Our choice.
const MAX_UNPLACED: usize = 128;
const MAX_UNPLACED_EACH: usize = 16;
/// The fewest frames with which a walk along frame pointers is trusted; as in `stack.bpf.h`.
const MIN_FRAMES: usize = 3;

/// An odd number that tells the hashes of a writer's placements apart (2^64 over the golden ratio; our choice).
const PLACEMENT_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Record of a writer.
#[derive(Debug)]
pub(crate) struct Known {
    pub claims: Arc<Claims>,
    /// The tenant that its control group is.
    pub tenant: u32,
}

/// The writers, by the hash that the kernel side gave each.
#[derive(Debug)]
pub(crate) struct KnownWriters {
    spaces: AddressSpaces,
    writers: BoundedMap<u64, Result<Known, Stranger>>,
    /// A process has hashes of its own: what a program's processes claim is kept once.
    claims: Shared<Claims>,
    paths: Shared<[CallSite]>,
    /// Programs whose writes are captured; `None` for all.
    wanted: Option<Wanted>,
    /// The tenants by control group; `None` where directories are tenants.
    tenants: Option<Tenants>,
    /// Number of stacks of processes that were gone before they could be read.
    gone: u64,
    /// Some of these stacks.
    unplaced: BoundedMap<ImageKey, Vec<StackEvent>>,
}

impl KnownWriters {
    /// Everybody's writes are wanted, and nobody is known.
    pub(crate) fn new() -> KnownWriters {
        KnownWriters {
            spaces: AddressSpaces::new(),
            writers: BoundedMap::new(MAX_WRITERS),
            claims: Shared::new(),
            paths: Shared::new(),
            wanted: None,
            tenants: None,
            gone: 0,
            unplaced: BoundedMap::new(MAX_UNPLACED),
        }
    }

    /// Wants only the writes of `whose`, or everybody's if that is empty.
    pub(crate) fn only(&mut self, whose: &[CaptureFilter]) {
        self.wanted = (!whose.is_empty()).then(|| Wanted::new(whose.to_vec()));
    }

    /// Returns the record of a writer whose writes name a placement: a role of its own for each, so that no two of them
    /// share a context. A thread's own name cannot say so, since roles have no digits.
    pub(crate) fn placed(
        &mut self,
        hash: u64,
        placement: u16,
        contexts: &ContextTable,
    ) -> Option<&Known> {
        // 1 more, or placement 0 would have the hash of writes that name none.
        let own = hash ^ (1 + u64::from(placement)).wrapping_mul(PLACEMENT_FACTOR);
        if self.get(own).is_none() {
            let known = self.get(hash)?;
            let (mut writer, tenant) = (known.claims.writer.clone(), known.tenant);
            writer.role = placed_role(&writer.role, placement).into();
            let claims = self.claims.share(Arc::new(contexts.claims(writer)));
            self.writers.insert(own, Ok(Known { claims, tenant }));
        }
        self.get(own)
    }

    /// Goes by these tenants, if there are any.
    pub(crate) fn shared_by(&mut self, tenants: Option<Tenants>) {
        self.tenants = tenants;
    }

    /// The tenants by control group; `None` where directories are tenants.
    pub(crate) fn tenants(&self) -> Option<&Tenants> {
        self.tenants.as_ref()
    }

    /// Returns the record of a writer; `None` if there is none, or its writes are not wanted.
    pub(crate) fn get(&mut self, hash: u64) -> Option<&Known> {
        let known = self.writers.get_mut(&hash)?;
        known.as_ref().ok()
    }

    /// Returns a program's code ranges, for the kernel side; `None` if the process is gone and its ranges were not reported.
    pub(crate) fn ranges(
        &mut self,
        image: ImageKey,
        code: &[CodeMapping],
        contexts: &ContextTable,
    ) -> Option<Reply> {
        let space = self.spaces.get_or(image, code)?;
        for stack in self.unplaced.remove(&image).unwrap_or_default() {
            self.gone -= 1;
            // Its reply is dropped: the process is gone, and nobody walks by those steps.
            self.know(&stack, contexts);
        }
        Some(Reply::Ranges(image, space.ranges().to_vec(), None))
    }

    /// Takes what the kernel side tells of a writer.
    pub(crate) fn learn(&mut self, stack: &StackEvent, contexts: &ContextTable) -> Option<Reply> {
        if let Some(wanted) = &mut self.wanted
            && let Some(stranger) = wanted.stranger(stack)
        {
            // Remembered: a writer that is not here is asked for again at each of its writes (`leave_out`).
            self.writers.insert(stack.hash, Err(stranger));
            return None;
        }
        self.know(stack, contexts)
    }

    fn know(&mut self, stack: &StackEvent, contexts: &ContextTable) -> Option<Reply> {
        let kind = match stack.kind {
            WriterKind::User => ContextKind::Application,
            WriterKind::Journal => ContextKind::Journal,
            WriterKind::Metadata => ContextKind::Metadata,
            WriterKind::Kernel => ContextKind::Kernel,
        };
        let mut reply = None;
        let mut path = Vec::new();
        if !stack.frames.is_empty() {
            let newer = self.spaces.reload_for(stack.image, stack.outside);
            // The walk that ended for want of a range is not remembered: the next one goes further.
            let short = Some(stack.hash);
            reply = newer.map(|space| Reply::Ranges(stack.image, space.ranges().to_vec(), short));
            match self.spaces.get(stack.image) {
                Some(space) => {
                    let steps;
                    (path, steps) = self.path(stack, &space);
                    // Where code is new, the same stack is sent again.
                    if reply.is_none() && !steps.is_empty() {
                        reply = Some(Reply::Steps(stack.image, steps));
                    }
                }
                None => {
                    self.gone += 1;
                    self.wait(stack);
                }
            }
        }
        // The kernel side blanks the name of a program's thread that was made to write the file system's own blocks.
        let role = match (kind, stack.comm.as_str()) {
            (ContextKind::Journal, "") => "journal",
            (ContextKind::Metadata, "") => "metadata",
            (_, comm) => comm,
        };
        let writer = Writer::new(kind, role, path).share_path(&mut self.paths);
        let claims = contexts.claims(writer);
        let claims = self.claims.share(Arc::new(claims));
        let tenants = self.tenants.as_mut();
        let tenant = tenants.map_or(0, |tenants| tenants.number(stack.group));
        self.writers
            .insert(stack.hash, Ok(Known { claims, tenant }));
        reply
    }

    /// Keeps a stack of a process that is gone: where it had code may yet be told.
    fn wait(&mut self, stack: &StackEvent) {
        match self.unplaced.get_mut(&stack.image) {
            Some(stacks) if stacks.len() < MAX_UNPLACED_EACH => stacks.push(stack.clone()),
            Some(_) => {}
            None => self.unplaced.insert(stack.image, vec![stack.clone()]),
        }
    }

    /// Counts a request that is nobody's whose writes are wanted, and answers with the reply to the kernel side.
    pub(crate) fn leave_out(
        &mut self,
        event: &IoEvent,
        operation: Operation,
    ) -> Option<Option<Reply>> {
        let wanted = self.wanted.as_mut()?;
        let (writer, reply) = match operation {
            // Never left out: discards show which data no longer live, whoever wrote them.
            Operation::Discard | Operation::Flush => return None,
            // Always: the process of a read is not known.
            Operation::Read => (None, None),
            Operation::Write => match self.writers.get_mut(&event.writer) {
                Some(Ok(_)) => return None,
                Some(Err(stranger)) => (Some(*stranger), None),
                None => (None, Some(Reply::Resend(event.writer))),
            },
        };
        wanted.leave_out(event, operation, writer);
        Some(reply)
    }

    /// Counts of the requests left out so far.
    pub(crate) fn left_out(&self) -> LeftOut {
        let wanted = self.wanted.as_ref();
        wanted.map_or_else(LeftOut::default, Wanted::left_out)
    }

    /// Sentences on what could not be seen.
    pub(crate) fn limitations(&self) -> Vec<String> {
        let gone = (self.gone > 0).then(|| {
            format!(
                "{} call paths belong to processes that ended before they could be looked at: their writes are known by the thread's name only.",
                self.gone
            )
        });
        let left_out = self.wanted.iter().flat_map(Wanted::limitations);
        let silent = self.tenants.iter().flat_map(Tenants::limitations);
        let unread = self.unread();
        let all = gone.into_iter().chain(left_out).chain(silent);
        all.chain(unread).collect()
    }

    /// A sentence on files of programs that could not be read, if there were any.
    pub(crate) fn unread(&self) -> Option<String> {
        self.spaces.limitation()
    }

    /// The call path in a form that survives a restart, empty when no address leads to code; and the steps that lead along it,
    /// if it was unwound.
    fn path(
        &mut self,
        stack: &StackEvent,
        space: &Arc<AddressSpace>,
    ) -> (Vec<CallSite>, Vec<(u64, u64)>) {
        let Some(&instruction) = stack.frames.first() else {
            return (Vec::new(), Vec::new());
        };
        // The frames of a scan are guesses: their files are not asked for where the words tell the path.
        if !stack.scanned || stack.words.is_empty() {
            let sites = self.sites(stack, space, &stack.frames);
            // Without words, the frames are all that is known. Had the kernel side known where there is code, it would
            // have looked for a path without frame pointers only where too few of them led on.
            if stack.words.is_empty() || sites.len() >= MIN_FRAMES {
                return (sites, Vec::new());
            }
        }
        let thread = StoppedThread {
            instruction,
            stack_pointer: stack.stack_pointer,
            frame_pointer: stack.frame_pointer,
            words: &stack.words,
        };
        let path = self.spaces.unwind(stack.image.tgid, space, &thread);
        let steps = path.steps.into_iter();
        (
            self.sites(stack, space, &path.addresses),
            steps
                .map(|(address, step)| (address, step_word(step)))
                .collect(),
        )
    }

    /// The call sites at addresses, as far as they lead into code.
    fn sites(
        &mut self,
        stack: &StackEvent,
        space: &Arc<AddressSpace>,
        addresses: &[u64],
    ) -> Vec<CallSite> {
        let named = self.spaces.compiled(stack.image, space, addresses);
        let sites = addresses
            .iter()
            .map_while(|&address| self.site(stack.image, space, address, &named));
        sites.collect()
    }

    /// The call site at an address: a function that a just-in-time compiler named, or a place in a file; `None` if no code
    /// is there.
    fn site(
        &mut self,
        image: ImageKey,
        space: &AddressSpace,
        address: u64,
        named: &HashMap<u64, Arc<Object>>,
    ) -> Option<CallSite> {
        let Some(object) = named.get(&address) else {
            return self.spaces.find(image.tgid, space, address);
        };
        Some(CallSite {
            object: object.clone(),
            file_offset: 0,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::context_table::FoldLimits;
    use crate::image::image_of;

    /// A writer of no process, in no control group.
    pub(crate) fn stack(hash: u64, kind: WriterKind, comm: &str) -> StackEvent {
        StackEvent {
            kind,
            scanned: false,
            known: true,
            hash,
            image: ImageKey {
                image: 1,
                tgid: u32::MAX,
            },
            outside: 0,
            stack_pointer: 0,
            frame_pointer: 0,
            group: 0,
            comm: comm.into(),
            frames: match kind {
                WriterKind::User => vec![0x1000, 0x2000, 0x3000],
                _ => Vec::new(),
            },
            words: Vec::new(),
        }
    }

    /// The claims of as many processes as are remembered, of programs with these names; all have one call path.
    fn claims_of(names: impl Iterator<Item = String>) -> Vec<Arc<Claims>> {
        let mut writers = KnownWriters::new();
        let contexts = ContextTable::new(FoldLimits::default());
        let tgid = std::process::id();
        let image = image_of(tgid)
            .map(|image| ImageKey { image, tgid })
            .unwrap();
        let code = [
            stack as fn(u64, WriterKind, &str) -> StackEvent as usize as u64,
            KnownWriters::new as fn() -> KnownWriters as usize as u64,
            KnownWriters::only as fn(&mut KnownWriters, &[CaptureFilter]) as usize as u64,
        ];
        let processes = (0..MAX_WRITERS as u64).zip(names).map(|(hash, name)| {
            let mut one = stack(hash, WriterKind::User, &name);
            one.image = image;
            one.frames = code.to_vec();
            writers.learn(&one, &contexts);
            Arc::clone(&writers.get(hash).unwrap().claims)
        });
        processes.collect()
    }

    #[test]
    fn processes_of_one_program_are_kept_as_one_writer() {
        let claims = claims_of(std::iter::repeat("dd".into()));
        assert_eq!(claims.len(), MAX_WRITERS);
        assert!(claims.iter().all(|one| Arc::ptr_eq(one, &claims[0])));
    }

    #[test]
    fn a_writer_with_a_new_name_takes_little_more_than_its_name() {
        let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
        let name = |number: usize| (0..5).map(|at| letter(number / 26_usize.pow(at))).collect();
        let claims = claims_of((0..).map(name));
        assert_eq!(claims.len(), MAX_WRITERS);
        let path = claims[0].writer.path();
        assert_eq!(path.len(), MIN_FRAMES);
        for pair in claims.windows(2) {
            assert_ne!(pair[0].writer.role, pair[1].writer.role);
            assert_eq!(pair[1].writer.path().as_ptr(), path.as_ptr());
        }
        assert!(size_of::<Claims>() <= 80);
        assert!(size_of::<(u64, Result<Known, Stranger>)>() <= 24);
    }
}
