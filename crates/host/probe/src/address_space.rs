//! The executable memory of processes: as an inspector reads it or, of one that is gone, as the kernel side reports it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bounded::BoundedMap;
use crate::event::{CodeMapping, ImageKey, MAX_RANGES};
use crate::inspector::message::{CodeFile, CodePlace};
use crate::program_files::ProgramFiles;
use crate::unwinding::{CallPath, Rule, StoppedThread, unwind};
use crate::writer::{ANONYMOUS, CallSite, Object};

/// The most program images that are kept. Our choice; the kernel side keeps as many.
const MAX_IMAGES: usize = 2048;
/// The most objects that are kept; code of further ones is shown as if it lay in no file. Our choice.
const MAX_OBJECTS: usize = 16384;
/// The most rules of places in code that are kept. Our choice.
const MAX_RULES: usize = 65536;
/// The least time between two readings of a process that shows code at new addresses. Our choice.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// A file's device and inode number, and an offset in it: another file may have the same path, in another mount namespace.
type FileOffset = ((u32, u64), u64);

/// One executable mapping of a process.
#[derive(Debug, Clone)]
struct Mapping {
    start: u64,
    end: u64,
    file_offset: u64,
    /// The kernel's number of the file's device, and the file's inode.
    file: (u32, u64),
    /// The path of the file; a name in brackets for code that lies in no file.
    path: String,
    /// Whether an inspector read it of the process, or the kernel side reported it of one that is gone.
    is_read: bool,
}

impl Mapping {
    fn is_file(&self) -> bool {
        self.path.starts_with('/')
    }

    fn code_file(&self, tgid: u32) -> CodeFile {
        CodeFile {
            tgid,
            range: self.is_read.then_some((self.start, self.end)),
            device: self.file.0,
            inode: self.file.1,
            path: self.path.clone(),
        }
    }

    /// The file and offset of the code at an address of the mapping.
    fn place(&self, address: u64) -> FileOffset {
        (self.file, self.offset(address))
    }

    /// The offset in the file of the code at an address of the mapping; 0 if it lies in no file.
    fn offset(&self, address: u64) -> u64 {
        if self.is_file() {
            (address - self.start).wrapping_add(self.file_offset)
        } else {
            0
        }
    }
}

/// The executable mappings of one process, in the order of their addresses.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    mappings: Vec<Mapping>,
    coarse: Vec<(u64, u64)>,
    loaded: Instant,
}

impl AddressSpace {
    fn new(mappings: Vec<Mapping>) -> AddressSpace {
        let exact = mappings.iter().map(|mapping| (mapping.start, mapping.end));
        AddressSpace {
            coarse: coalesce(exact.collect(), MAX_RANGES),
            mappings,
            loaded: Instant::now(),
        }
    }

    fn mapping(&self, address: u64) -> Option<&Mapping> {
        let after = self
            .mappings
            .partition_point(|mapping| mapping.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (address < mapping.end).then_some(mapping)
    }

    /// Whether code is at an address.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.mapping(address).is_some()
    }

    /// At most [`MAX_RANGES`] sorted, disjoint ranges that contain all of the process's code.
    pub(crate) fn ranges(&self) -> &[(u64, u64)] {
        &self.coarse
    }
}

