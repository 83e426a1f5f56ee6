//! A scheme as a person writes it: `host[+relocation][+host][:key=value,…]`; `+host` where the host makes the copies.

mod collected;
mod sampled;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr, sync::Arc};

use anabranch_ssd::{Config, relocate::RelocationKind, victims::VictimRule};

use crate::{
    collection::{Collection, SUFFIX},
    error::{DidYouMean, SchemeError},
    future::Future,
    geometry::HostGeometry,
    halves::{DeviceHalf, Halves},
    policy::Policy,
    rules::{ReadText, Rules},
    scheme::{HostScheme, Setting, Unfit},
    schemes::{SCHEMES, Scheme},
    settings::{Settable, apply, written},
    site::Site,
    tenants::Tenants,
};

/// A scheme with its parameters, before it meets a drive.
///
/// ```
/// use anabranch_placement::SchemeSpec;
///
/// let specs = SchemeSpec::parse_list("baseline,pcstream:alpha=0.5,hints+gc")?;
/// let names: Vec<&str> = specs.iter().map(SchemeSpec::name).collect();
/// assert_eq!(names, ["baseline", "pcstream:alpha=0.5", "hints+gc"]);
/// # Ok::<(), anabranch_placement::SchemeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SchemeSpec {
    name: String,
    host: Arc<dyn HostScheme>,
    relocation: DeviceHalf,
    parameters: Vec<(String, String)>,
    tenants: u16,
    /// Options of collection by the host, where it collects.
    collection: Option<Collection>,
}

impl SchemeSpec {
    /// The schemes of a comma-separated list. A piece with a `=` and no `:` before it belongs to
    /// the scheme to its left, as in `baseline,pcstream:samples=100,alpha=0.5`; `all` stands for
    /// every scheme of the catalogue. Schemes named twice are kept once.
    ///
    /// # Errors
    /// When one of them is wrong, or names a file.
    pub fn parse_list(text: &str) -> Result<Vec<SchemeSpec>, SchemeError> {
        SchemeSpec::read_list(text, &no_files, |_| true)
    }

    /// As [`SchemeSpec::parse_list`], where `all` stands for those schemes of the catalogue that `belongs` holds of;
    /// `read` gives the text of files that parameters name.
    ///
    /// # Errors
    /// When one of them is wrong, or names a file that is.
    pub fn read_list(
        text: &str,
        read: &ReadText<'_>,
        belongs: impl Fn(&Scheme) -> bool,
    ) -> Result<Vec<SchemeSpec>, SchemeError> {
        let all = || SCHEMES.iter().filter(|scheme| belongs(scheme));
        let mut specs: Vec<String> = Vec::new();
        for piece in text.split(',').map(str::trim) {
            match specs.last_mut() {
                Some(spec) if piece.contains('=') && !piece.contains(':') => {
                    *spec = format!("{spec},{piece}");
                }
                _ if piece == "all" => specs.extend(all().map(|s| s.name.to_owned())),
                _ => specs.push(piece.to_owned()),
            }
        }
        let mut parsed: Vec<SchemeSpec> = Vec::new();
        for spec in specs {
            let spec = SchemeSpec::read(&spec, read)?;
            if !parsed.contains(&spec) {
                parsed.push(spec);
            }
        }
        Ok(parsed)
    }

    /// One scheme; `read` gives the text of files that its parameters name.
    ///
    /// # Errors
    /// When it is wrong, or names a file that is.
    pub fn read(text: &str, read: &ReadText<'_>) -> Result<SchemeSpec, SchemeError> {
        let text = text.trim();
        let (name, settings) = match text.split_once(':') {
            Some((name, settings)) => (name, Some(settings)),
            None => (text, None),
        };
        let collected = name.strip_suffix(SUFFIX);
        let mut collection = collected.map(|_| Collection::default());
        let (mut host, relocation) = parts(collected.unwrap_or(name))?;
        let suffix = if collected.is_some() { SUFFIX } else { "" };
        let name = canonical_name(host.name(), relocation) + suffix;
        let mut settable = Settable {
            host: &mut *host,
            collection: collection.as_mut(),
        };
        let applied = apply(&mut settable, &name, settings, read)?;
        if applied.tenants > 1 && relocation == DeviceHalf::Own {
            return Err(SchemeError::NotShared { scheme: name });
        }
        Ok(SchemeSpec {
            name: name + &written(&applied.changes),
            host: host.into(),
            relocation,
            parameters: applied.parameters,
            tenants: applied.tenants,
            collection,
        })
    }

