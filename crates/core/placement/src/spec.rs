//! A scheme as a person writes it: `host[+relocation][:key=value,…]`.

mod sampled;

use std::{fmt, str::FromStr, sync::Arc};

use anabranch_ssd::{Config, relocate::RelocationKind, victims::VictimRule};

use crate::{
    assign::Assign,
    error::{DidYouMean, SchemeError},
    future::Future,
    geometry::HostGeometry,
    policy::Policy,
    rules::{ReadText, Rules},
    scheme::{DeviceHalf, Host, HostScheme, Setting, Unfit},
    schemes::{SCHEMES, Scheme},
    settings::{apply, written},
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
}

impl SchemeSpec {
    /// The schemes of a comma-separated list. A piece with a `=` and no `:` before it belongs to
    /// the scheme to its left, as in `baseline,pcstream:samples=100,alpha=0.5`; `all` stands for
    /// every scheme of the catalogue. Schemes named twice are kept once.
    ///
    /// # Errors
    /// When one of them is wrong, or names a file.
    pub fn parse_list(text: &str) -> Result<Vec<SchemeSpec>, SchemeError> {
        SchemeSpec::read_list(text, &no_files)
    }

    /// As [`SchemeSpec::parse_list`]; `read` gives the text of files that parameters name.
    ///
    /// # Errors
    /// When one of them is wrong, or names a file that is.
    pub fn read_list(text: &str, read: &ReadText<'_>) -> Result<Vec<SchemeSpec>, SchemeError> {
        SchemeSpec::read_list_where(text, read, |_| true)
    }