/// Joins sorted ranges that touch, then those with the smallest gaps between them, until at most `most` are left.
fn coalesce(ranges: Vec<(u64, u64)>, most: usize) -> Vec<(u64, u64)> {
    let mut gaps: Vec<u64> = ranges
        .windows(2)
        .map(|pair| pair[1].0.saturating_sub(pair[0].1))
        .collect();
    gaps.sort_unstable();
    let widest_joined = match ranges.len().checked_sub(most.max(1)) {
        Some(surplus) if surplus > 0 => gaps[surplus - 1],
        _ => 0,
    };
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges {
        match joined.last_mut() {
            Some(last) if start.saturating_sub(last.1) <= widest_joined => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// The address spaces of the processes that write, each read once.
#[derive(Debug)]
pub(crate) struct AddressSpaces {
    spaces: BoundedMap<ImageKey, Arc<AddressSpace>>,
    /// The processes that were not there when they were last asked for.
    gone: BoundedMap<ImageKey, Instant>,
    /// By device and inode number; of one that was a file of several paths, all.
    objects: HashMap<(u32, u64), Vec<Arc<Object>>>,
    /// Number of objects.
    held: usize,
    anonymous: Arc<Object>,
    /// By place, and whether that is a return address.
    rules: BoundedMap<(FileOffset, bool), Rule>,
    /// Functions of just-in-time compilers, by their names.
    compiled: HashMap<String, Arc<Object>>,
    /// The programs that had no map of such functions when they were last asked.
    unmapped: BoundedMap<ImageKey, Instant>,
    files: ProgramFiles,
}

impl AddressSpaces {
    /// An empty set of address spaces.
    pub(crate) fn new() -> AddressSpaces {
        AddressSpaces {
            spaces: BoundedMap::new(MAX_IMAGES),
            gone: BoundedMap::new(MAX_IMAGES),
            objects: HashMap::new(),
            held: 0,
            anonymous: Arc::new(Object::anonymous()),
            rules: BoundedMap::new(MAX_RULES),
            compiled: HashMap::new(),
            unmapped: BoundedMap::new(MAX_IMAGES),
            files: ProgramFiles::new(),
        }
    }

    /// A sentence on files of programs that could not be read, if there were any.
    pub(crate) fn limitation(&self) -> Option<String> {
        self.files.limitation()
    }

    /// The address space of `image`, which is read now if it was not before; `None` if the process is gone.
    pub(crate) fn get(&mut self, image: ImageKey) -> Option<Arc<AddressSpace>> {
        if let Some(space) = self.spaces.get_mut(&image) {
            return Some(space.clone());
        }
        // One that ended has as many stacks as it had before: it is not looked for at each.
        let asked = self.gone.get_mut(&image);
        if asked.is_some_and(|at| at.elapsed() < RELOAD_INTERVAL) {
            return None;
        }
        let space = self.load(image);
        if space.is_none() {
            self.gone.insert(image, Instant::now());
        }
        space
    }

    /// As [`AddressSpaces::get`], but of a process that is gone what the kernel side reported: `None` if that is nothing.
    pub(crate) fn get_or(
        &mut self,
        image: ImageKey,
        reported: &[CodeMapping],
    ) -> Option<Arc<AddressSpace>> {
        if let Some(space) = self.get(image) {
            return Some(space);
        }
        let mappings = reported.iter().map(|code| Mapping {
            start: code.start,
            end: code.end,
            file_offset: code.file_offset,
            file: (code.dev, code.ino),
            path: match code.path.as_str() {
                "" => ANONYMOUS.to_owned(),
                path => path.to_owned(),
            },
            is_read: false,
        });
        let mappings: Vec<Mapping> = mappings.collect();
        (!mappings.is_empty()).then(|| self.keep(image, mappings))
    }

    /// Reads `image` again if it shows code at `address` that was not there before. Answers with the new address space
    /// if so.
    pub(crate) fn reload_for(
        &mut self,
        image: ImageKey,
        address: u64,
    ) -> Option<Arc<AddressSpace>> {
        let space = self.spaces.get_mut(&image)?;
        if address == 0 || space.holds(address) || space.loaded.elapsed() < RELOAD_INTERVAL {
            return None;
        }
        self.load(image)
    }

    fn load(&mut self, image: ImageKey) -> Option<Arc<AddressSpace>> {
        let program = self.files.program(image.tgid)?;
        if program.mappings.is_empty() || program.image? != image.image {
            return None;
        }
        let mappings = program.mappings.into_iter().map(|code| Mapping {
            start: code.start,
            end: code.end,
            file_offset: code.file_offset,
            file: (code.device, code.inode),
            path: code.path,
            is_read: true,
        });
        let mappings = mappings.collect();
        Some(self.keep(image, mappings))
    }

    fn keep(&mut self, image: ImageKey, mappings: Vec<Mapping>) -> Arc<AddressSpace> {
        let space = Arc::new(AddressSpace::new(mappings));
        self.spaces.insert(image, space.clone());
        space
    }

    /// The object and offset of the code at an address of a process; `None` if no code is there.
    pub(crate) fn find(
        &mut self,
        tgid: u32,
        space: &AddressSpace,
        address: u64,
    ) -> Option<CallSite> {
        let mapping = space.mapping(address)?;
        Some(CallSite {
            object: self.object(tgid, mapping),
            file_offset: mapping.offset(address),
        })
    }

    /// The object that a mapping is of. A file is asked for its build-id once a call path leads through it: programs map
    /// many libraries that never call for a write, and one that ends soon does not wait for them.
    fn object(&mut self, tgid: u32, mapping: &Mapping) -> Arc<Object> {
        if mapping.path == ANONYMOUS {
            return self.anonymous.clone();
        }
        let mut known = self.objects.get(&mapping.file).into_iter().flatten();
        // The path that the kernel side reports is the one below the root of its file system: where that is mounted
        // elsewhere, another object of that file names it, or only the path.
        let is_it = |object: &&Arc<Object>| !mapping.is_read || object.path == mapping.path;
        if let Some(object) = known.find(is_it) {
            return object.clone();
        }
        if self.held >= MAX_OBJECTS {
            return self.anonymous.clone();
        }
        let asked = mapping.is_file().then(|| mapping.code_file(tgid));
        let build_id = asked.and_then(|file| self.files.build_id(file));
        let object = Arc::new(Object {
            build_id: build_id.unwrap_or_default(),
            path: mapping.path.clone(),
        });
        self.held += 1;
        let objects = self.objects.entry(mapping.file).or_default();
        objects.push(object.clone());
        object
    }

    /// The functions that a just-in-time compiler named at those of these return addresses that lie in no file.
    pub(crate) fn compiled(
        &mut self,
        image: ImageKey,
        space: &AddressSpace,
        addresses: &[u64],
    ) -> HashMap<u64, Arc<Object>> {
        let is_bare = |address: &&u64| {
            let mapping = space.mapping(**address);
            mapping.is_some_and(|mapping| mapping.path == ANONYMOUS)
        };
        let bare: Vec<u64> = addresses.iter().filter(is_bare).copied().collect();
        let asked = self.unmapped.get_mut(&image);
        if bare.is_empty() || asked.is_some_and(|at| at.elapsed() < RELOAD_INTERVAL) {
            return HashMap::new();
        }
        // A return address may already lie in the next function: ask for the call itself.
        let calls = bare.iter().map(|address| address - 1).collect();
        let Some(functions) = self.files.functions(image.tgid, calls) else {
            self.unmapped.insert(image, Instant::now());
            return HashMap::new();
        };
        let named = bare.into_iter().zip(functions);
        let object =
            |(address, name): (u64, Option<String>)| Some((address, self.compiled_object(name?)?));
        named.filter_map(object).collect()
    }

    fn compiled_object(&mut self, name: String) -> Option<Arc<Object>> {
        if let Some(object) = self.compiled.get(&name) {
            return Some(object.clone());
        }
        if self.compiled.len() >= MAX_OBJECTS {
            return None;
        }
        let object = Arc::new(Object::compiled(&name));
        self.compiled.insert(name, object.clone());
        Some(object)
    }

    /// The call path of a stopped thread of a process.
    pub(crate) fn unwind(
        &mut self,
        tgid: u32,
        space: &AddressSpace,
        thread: &StoppedThread<'_>,
    ) -> CallPath {
        let known = unwind(thread, |address, is_return| {
            self.rule(space, address, is_return)
        });
        known.unwrap_or_else(|| {
            self.learn_rules(tgid, space, thread);
            let path = unwind(thread, |address, is_return| {
                let rule = self.rule(space, address, is_return);
                Some(rule.unwrap_or(Some(Rule::UNKNOWN)))
            });
            path.unwrap_or_default()
        })
    }

    /// The rule of an address: `Some(None)` where no code is, `None` where it was not asked for yet.
    fn rule(
        &mut self,
        space: &AddressSpace,
        address: u64,
        is_return: bool,
    ) -> Option<Option<Rule>> {
        let Some(mapping) = space.mapping(address) else {
            return Some(None);
        };
        if !mapping.is_file() {
            return Some(Some(Rule::UNKNOWN));
        }
        let key = (mapping.place(address), is_return);
        self.rules.get_mut(&key).map(|rule| Some(*rule))
    }

    /// Asks for the rules of all addresses that a thread's path can lead to. One question a stack: a program that ends soon
    /// does not wait for many.
    fn learn_rules(&mut self, tgid: u32, space: &AddressSpace, thread: &StoppedThread<'_>) {
        let mut files: Vec<CodeFile> = Vec::new();
        let (mut places, mut keys) = (Vec::new(), Vec::new());
        let first = std::iter::once((thread.instruction, false));
        let words = thread.words.iter().map(|&word| (word, true));
        for (address, is_return) in first.chain(words) {
            let mapping = space.mapping(address).filter(|mapping| mapping.is_file());
            let Some(mapping) = mapping else {
                continue;
            };
            let key = (mapping.place(address), is_return);
            if self.rules.get_mut(&key).is_some() || keys.contains(&key) {
                continue;
            }
            let known = files
                .iter()
                .position(|file| (file.device, file.inode) == mapping.file);
            let file = known.unwrap_or_else(|| {
                files.push(mapping.code_file(tgid));
                files.len() - 1
            });
            places.push(CodePlace {
                file,
                offset: mapping.offset(address),
                is_return,
            });
            keys.push(key);
        }
        let rules = self.files.rules(tgid, files, places).unwrap_or_default();
        // What cannot be read has none.
        let rules = rules.into_iter().chain(std::iter::repeat(Rule::UNKNOWN));
        for (key, rule) in keys.into_iter().zip(rules) {
            self.rules.insert(key, rule);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::image_of;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use nix::sys::stat::{major, minor};
    use proptest::prelude::*;

    fn own_image() -> ImageKey {
        let tgid = std::process::id();
        ImageKey {
            image: image_of(tgid).unwrap(),
            tgid,
        }
    }

    #[test]
    fn our_own_code_is_found_in_our_own_binary() {
        let image = own_image();
        let mut spaces = AddressSpaces::new();
        let space = spaces.get(image).unwrap();
        let code = own_image as fn() -> ImageKey as usize as u64;
        let site = spaces.find(image.tgid, &space, code).unwrap();
        let path = std::env::current_exe().unwrap();
        assert_eq!(site.object.path, path.to_str().unwrap());
        assert!(site.file_offset > 0 && site.file_offset < fs::metadata(path).unwrap().len());
        assert!(
            !space.holds(&image as *const ImageKey as u64),
            "the stack is not code"
        );
    }

    #[test]
    fn a_process_that_called_execve_meanwhile_is_not_read() {
        let mut image = own_image();
        image.image ^= 0x1000;
        assert!(AddressSpaces::new().get(image).is_none());
    }

    const GONE: ImageKey = ImageKey {
        image: 1,
        tgid: u32::MAX,
    };

    #[test]
    fn a_process_that_is_gone_has_no_address_space() {
        assert!(AddressSpaces::new().get(GONE).is_none());
        assert!(AddressSpaces::new().get_or(GONE, &[]).is_none());
    }

    #[test]
    fn a_process_that_is_gone_has_the_code_that_was_told_of_it() {
        let path = std::env::current_exe().unwrap();
        let file = fs::metadata(&path).unwrap();
        let device = file.dev();
        let mapped = |path: &str, start| CodeMapping {
            start,
            end: start + 0x1000,
            file_offset: 0x3000,
            ino: file.ino(),
            dev: u32::try_from(major(device) << 20 | minor(device)).unwrap(),
            path: path.into(),
        };
        let path = path.to_str().unwrap();
        let mut spaces = AddressSpaces::new();
        let space = spaces
            .get_or(GONE, &[mapped("", 0x1000), mapped(path, 0x5000)])
            .unwrap();
        let mut find = |address| spaces.find(GONE.tgid, &space, address).unwrap();
        let site = find(0x5010);
        assert_eq!((site.file_offset, &*site.object.path), (0x3010, path));
        assert_eq!(find(0x1010).object.path, "[anon]");
        // The same file read of a process that is there has the same identity.
        let (mut spaces, image) = (AddressSpaces::new(), own_image());
        let own = spaces.get(image).unwrap();
        let code = own_image as fn() -> ImageKey as usize as u64;
        let here = spaces.find(image.tgid, &own, code).unwrap();
        assert_eq!(site.object, here.object);
    }

    proptest! {
        #[test]
        fn ranges_joined_still_hold_every_address(mut edges in proptest::collection::btree_set(0_u64..10_000, 2..80), most in 1_usize..20) {
            if edges.len() % 2 == 1 { edges.pop_last(); }
            let edges: Vec<u64> = edges.into_iter().collect();
            let ranges: Vec<(u64, u64)> = edges.chunks(2).map(|pair| (pair[0], pair[1])).collect();
            let joined = coalesce(ranges.clone(), most);
            prop_assert!(joined.len() <= most);
            prop_assert!(joined.windows(2).all(|pair| pair[0].1 < pair[1].0));
            for (start, end) in ranges {
                prop_assert!(joined.iter().any(|range| range.0 <= start && end <= range.1));
            }
        }
    }
}