    /// A scheme that is not in the catalogue, with one of the device's relocations. Results carry
    /// `name`; nothing reads it back.
    pub fn own(name: String, host: Arc<dyn HostScheme>, relocation: RelocationKind) -> SchemeSpec {
        SchemeSpec {
            name,
            host,
            relocation: DeviceHalf::Relocation(relocation),
            parameters: Vec::new(),
            tenants: 1,
            collection: None,
        }
    }

    /// The name results carry: the shortest that reads back as this scheme, with those
    /// parameters that are not the default.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Half that places the copies.
    pub fn relocation(&self) -> DeviceHalf {
        self.relocation
    }

    /// Internal streams the scheme uses on a drive, of those it offers.
    pub fn internal_streams(&self, drive: &Config) -> u16 {
        match self.relocation {
            DeviceHalf::Relocation(kind) => kind.internal_streams(drive),
            DeviceHalf::Own => drive.internal_streams,
        }
    }

    /// The victim rule the scheme works with, where it does not leave that to the drive.
    pub fn victim_rule(&self) -> Option<VictimRule> {
        match self.relocation {
            DeviceHalf::Relocation(_) => None,
            DeviceHalf::Own => self.host.victim_rule(),
        }
    }

    /// Whether the scheme must know when pages will die.
    pub fn needs_future(&self) -> bool {
        self.host.needs_future()
    }

    /// Whether it goes by the life-time hints the application asked for, granted or not.
    pub fn goes_by_hints(&self) -> bool {
        self.host.goes_by_hints()
    }

    /// The rules that the scheme goes by, if by nothing else, and how many tenants its streams are shared out among.
    pub(crate) fn rules(&self) -> Option<(&Rules, u16)> {
        Some((self.host.rules()?, self.tenants))
    }

    /// Whether other schemes are measured against it.
    pub fn is_bound(&self) -> bool {
        self.host.is_bound()
    }

    /// The scheme with each of the settings of which the best is to be kept; itself, where it
    /// leaves nothing open.
    ///
    /// # Errors
    /// When a setting is not one of the scheme's: a defect of the scheme.
    pub fn trials(&self, geometry: &HostGeometry) -> Result<Vec<SchemeSpec>, SchemeError> {
        let trials = self.host.trials(geometry);
        if trials.is_empty() {
            return Ok(vec![self.clone()]);
        }
        trials.iter().map(|settings| self.with(settings)).collect()
    }

    /// The scheme with some parameters set.
    fn with(&self, settings: &[Setting]) -> Result<SchemeSpec, SchemeError> {
        let (name, _) = self.name.split_once(':').unwrap_or((&self.name, ""));
        let value = |key: &str, old: &str| {
            let new = settings.iter().find(|(set, _)| *set == key);
            format!("{key}={}", new.map_or(old, |(_, value)| value))
        };
        let all = self.parameters.iter().map(|(key, old)| value(key, old));
        let all: Vec<String> = all.collect();
        if all.is_empty() {
            Ok(self.clone())
        } else {
            format!("{name}:{}", all.join(",")).parse()
        }
    }

    /// Every parameter and its value, those left at their default included.
    pub fn parameters(&self) -> &[(String, String)] {
        &self.parameters
    }

    /// A drive as the scheme has it: with its own rule for victims, and those of the internal streams
    /// that it uses.
    pub fn drive(&self, drive: &Config) -> Config {
        Config {
            victim_rule: self.victim_rule().unwrap_or(drive.victim_rule),
            internal_streams: self.internal_streams(drive),
            ..drive.clone()
        }
    }

    /// Builds the scheme for a drive. Of a scheme shared by tenants it is the host half alone.
    ///
    /// # Errors
    /// When a parameter does not fit the drive, or it has no stream or no page.
    pub fn build(&self, site: &Site<'_>) -> Result<Halves, SchemeError> {
        if site.drive.host_streams == 0 || site.drive.page_bytes == 0 {
            return Err(SchemeError::NoDrive);
        }
        let build = || self.host.build(site).map_err(|unfit| self.unfit(unfit));
        if self.tenants == 1 {
            return build();
        }
        let schemes = (0..self.tenants).map(|_| build().map(Halves::into_assign));
        let schemes = schemes.collect::<Result<Vec<_>, _>>()?;
        Ok(Halves::host(Tenants::new(schemes, &site.geometry())))
    }

