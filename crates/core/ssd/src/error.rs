//! Errors in a device's description, and in requests of its host.

use thiserror::Error;

/// A device that cannot be.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ConfigError {
    /// A size or count that must be at least 1.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// Not enough flash for the logical space.
    #[error(
        "{physical_units} erase units are too few for {logical_units} units of data: at least \
         {least_units} are needed (more over-provisioning, or smaller units)"
    )]
    TooFewUnits {
        /// Units of the device.
        physical_units: u32,
        /// Units the logical space fills.
        logical_units: u32,
        /// Units needed.
        least_units: u64,
    },
    /// Thresholds that leave garbage collection no room, or never stop it.
    #[error(
        "garbage collection cannot start at {start} and stop at {stop} free units: start is at \
         least 1, and stop is at least start"
    )]
    Thresholds {
        /// Free units at which collection starts.
        start: u32,
        /// Free units at which it stops.
        stop: u32,
    },
    /// More streams than a 16-bit number tells apart.
    #[error("{host_streams} host and {internal_streams} internal streams are more than 65535")]
    TooManyStreams {
        /// Streams of the host.
        host_streams: u16,
        /// Internal streams.
        internal_streams: u16,
    },
    /// Streams so many that the victims' lists would outweigh the drive.
    #[error(
        "{streams} streams, each with a list for every number of valid pages up to \
         {pages_per_unit}, are too many for a drive of {physical_units} erase units whose scheme \
         chooses its victims"
    )]
    TooManyLists {
        /// Streams of the host and internal ones.
        streams: u16,
        /// Pages in a unit.
        pages_per_unit: u32,
        /// Units of the device.
        physical_units: u32,
    },
    /// Streams that cannot be dealt to the reclaim groups.
    #[error(
        "{reclaim_groups} reclaim groups must be a power of two that divides {host_streams} host \
         and {internal_streams} internal streams"
    )]
    ReclaimGroups {
        /// Reclaim groups of the device.
        reclaim_groups: u32,
        /// Streams of the host.
        host_streams: u16,
        /// Internal streams.
        internal_streams: u16,
    },
    /// More pages than a 32-bit address reaches.
    #[error(
        "{0} page addresses do not fit in 32 bits: use larger pages (mapping units up to 64 KiB)"
    )]
    TooManyPages(u64),
    /// A profile that does not parse, or that has a value out of its range.
    #[error("device profile {name}: {problem}")]
    Profile {
        /// The profile's name or path.
        name: String,
        /// The fault, in words.
        problem: ProfileError,
    },
}

/// Errors in a profile.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ProfileError {
    /// No shipped profile has that name.
    #[error("none is shipped by that name; there are {known}")]
    Unknown {
        /// The names that are known.
        known: String,
    },
    /// The text is not TOML of a profile's form; in the parser's words.
    #[error("{0}")]
    Toml(String),
    /// A share out of its range.
    #[error("{name} = {value} is not between 0 and {most}")]
    Share {
        /// The key.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The most it may be.
        most: f64,
    },
    /// Pages of a size that no device has.
    #[error("page_bytes = {0} is not a power of two from 512 to 65536")]
    PageBytes(u32),
    /// Units that are not striped evenly.
    #[error("dies_per_unit must divide the number of dies")]
    Stripes,
    /// A count of the geometry is 0.
    #[error("an erase unit has no bytes: a count is 0")]
    EmptyUnit,
    /// Both or neither of the keys that say how large the device is.
    #[error("give one of blocks_per_die and logical_bytes, not both")]
    Size,
    /// A number that does not fit in 32 bits.
    #[error("{value} {what} are more than a 32-bit address reaches: use larger pages")]
    TooMany {
        /// Name of the count.
        what: &'static str,
        /// Number given.
        value: u64,
    },
    /// Handles or reclaim groups that cannot be.
    #[error("nruh = {nruh} must be at least 1, and nrg = {nrg} a power of two")]
    HandlesAndGroups {
        /// Reclaim unit handles.
        nruh: u16,
        /// Reclaim groups.
        nrg: u32,
    },
    /// More isolated handles than handles.
    #[error("persistently_isolated = {persistently_isolated} is more than nruh = {nruh}")]
    Isolated {
        /// Handles that are persistently isolated.
        persistently_isolated: u16,
        /// Reclaim unit handles.
        nruh: u16,
    },
    /// Reclaim units of another size than the geometry's.
    #[error("runs = {runs}, but the geometry makes units of {unit_bytes} bytes")]
    UnitBytes {
        /// Bytes in a reclaim unit, as the section says.
        runs: u64,
        /// Bytes in a reclaim unit, by the geometry.
        unit_bytes: u64,
    },
    /// Host streams that are not the handles of all groups.
    #[error("[streams] host = {host} must be nruh x nrg = {needed}")]
    HostStreams {
        /// Host streams, as the profile says.
        host: u16,
        /// Host streams that the handles need.
        needed: u64,
    },
    /// Internal streams that are not those the handles' copies need.
    #[error(
        "[streams] internal = {internal} must be {needed}: in each group one for all initially \
         isolated handles and one for each persistently isolated one"
    )]
    InternalStreams {
        /// Internal streams, as the profile says.
        internal: u16,
        /// Internal streams that the handles need.
        needed: u64,
    },
}

