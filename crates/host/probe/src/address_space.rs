//! The executable memory of processes: read from `/proc/PID` or, of one that is gone, as the kernel side told of it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bounded::BoundedMap;
use crate::build_id::build_id;
use crate::event::{CodeMapping, ImageKey, MAX_RANGES};
use crate::return_address::{CALL_BYTES, follows_call};
use crate::writer::{CallSite, Object};

/// The most program images that are kept. Our choice; the kernel side keeps as many.
const MAX_IMAGES: usize = 2048;
/// The most objects that are kept; code of further ones is shown as if it lay in no file. Our choice.
const MAX_OBJECTS: usize = 16384;
/// The most verdicts on return addresses that are kept. Our choice.
const MAX_VERDICTS: usize = 65536;
/// The least time between two readings of a process that shows code at new addresses. Our choice.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// One executable mapping of a process.
#[derive(Debug, Clone)]
struct Mapping {
    start: u64,
    end: u64,
    file_offset: u64,
    object: Arc<Object>,
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

    /// The object and offset of the code at `address`; `None` if no code is there.
    pub(crate) fn find(&self, address: u64) -> Option<CallSite> {
        let after = self
            .mappings
            .partition_point(|mapping| mapping.start <= address);
        let mapping = &self.mappings[after.checked_sub(1)?];
        (address < mapping.end).then(|| CallSite {
            object: mapping.object.clone(),
            file_offset: if mapping.object.is_file() {
                address - mapping.start + mapping.file_offset
            } else {
                0
            },
        })
    }

    /// Whether the kernel side takes `address` for code: whether a range of [`AddressSpace::ranges`] holds it.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        let after = self.coarse.partition_point(|range| range.0 <= address);
        after
            .checked_sub(1)
            .is_some_and(|at| address < self.coarse[at].1)
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

/// One executable line of `/proc/PID/maps`.
#[derive(Debug, PartialEq, Eq)]
struct MapsLine<'a> {
    start: u64,
    end: u64,
    file_offset: u64,
    /// The kernel's number of the device: major << 20 | minor.
    device: u32,
    inode: u64,
    path: &'a str,
}

impl MapsLine<'_> {
    /// Parses a line; `None` unless it is well-formed and its mapping executable.
    fn parse(line: &str) -> Option<MapsLine<'_>> {
        let mut rest = line;
        let mut field = || {
            let (field, tail) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = tail;
            field
        };
        let (start, end) = field().split_once('-')?;
        let executable = field().as_bytes().get(2) == Some(&b'x');
        let file_offset = u64::from_str_radix(field(), 16).ok()?;
        let (major, minor) = field().split_once(':')?;
        let number = |digits| u32::from_str_radix(digits, 16).ok();
        let device = number(major)? << 20 | number(minor)?;
        let inode = field().parse().ok()?;
        executable.then_some(MapsLine {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            file_offset,
            device,
            inode,
            path: rest.trim_start(),
        })
    }

    /// The path of the file with the code; a name in brackets for code that lies in no file.
    /// Memory that only looks like a file (memfd, /dev/zero) is a compiler's too.
    fn object_path(&self) -> &str {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(self.path);
        match path {
            "[vdso]" => path,
            _ if !path.starts_with('/') => crate::writer::ANONYMOUS,
            _ if path.starts_with("/memfd:") || path == "/dev/zero" => crate::writer::ANONYMOUS,
            _ => path,
        }
    }
}

/// The address spaces of the processes that write, each read once.
#[derive(Debug)]
pub(crate) struct AddressSpaces {
    spaces: BoundedMap<ImageKey, Arc<AddressSpace>>,
    /// By device and inode number; of one that was a file of several paths, all.
    objects: HashMap<(u32, u64), Vec<Arc<Object>>>,
    /// Number of objects.
    held: usize,
    anonymous: Arc<Object>,
    verdicts: BoundedMap<(String, u64), bool>,
}

impl AddressSpaces {
    /// An empty set of address spaces.
    pub(crate) fn new() -> AddressSpaces {
        AddressSpaces {
            spaces: BoundedMap::new(MAX_IMAGES),
            objects: HashMap::new(),
            held: 0,
            anonymous: Arc::new(Object::anonymous()),
            verdicts: BoundedMap::new(MAX_VERDICTS),
        }
    }

