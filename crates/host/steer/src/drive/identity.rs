//! Words by which a namespace is known again.

use std::hash::Hasher as _;

use anabranch_nvme_host::{Namespace, text};
use fnv::FnvHasher;

use crate::error::SteerError;

/// The word of the namespace of this number on a drive of this model and serial number.
pub fn identity(model: &str, serial: &str, number: u32) -> u64 {
    let mut hash = FnvHasher::default();
    hash.write(format!("{model}\n{serial}\n{number}").as_bytes());
    hash.finish()
}

/// The same word for a namespace that is only asked.
pub fn identity_of(namespace: &Namespace) -> Result<u64, SteerError> {
    let controller = namespace.identify_controller()?;
    let (model, serial) = (text(&controller, 24, 40), text(&controller, 4, 20));
    Ok(identity(&model, &serial, namespace.number()))
}

/// A hash of the names that only this namespace has: EUI-64 and NGUID of its description (NVMe Base Specification 2.1,
/// Identify, CNS 00h, bytes 120 and 104), and the EUI-64, NGUID and UUID among its descriptors (CNS 03h); 0 where all are 0.
pub fn unique(described: &[u8], descriptors: &[u8]) -> u64 {
    let mut hash = FnvHasher::default();
    let mut is_any = false;
    let mut add = |name: &[u8]| {
        if name.iter().any(|&byte| byte != 0) {
            is_any = true;
            hash.write(name);
        }
    };
    add(described.get(104..128).unwrap_or_default());
    let mut rest = descriptors;
    while let [kind @ 1..=4, length, _, _, names @ ..] = rest
        && let Some((name, others)) = names.split_at_checked(usize::from(*length))
    {
        // 4 is the command set's, which is no name.
        if *kind != 4 {
            add(name);
        }
        rest = others;
    }
    if is_any { hash.finish().max(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_made_anew_has_another_name_and_one_without_any_has_none() {
        let plain = vec![0; 4096];
        let mut uuid = vec![0; 4096];
        // The command set, then a UUID.
        uuid[..5].copy_from_slice(&[4, 1, 0, 0, 0]);
        uuid[5..7].copy_from_slice(&[3, 16]);
        assert_eq!(unique(&plain, &plain), 0);
        assert_eq!(unique(&plain, &uuid), 0);
        uuid[9 + 15] = 1;
        let first = unique(&plain, &uuid);
        uuid[9 + 15] = 2;
        assert!(first != 0 && unique(&plain, &uuid) != first);
        let mut nguid = vec![0; 4096];
        nguid[104] = 1;
        assert!(![0, first].contains(&unique(&nguid, &plain)));
        // A length that leads out of the page ends it.
        assert_eq!(unique(&plain, &[3, 255, 0, 0, 9]), 0);
        assert_eq!(unique(&[], &[]), 0);
    }
}