/// A device whose time cannot be told.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TimingError {
    /// The device itself cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A value out of its range.
    #[error("{name} = {value} is not between {least} and {most}")]
    Range {
        /// The value's name.
        name: &'static str,
        /// The value.
        value: u64,
        /// The least it may be.
        least: u64,
        /// The most it may be.
        most: u64,
    },
    /// Units that are not striped evenly.
    #[error("dies_per_unit = {dies_per_unit} does not divide the {dies} dies")]
    Stripes {
        /// Dies a unit lies on.
        dies_per_unit: u32,
        /// Dies there are.
        dies: u64,
    },
    /// Pages that do not divide what the planes of a die sense together.
    #[error(
        "pages of {page_bytes} bytes do not divide the {row_bytes} bytes that the planes of a die \
         sense at once: use more planes, larger flash pages, or smaller pages"
    )]
    Row {
        /// Bytes in a page.
        page_bytes: u32,
        /// Bytes all planes sense at once.
        row_bytes: u64,
    },
    /// A write buffer in which half-filled program operations could get stuck.
    #[error(
        "write_buffer_bytes = {write_buffer_bytes} holds less than one program operation of each \
         host stream: {host_streams} x {program_bytes} bytes are needed"
    )]
    Buffer {
        /// Bytes in the buffer.
        write_buffer_bytes: u64,
        /// Streams of the host.
        host_streams: u16,
        /// Bytes in a program operation.
        program_bytes: u64,
    },
    /// A factor that is not a number above 0, or a queue depth of 0.
    #[error("{0} must be above 0")]
    Zero(&'static str),
}

/// A word in place of a name, of a victim rule for example, that names nothing known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no {what} is called \"{word}\" (there are: {known})")]
pub struct UnknownName {
    /// The kind of thing that was to be named.
    pub what: &'static str,
    /// The word that was given.
    pub word: String,
    /// The names that are known.
    pub known: String,
}

/// A request the device cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// Pages beyond the logical space.
    #[error("pages {first}..{end} are beyond the drive's {logical_pages} pages")]
    OutOfRange {
        /// First page asked for.
        first: u32,
        /// One past the last page asked for.
        end: u64,
        /// Pages of the logical space.
        logical_pages: u32,
    },
    /// A stream the drive does not have.
    #[error("stream {stream} is not one of the drive's {host_streams} host streams")]
    NoSuchStream {
        /// The stream asked for.
        stream: u16,
        /// Number of host streams the drive has.
        host_streams: u16,
    },
    /// So many units have failed that the drive no longer takes writes. What it holds can be read.
    #[error(
        "the drive is read-only: {retired_units} erase units have failed, and no spare is left"
    )]
    ReadOnly {
        /// Units taken out of service.
        retired_units: u64,
    },
    /// No unit can be freed. A validated configuration never leads here.
    #[error("no erase unit can be freed: every one is full of valid pages")]
    Full,
}

/// The place of a unit. A unit has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitPlace {
    /// Erased, and filled by no stream.
    Free,
    /// Filled by a stream.
    Open,
    /// Full, or given up before that.
    Closed,
    /// Out of service.
    Retired,
}

/// An invariant of a device that is broken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Inconsistency {
    /// The mapping leads beyond the last unit, or beyond the last page of a unit.
    #[error("page {page} lies outside the flash")]
    OutsideFlash {
        /// The logical page.
        page: u32,
    },
    /// The mapping leads to a physical page that was written for another logical page.
    #[error("page {page} lies where page {other} was written")]
    OtherPage {
        /// The logical page.
        page: u32,
        /// The page that was written there.
        other: u32,
    },
    /// A list holds a unit that the device does not have.
    #[error("there is no unit {unit}")]
    NoSuchUnit {
        /// The unit.
        unit: u32,
    },
    /// A unit in two places.
    #[error("unit {unit} is {:?} and {:?}", .places[0], .places[1])]
    TwoPlaces {
        /// The unit.
        unit: u32,
        /// Places that it is listed in, of which one is wrong.
        places: [UnitPlace; 2],
    },
    /// A unit in no place.
    #[error("unit {unit} is not one of free, open, closed, retired")]
    NoPlace {
        /// The unit.
        unit: u32,
    },
    /// An open unit that is full, or holds more than was written to it.
    #[error("unit {unit} is open, {written} of its pages are written and {valid} valid")]
    OpenUnit {
        /// The unit.
        unit: u32,
        /// Pages written to it.
        written: u32,
        /// Valid pages that the mapping has there.
        valid: u32,
    },
    /// A unit's count of valid pages is not that of the mapping.
    #[error("unit {unit} counts {counted} valid pages and holds {held}")]
    ValidPages {
        /// The unit.
        unit: u32,
        /// Valid pages that the device has counted in it.
        counted: u32,
        /// Valid pages that the mapping has there.
        held: u32,
    },
    /// A unit is closed, and is not among those a victim is chosen from; or the reverse.
    #[error("unit {unit} is {place:?} to the victims' lists only")]
    Lists {
        /// The unit.
        unit: u32,
        /// Place that it is listed in.
        place: UnitPlace,
    },
    /// A unit out of use that holds valid pages.
    #[error("unit {unit} is {place:?} and holds valid pages")]
    NotEmpty {
        /// The unit.
        unit: u32,
        /// Place that it is listed in.
        place: UnitPlace,
    },
    /// A unit that a stream of another reclaim group filled.
    #[error("unit {unit} holds stream {stream} of another reclaim group")]
    OtherGroup {
        /// The unit.
        unit: u32,
        /// The stream.
        stream: u16,
    },
    /// The count of mapped pages is not that of the mapping.
    #[error("{mapped} pages are mapped and {counted} counted")]
    Mapped {
        /// Pages that the mapping has.
        mapped: u64,
        /// The device's count.
        counted: u64,
    },
    /// A counter of the device is not the sum of its streams'.
    #[error("the streams' {what} sum to {streams}, the device's are {device}")]
    Sum {
        /// Name of the count.
        what: &'static str,
        /// The sum of the streams' counters.
        streams: u64,
        /// The device's counter.
        device: u64,
    },
    /// An internal stream counts writes of the host.
    #[error("the host wrote to an internal stream")]
    HostInInternalStream,
}