    /// The scheme at work on a drive that [`SchemeSpec::drive`] made for it. `future` is for schemes
    /// that need it.
    ///
    /// # Errors
    /// When a parameter does not fit the drive, it has no stream or no page, or the future is needed
    /// and not given.
    pub fn policy(
        &self,
        drive: &Config,
        future: Option<&Arc<Future>>,
    ) -> Result<Policy, SchemeError> {
        self.policy_of(drive, drive, future)
    }

    /// The same where the host half is shown another drive than the one that relocates: a sampled
    /// drive's whole.
    ///
    /// # Errors
    /// As for [`SchemeSpec::policy`].
    pub fn policy_of(
        &self,
        shown: &Config,
        drive: &Config,
        future: Option<&Arc<Future>>,
    ) -> Result<Policy, SchemeError> {
        if self.needs_future() && future.is_none() {
            return Err(self.refused());
        }
        let site = Site::new(shown, self.relocation).foreseen(future);
        let halves = self.build(&site)?;
        Ok(Policy::new(match self.relocation {
            DeviceHalf::Own => halves,
            DeviceHalf::Relocation(kind) => Halves::Apart(halves.into_assign(), kind.build(drive)),
        }))
    }

    /// The error for a scheme that needs the future where the future is not known (a live run).
    pub fn refused(&self) -> SchemeError {
        SchemeError::NeedsFuture {
            scheme: self.name.clone(),
        }
    }

    fn unfit(&self, unfit: Unfit) -> SchemeError {
        let given = self.parameters.iter().find(|(key, _)| key == unfit.key);
        SchemeError::BadValue {
            scheme: self.name.clone(),
            key: unfit.key.to_owned(),
            value: given.map(|(_, value)| value.clone()).unwrap_or_default(),
            expected: unfit.expected,
        }
    }
}

impl FromStr for SchemeSpec {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<SchemeSpec, SchemeError> {
        SchemeSpec::read(text, &no_files)
    }
}

/// For texts that name no file.
fn no_files(name: &str) -> Result<String, String> {
    Err(format!("no file is read here, `{name}` neither"))
}

impl PartialEq for SchemeSpec {
    /// Equal names mean equal schemes.
    fn eq(&self, other: &SchemeSpec) -> bool {
        self.name == other.name
    }
}

impl fmt::Display for SchemeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Another name of `baseline`, which says what that drive does: it mixes copies with new data.
const MIXED: &str = "mixed";

/// Both halves of what stands before the `:`.
fn parts(name: &str) -> Result<(Box<dyn HostScheme>, DeviceHalf), SchemeError> {
    if let Some(scheme) = find(name) {
        return Ok(((scheme.host)(), scheme.relocation));
    }
    let (host, relocation) = match name.split_once('+') {
        Some((host, relocation)) => (host, Some(relocation)),
        None => (name, None),
    };
    let (Some(scheme), Some(relocation)) = (find(host), relocation) else {
        return Err(SchemeError::UnknownScheme {
            name: name.to_owned(),
            suggestion: DidYouMean::among(SCHEMES.iter().map(|scheme| scheme.name), name),
        });
    };
    let names = RelocationKind::ALL.map(RelocationKind::name);
    let kind = relocation
        .parse()
        .map_err(|_| SchemeError::UnknownRelocation {
            spec: name.to_owned(),
            name: relocation.to_owned(),
            suggestion: DidYouMean::among(names.into_iter(), relocation),
            known: names.join(", "),
        })?;
    Ok(((scheme.host)(), DeviceHalf::Relocation(kind)))
}

fn find(name: &str) -> Option<&'static Scheme> {
    let name = if name == MIXED { "baseline" } else { name };
    SCHEMES.iter().find(|scheme| scheme.name == name)
}

/// The catalogue's name for two halves, or one put together.
fn canonical_name(host: &str, relocation: DeviceHalf) -> String {
    let same = |scheme: &&Scheme| (scheme.host)().name() == host && scheme.relocation == relocation;
    match (SCHEMES.iter().find(same), relocation) {
        (Some(scheme), _) => scheme.name.to_owned(),
        (None, DeviceHalf::Relocation(kind)) => format!("{host}+{kind}"),
        (None, DeviceHalf::Own) => host.to_owned(),
    }
}