    /// As [`SchemeSpec::read_list`], where `all` stands for those schemes of the catalogue that
    /// `belongs` holds of.
    ///
    /// # Errors
    /// When one of them is wrong, or names a file that is.
    pub fn read_list_where(
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
        let (mut host, relocation) = parts(name)?;
        let name = canonical_name(host.name(), relocation);
        let applied = apply(&mut *host, &name, settings, read)?;
        if applied.tenants > 1 && relocation == DeviceHalf::Own {
            return Err(SchemeError::NotShared { scheme: name });
        }
        Ok(SchemeSpec {
            name: name + &written(&applied.changes),
            host: host.into(),
            relocation,
            parameters: applied.parameters,
            tenants: applied.tenants,
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
        }
    }

    /// The name results carry: the shortest that reads back as this scheme, with those
    /// parameters that are not the default.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device half.
    pub fn relocation(&self) -> DeviceHalf {
        self.relocation
    }

    /// The same host half, with another device half.
    pub fn with_relocation(&self, kind: RelocationKind) -> SchemeSpec {
        let relocation = DeviceHalf::Relocation(kind);
        let settings = self.name.split_once(':').map(|(_, settings)| settings);
        let name = canonical_name(self.host.name(), relocation);
        SchemeSpec {
            name: settings.map_or(name.clone(), |settings| format!("{name}:{settings}")),
            relocation,
            ..self.clone()
        }
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

    /// The host half, at work on a drive that relocates by itself, by FDP's rules for initially
    /// isolated handles; of a scheme that needs the future, as far as it does without.
    ///
    /// # Errors
    /// When a parameter does not fit the drive, or it has no stream or no page.
    pub fn build(&self, geometry: &HostGeometry) -> Result<Box<dyn Assign>, SchemeError> {
        let beside = DeviceHalf::Relocation(RelocationKind::Fdp);
        Ok(self.host(&geometry.drive(), beside, None)?.into_assign())
    }

    /// What the host half is at work on a drive, beside who decides about copies.
    ///
    /// # Errors
    /// When a parameter does not fit the drive, or it has no stream or no page.
    pub fn host(
        &self,
        drive: &Config,
        beside: DeviceHalf,
        future: Option<&Arc<Future>>,
    ) -> Result<Host, SchemeError> {
        let geometry = &HostGeometry::of(drive);
        if geometry.host_streams == 0 || geometry.page_bytes == 0 {
            return Err(SchemeError::NoDrive);
        }
        let build = || match (future, beside) {
            (Some(future), _) if self.needs_future() => {
                self.fit(self.host.build_foreseeing(geometry, future))
            }
            (_, DeviceHalf::Own) => self.fit(self.host.build(geometry)),
            (_, DeviceHalf::Relocation(kind)) => self.fit(self.host.build_beside(drive, kind)),
        };
        if self.tenants == 1 {
            return build();
        }
        let schemes = (0..self.tenants).map(|_| build().map(Host::into_assign));
        let schemes = schemes.collect::<Result<Vec<_>, _>>()?;
        Ok(Host::alone(Tenants::new(schemes, geometry)))
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
        let host = self.host(shown, self.relocation, future)?;
        Ok(match (self.relocation, host) {
            (DeviceHalf::Own, Host::Whole(whole)) => Policy::whole(whole),
            (DeviceHalf::Own, Host::Alone(assign)) => Policy::of_host(assign),
            (DeviceHalf::Relocation(kind), host) => {
                Policy::apart(host.into_assign(), kind.build(drive))
            }
        })
    }

    /// The error for a scheme that needs the future where the future is not known (a live run).
    pub fn refused(&self) -> SchemeError {
        SchemeError::NeedsFuture {
            scheme: self.name.clone(),
        }
    }

    fn fit<T>(&self, built: Result<T, Unfit>) -> Result<T, SchemeError> {
        built.map_err(|unfit| {
            let given = self.parameters.iter().find(|(key, _)| key == unfit.key);
            SchemeError::BadValue {
                scheme: self.name.clone(),
                key: unfit.key.to_owned(),
                value: given.map(|(_, value)| value.clone()).unwrap_or_default(),
                expected: unfit.expected,
            }
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tests::DRIVE;

    fn spec(text: &str) -> SchemeSpec {
        text.parse().unwrap()
    }

    fn message(text: &str) -> String {
        text.parse::<SchemeSpec>().unwrap_err().to_string()
    }

    #[test]
    fn every_scheme_of_the_catalogue_reads_back_and_builds() {
        for scheme in SCHEMES {
            let spec = spec(scheme.name);
            assert_eq!(spec.name(), scheme.name);
            assert_eq!(spec.relocation(), scheme.relocation);
            assert!(spec.build(&DRIVE).is_ok());
        }
    }

    #[test]
    fn any_host_part_goes_with_any_relocation() {
        for (text, name, relocation) in [
            (
                "hints+substream",
                "hints+substream",
                RelocationKind::SUBSTREAM,
            ),
            ("autostream-sfr+gc", "autostream-sfr+gc", RelocationKind::Gc),
            (
                "baseline+substream",
                "baseline+substream",
                RelocationKind::SUBSTREAM,
            ),
            ("pcstream*+substream", "pcstream", RelocationKind::SUBSTREAM),
            ("pcstream+mixed", "pcstream*", RelocationKind::Mixed),
            ("pcstream+gc", "pcstream*+gc", RelocationKind::Gc),
            ("baseline+mixed", "baseline", RelocationKind::Mixed),
        ] {
            assert_eq!(spec(text).name(), name);
            assert_eq!(spec(text).relocation(), DeviceHalf::Relocation(relocation));
            assert_eq!(spec(name), spec(text));
        }
    }

    #[test]
    fn another_relocation_keeps_the_host_side_and_its_parameters() {
        let other = spec("pcstream:alpha=0.25").with_relocation(RelocationKind::Gc);
        assert_eq!(other.name(), "pcstream*+gc:alpha=0.25");
        assert_eq!(spec(other.name()), other);
        let plain = spec("pcstream").with_relocation(RelocationKind::Mixed);
        assert_eq!(plain, spec("pcstream*"));
    }

    #[test]
    fn a_name_carries_what_is_not_the_default_and_reads_back() {
        let changed = spec(" pcstream:samples=500, recluster=65536KiB,alpha=0.250 ");
        assert_eq!(changed.name(), "pcstream:recluster=64MiB,alpha=0.25");
        assert_eq!(spec(changed.name()), changed);
        assert_ne!(changed, spec("pcstream"));
    }

    #[test]
    fn parameters_are_echoed_with_their_defaults() {
        let echoed = spec("autostream-sfr:decay=capacity/2")
            .parameters()
            .to_vec();
        let expected = [
            ("preset", "paper"),
            ("chunk", "1MiB"),
            ("decay", "capacity/2"),
            ("base", "2"),
            ("order", "grow-first"),
            ("counts", "first"),
            ("sequential", "counted"),
            ("scope", "drive"),
            ("answer", "before"),
        ];
        assert_eq!(echoed, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert!(spec("baseline").parameters().is_empty());
    }

    #[test]
    fn a_preset_sets_the_others_and_what_is_said_wins() {
        let port = spec("autostream-sfr:base=3,preset=sepbit-port,decay=64MiB");
        assert_eq!(port.name(), "autostream-sfr:preset=sepbit-port,base=3");
        assert_eq!(spec(port.name()), port);
        let value = |key| {
            let found = port.parameters().iter().find(|pair| pair.0 == key);
            found.map(|pair| pair.1.as_str())
        };
        assert_eq!(value("preset"), Some("sepbit-port"));
        assert_eq!(value("chunk"), Some("2MiB"));
        assert_eq!(value("base"), Some("3"));
        assert_eq!(spec("autostream-sfr:preset=paper").name(), "autostream-sfr");
        let wrong = message("autostream-sfr:preset=best");
        assert!(wrong.contains("one of paper, sepbit-port"), "{wrong}");
        assert!(message("pcstream:preset=paper").contains("no parameter `preset`"));
    }

    #[test]
    fn every_preset_of_the_catalogue_reads_back_and_builds() {
        for scheme in SCHEMES {
            for preset in (scheme.host)().presets() {
                let text = format!("{}:preset={}", scheme.name, preset.name);
                let spec = spec(&text);
                assert!(text.starts_with(spec.name()), "{text}");
                assert!(spec.build(&DRIVE).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn any_host_part_can_be_shared_out_among_tenants() {
        let shared = spec("hints+gc:tenants=3");
        assert_eq!(shared.name(), "hints+gc:tenants=3");
        assert_eq!(
            shared.parameters(),
            [("tenants".to_owned(), "3".to_owned())]
        );
        assert!(shared.build(&DRIVE).is_ok());
        assert_eq!(spec("hints:tenants=1").name(), "hints");
        assert!(message("hints:tenants=0").contains("from 1 to 16"));
    }

    #[test]
    fn lists_keep_parameters_with_their_scheme() {
        let names = |text| -> Vec<String> {
            let specs = SchemeSpec::parse_list(text).unwrap();
            specs.iter().map(|spec| spec.name().to_owned()).collect()
        };
        assert_eq!(
            names("baseline,pcstream:samples=9,alpha=0.5,hints,baseline"),
            ["baseline", "pcstream:samples=9,alpha=0.5", "hints"]
        );
        assert_eq!(names("baseline, all").len(), SCHEMES.len());
        assert!(SchemeSpec::parse_list("").is_err());
        assert!(SchemeSpec::parse_list("baseline,,hints").is_err());
        assert!(SchemeSpec::parse_list("samples=9").is_err());
    }

    #[test]
    fn an_unknown_name_is_met_with_the_nearest() {
        assert_eq!(
            message("pcstrem"),
            "there is no scheme `pcstrem` (did you mean `pcstream`?): \
             `anabranch schemes` lists them"
        );
        assert!(message("autostream").contains("`autostream-mq`"));
        assert!(!message("xyz").contains("did you mean"));
        assert!(message("hints+sub").contains("mixed, gc, per-stream, substream"));
        assert!(message("hints+gc+gc").contains("`gc+gc`"));
        assert!(message("+gc").contains("anabranch schemes"));
    }

    #[test]
    fn a_wrong_parameter_is_met_with_what_is_right() {
        assert!(message("pcstream:sample=1").contains("did you mean `samples`?"));
        assert!(message("pcstream:sample=1").contains("samples, recluster"));
        assert!(message("hints:samples=1").contains("it takes none"));
        assert!(message("pcstream:samples=0").contains("a whole number from 1"));
        assert!(message("pcstream:recluster=64M").contains("capacity/8"));
        assert!(message("pcstream:samples").contains("key=value"));
        assert!(message("pcstream:").contains("key=value"));
        assert!(message("pcstream:samples=1,samples=2").contains("twice"));
    }

    #[test]
    fn schemes_that_need_a_future_can_be_left_out() {
        let live = |scheme: &Scheme| !(scheme.host)().needs_future();
        let specs = SchemeSpec::read_list_where("all", &no_files, live).unwrap();
        assert!(specs.iter().all(|spec| !spec.needs_future()));
        assert_eq!(specs.len() + 3, SCHEMES.len());
    }

    #[test]
    fn trials_keep_what_was_set_and_vary_the_rest() {
        assert_eq!(spec("pcstream").trials(&DRIVE), Ok(vec![spec("pcstream")]));
        let trials = spec("oracle").trials(&DRIVE).unwrap();
        assert!(trials.contains(&spec("oracle:classes=8,ratio=3")));
        assert!(trials.iter().all(|trial| trial.name() != "oracle"));
        let fixed = spec("oracle:classes=5");
        assert_eq!(fixed.trials(&DRIVE), Ok(vec![fixed.clone()]));
    }

    #[test]
    fn a_drive_that_does_not_fit_is_an_error() {
        let error = spec("autostream-sfr:chunk=1001")
            .build(&DRIVE)
            .err()
            .unwrap();
        assert!(error.to_string().contains("`chunk=1001`"), "{error}");
        let none = HostGeometry {
            host_streams: 0,
            ..DRIVE
        };
        assert_eq!(
            spec("baseline").build(&none).err(),
            Some(SchemeError::NoDrive)
        );
    }
}