    /// The address space of `image`, which is read now if it was not before; `None` if the process is gone.
    pub(crate) fn get(&mut self, image: ImageKey) -> Option<Arc<AddressSpace>> {
        if let Some(space) = self.spaces.get_mut(&image) {
            return Some(space.clone());
        }
        self.load(image)
    }

    /// As [`AddressSpaces::get`], but of a process that is gone what the kernel side told: `None` if that is nothing.
    pub(crate) fn get_or(
        &mut self,
        image: ImageKey,
        told: &[CodeMapping],
    ) -> Option<Arc<AddressSpace>> {
        if let Some(space) = self.get(image) {
            return Some(space);
        }
        let mappings = told.iter().map(|code| Mapping {
            start: code.start,
            end: code.end,
            file_offset: code.file_offset,
            object: self.object_told(code),
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
        if address == 0 || space.find(address).is_some() || space.loaded.elapsed() < RELOAD_INTERVAL
        {
            return None;
        }
        self.load(image)
    }

    fn load(&mut self, image: ImageKey) -> Option<Arc<AddressSpace>> {
        let text = fs::read_to_string(format!("/proc/{}/maps", image.tgid)).ok()?;
        let mut mappings = Vec::new();
        for line in text.lines().filter_map(MapsLine::parse) {
            let object = self.object(image.tgid, &line);
            mappings.push(Mapping {
                start: line.start,
                end: line.end,
                file_offset: line.file_offset,
                object,
            });
        }
        // Only now is it certain whose mappings these were: the process may have called execve.
        if mappings.is_empty() || image_of(image.tgid)? != image.image {
            return None;
        }
        Some(self.keep(image, mappings))
    }

    fn keep(&mut self, image: ImageKey, mappings: Vec<Mapping>) -> Arc<AddressSpace> {
        let space = Arc::new(AddressSpace::new(mappings));
        self.spaces.insert(image, space.clone());
        space
    }

    fn object(&mut self, tgid: u32, line: &MapsLine<'_>) -> Arc<Object> {
        let path = line.object_path();
        if path == crate::writer::ANONYMOUS {
            return self.anonymous.clone();
        }
        let file = (line.device, line.inode);
        let mut known = self.objects.get(&file).into_iter().flatten();
        if let Some(object) = known.find(|object| object.path == path) {
            return object.clone();
        }
        self.add(file, path, mapped_build_id(tgid, line))
    }

    /// The object of a mapping that the kernel side told of. Its path is the one below the root of its file system: where that
    /// is mounted elsewhere, another object of that path names it, or only the path.
    fn object_told(&mut self, code: &CodeMapping) -> Arc<Object> {
        if code.path.is_empty() {
            return self.anonymous.clone();
        }
        let file = (code.dev, code.ino);
        if let Some(object) = self.objects.get(&file).and_then(|known| known.first()) {
            return object.clone();
        }
        let found = fs::metadata(&code.path).is_ok_and(|found| found.ino() == code.ino);
        let build_id = found.then(|| build_id(&code.path)).flatten();
        self.add(file, &code.path, build_id)
    }

    fn add(&mut self, file: (u32, u64), path: &str, build_id: Option<String>) -> Arc<Object> {
        if self.held >= MAX_OBJECTS {
            return self.anonymous.clone();
        }
        let object = Arc::new(Object {
            build_id: build_id.unwrap_or_default(),
            path: path.to_owned(),
        });
        self.held += 1;
        self.objects.entry(file).or_default().push(object.clone());
        object
    }

    /// Whether `site` lies just behind a call instruction. Where the code cannot be read, it counts as one.
    pub(crate) fn is_return_address(&mut self, tgid: u32, site: &CallSite) -> bool {
        if !site.object.is_file() {
            return true;
        }
        let key = (site.object.path.clone(), site.file_offset);
        if let Some(&mut verdict) = self.verdicts.get_mut(&key) {
            return verdict;
        }
        let verdict = code_before(tgid, site).is_none_or(|code| follows_call(&code));
        self.verdicts.insert(key, verdict);
        verdict
    }
}

/// The number of the process's image ([`ImageKey`]), computed from `/proc/PID/stat`.
pub(crate) fn image_of(tgid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{tgid}/stat")).ok()?;
    image_in(&stat)
}

/// `startcode ^ startstack`: fields 26 and 28 (proc_pid_stat(5)). The second field, the name in
/// brackets, may itself hold brackets and spaces.
fn image_in(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut from_26 = fields.split_ascii_whitespace().skip(23);
    let start_code: u64 = from_26.next()?.parse().ok()?;
    let start_stack: u64 = from_26.nth(1)?.parse().ok()?;
    Some(start_code ^ start_stack)
}

/// The build-id of a mapped file; `None` if it has none or cannot be read.
fn mapped_build_id(tgid: u32, line: &MapsLine<'_>) -> Option<String> {
    // This way leads to the mapped file itself, be it deleted or in another mount namespace.
    let mapped = format!("/proc/{tgid}/map_files/{:x}-{:x}", line.start, line.end);
    build_id(mapped).or_else(|| build_id(line.object_path()))
}

/// The bytes of code that end at `site`; `None` if they cannot be read.
fn code_before(tgid: u32, site: &CallSite) -> Option<[u8; CALL_BYTES]> {
    let path = &site.object.path;
    let file = File::open(format!("/proc/{tgid}/root{path}"))
        .or_else(|_| File::open(path))
        .ok()?;
    let mut code = [0; CALL_BYTES];
    let start = site.file_offset.checked_sub(CALL_BYTES as u64)?;
    file.read_exact_at(&mut code, start).ok()?;
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn a_line_is_parsed_and_its_path_may_hold_spaces() {
        let line = "7f0000001000-7f0000002000 r-xp 00003000 08:01 42                         /opt/a b/lib.so (deleted)";
        let parsed = MapsLine::parse(line).unwrap();
        assert_eq!(
            (parsed.start, parsed.end),
            (0x7f00_0000_1000, 0x7f00_0000_2000)
        );
        assert_eq!(
            (parsed.file_offset, parsed.device, parsed.inode),
            (0x3000, 8 << 20 | 1, 42)
        );
        assert_eq!(parsed.object_path(), "/opt/a b/lib.so");
    }

    #[test]
    fn data_is_no_code() {
        assert_eq!(
            MapsLine::parse("7f0000001000-7f0000002000 rw-p 00000000 00:00 0 "),
            None
        );
    }

    #[test]
    fn code_of_compilers_lies_in_no_file() {
        for path in [
            "",
            "[heap]",
            "/memfd:jit (deleted)",
            "/dev/zero (deleted)",
            "[anon:code]",
        ] {
            let line = format!("1000-2000 rwxp 00000000 00:00 0 {path}");
            assert_eq!(
                MapsLine::parse(&line).unwrap().object_path(),
                "[anon]",
                "{path}"
            );
        }
    }

    #[test]
    fn the_image_is_found_behind_a_name_with_brackets() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b) {}", fields.join(" "));
        assert_eq!(image_in(&stat), Some(26 ^ 28));
    }

