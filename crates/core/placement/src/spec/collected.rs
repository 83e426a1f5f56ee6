//! The form of a scheme whose copies the host makes, and of its host half alone.

use anabranch_ssd::relocate::RelocationKind;

use super::{SchemeSpec, canonical_name};
use crate::{collection::Collection, error::SchemeError, halves::DeviceHalf};

impl SchemeSpec {
    /// The host's way to collect; `None` where it leaves that to the drive.
    pub fn collection(&self) -> Option<&Collection> {
        self.collection.as_ref()
    }

    /// Refuses a scheme whose host collects, where a drive is in use and not replayed.
    ///
    /// # Errors
    /// When the host collects.
    pub fn leaves_collection_to_the_drive(&self) -> Result<(), SchemeError> {
        match self.collection {
            None => Ok(()),
            Some(_) => Err(SchemeError::OnlyReplayed {
                scheme: self.name.clone(),
            }),
        }
    }

    /// The same host half, with another device half, which collects.
    pub fn with_relocation(&self, kind: RelocationKind) -> SchemeSpec {
        let relocation = DeviceHalf::Relocation(kind);
        let settings = self.name.split_once(':');
        let settings = settings.and_then(|(_, settings)| Collection::without(settings));
        let name = canonical_name(self.host.name(), relocation);
        SchemeSpec {
            name: settings.map_or(name.clone(), |settings| format!("{name}:{settings}")),
            relocation,
            collection: None,
            parameters: Collection::others(&self.parameters),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{collection::Boundaries, schemes::SCHEMES};

    fn spec(text: &str) -> SchemeSpec {
        text.parse().unwrap()
    }

    fn message(text: &str) -> String {
        text.parse::<SchemeSpec>().unwrap_err().to_string()
    }

    #[test]
    fn any_scheme_can_be_collected_by_the_host_and_reads_back() {
        for scheme in SCHEMES {
            let collected = spec(&format!("{}+host", scheme.name));
            assert_eq!(collected.name(), format!("{}+host", scheme.name));
            assert_eq!(collected.relocation(), scheme.relocation);
            assert!(collected.collection().is_some());
            assert_eq!(spec(collected.name()), collected);
            assert!(collected.leaves_collection_to_the_drive().is_err());
        }
        let set = spec("sepbit+age+host:classes=4,host-spare=2,host-ends=reckoned");
        let collection = set.collection().unwrap();
        assert_eq!(
            (collection.spare, collection.boundaries),
            (2, Boundaries::Reckoned)
        );
        assert_eq!(spec(set.name()), set);
        let half = set.with_relocation(RelocationKind::Gc);
        assert_eq!(half.collection(), None);
        assert!(!half.name().contains("host"), "{half}");
        assert_eq!(spec(half.name()), half);
        assert_eq!(spec("anabranch").collection(), None);
        assert!(message("anabranch:host-spare=2").contains("no parameter `host-spare`"));
        assert!(message("anabranch+host:host-spare=0").contains("from 1 to 4096"));
        assert!(message("anabranch+host:host-ends=heard").contains("made, reckoned"));
    }
}