    #[test]
    fn our_own_code_is_found_in_our_own_binary() {
        let image = own_image();
        let space = AddressSpaces::new().get(image).unwrap();
        let site = space
            .find(own_image as fn() -> ImageKey as usize as u64)
            .unwrap();
        let path = std::env::current_exe().unwrap();
        assert_eq!(site.object.path, path.to_str().unwrap());
        assert!(site.file_offset > 0 && site.file_offset < fs::metadata(path).unwrap().len());
        assert!(
            space.find(&image as *const ImageKey as u64).is_none(),
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
        let site = space.find(0x5010).unwrap();
        assert_eq!((site.file_offset, &*site.object.path), (0x3010, path));
        assert_eq!(space.find(0x1010).unwrap().object.path, "[anon]");
        // The same file read of a process that is there has the same identity.
        let own = AddressSpaces::new().get(own_image()).unwrap();
        let code = own_image as fn() -> ImageKey as usize as u64;
        assert_eq!(site.object, own.find(code).unwrap().object);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "[0-9a-f]{0,17}-?[0-9a-f]{0,17} ?[rwxp-]{0,5}( ?[0-9a-f:/()]{0,20}){0,5}") {
            if let Some(line) = MapsLine::parse(&text) {
                line.object_path();
            }
            image_in(&text);
        }

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
