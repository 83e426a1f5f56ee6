//! Pre-shared keys of TLS and their identities (TCP §3.6.1.3 and .4), from a configured key.

use openssl::{error::ErrorStack, md::Md, pkey::Id, pkey_ctx::PkeyCtx};
use zeroize::Zeroizing;

use super::secret::Secret;
use crate::terms::{Hash, Names};

/// A pre-shared key of TLS, and whose it is.
#[derive(Clone)]
pub(crate) struct Psk {
    pub(crate) key: Zeroizing<Vec<u8>>,
    pub(crate) hash: Hash,
    pub(crate) names: Names,
}

impl std::fmt::Debug for Psk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Psk({:?})", self.names)
    }
}

/// Layout of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// As RFC 8446, §7.1 has it, and the standard with it.
    Standard,
    /// As libnvme wrote them before 1.14: the length little-endian, and no lengths before label and context.
    Early,
}

/// The identities that a host with a configured key may come with to a subsystem, each with its key. Identities of
/// version 1 tell how they were made; those of version 0 do not, and are taken for the standard's.
pub(crate) fn identities(secret: &Secret, names: &Names) -> Result<Vec<(String, Psk)>, ErrorStack> {
    // The hash of the configured key is that of the cipher suite; without one, its length says which.
    let hash = match (secret.hash(), secret.key().len()) {
        (Some(hash), _) => hash,
        (None, 48) => Hash::Sha384,
        (None, _) => Hash::Sha256,
    };
    let both = format!("{} {}", names.host, names.subsystem);
    let mut found = Vec::new();
    for layout in [Layout::Standard, Layout::Early] {
        let retained = retained(secret, &names.host, layout)?;
        let digest = hash.hmac(&retained, &[both.as_bytes(), b" NVMe-over-Fabrics"])?;
        let digest = openssl::base64::encode_block(&digest);
        let first = format!("NVMe1R{:02} {both} {digest}", hash.code());
        let context = format!("{:02} {digest}", hash.code());
        let mut add = |identity: String, context: &str| {
            let key = expand(
                hash,
                &retained,
                "nvme-tls-psk",
                context,
                hash.length(),
                layout,
            )?;
            let names = names.clone();
            found.push((identity, Psk { key, hash, names }));
            Ok::<_, ErrorStack>(())
        };
        add(first, &context)?;
        // The length of a label's context is one byte (RFC 8446, §7.1): longer names have no identity of version 0, which
        // is its own context.
        let fits = "NVMe0R01 ".len() + both.len() <= usize::from(u8::MAX);
        if layout == Layout::Standard && fits {
            let zeroth = format!("NVMe0R{:02} {both}", hash.code());
            add(zeroth.clone(), &zeroth)?;
        }
    }
    Ok(found)
}

/// The key that is kept in the configured one's place: bound to the host, or the configured one itself.
fn retained(secret: &Secret, host: &str, layout: Layout) -> Result<Zeroizing<Vec<u8>>, ErrorStack> {
    let key = secret.key();
    match secret.hash() {
        None => Ok(Zeroizing::new(key.to_vec())),
        Some(hash) => expand(hash, key, "HostNQN", host, key.len(), layout),
    }
}

/// HKDF-Expand-Label(HKDF-Extract(0, key), label, context, length) of RFC 5869 and RFC 8446.
fn expand(
    hash: Hash,
    key: &[u8],
    label: &str,
    context: &str,
    length: usize,
    layout: Layout,
) -> Result<Zeroizing<Vec<u8>>, ErrorStack> {
    let label = format!("tls13 {label}");
    let (label, context, size) = (label.as_bytes(), context.as_bytes(), length as u16);
    let information = match layout {
        Layout::Standard => [
            &size.to_be_bytes()[..],
            &[label.len() as u8],
            label,
            &[context.len() as u8],
            context,
        ]
        .concat(),
        Layout::Early => [&size.to_le_bytes()[..], label, context].concat(),
    };
    let mut derivation = PkeyCtx::new_id(Id::HKDF)?;
    derivation.derive_init()?;
    derivation.set_hkdf_md(match hash {
        Hash::Sha256 => Md::sha256(),
        Hash::Sha384 => Md::sha384(),
        Hash::Sha512 => Md::sha512(),
    })?;
    derivation.set_hkdf_key(key)?;
    derivation.add_hkdf_info(&information)?;
    let mut derived = Zeroizing::new(vec![0; length]);
    derivation.derive(Some(&mut derived))?;
    Ok(derived)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    /// Output of `nvme gen-tls-key` of nvme-cli 2.13 for keys of 00h to 1Fh and to 2Fh.
    const SHORT: &str = "NVMeTLSkey-1:01:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";
    const LONG: &str =
        "NVMeTLSkey-1:02:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vcSEgBQ==:";

    fn names() -> Names {
        Names {
            host: "nqn.2014-08.org.nvmexpress:uuid:2cd2c43b-a90a-45c1-a8cd-86b33ab273b5".to_owned(),
            subsystem: "nqn.2014-08.org.example:guest".to_owned(),
        }
    }

    fn found(text: &str) -> Vec<(String, Psk)> {
        let secret = Secret::of(Form::Tls, text).unwrap();
        identities(&secret, &names()).unwrap()
    }

    /// `nvme check-tls-key --insert` with `--identity=0` and `--identity=1`, then `keyctl show %:.nvme`.
    #[test]
    fn identities_are_those_of_nvme_cli() {
        let both = format!("{} {}", names().host, names().subsystem);
        for (text, hash, digest) in [
            (SHORT, 1, "c3ZJh2EZbJhtw0s3Z9Ql9olzDg7/EC7eNBYqz9aWLeM="),
            (
                LONG,
                2,
                "8KZ/tMea16+gC0NdM9LdmR4SL7KLTYA7PHpcwuN0HFPm9w8ZXMVJCa+XQc+F3br7",
            ),
        ] {
            let found = found(text);
            let named = |identity: String| found.iter().any(|(one, _)| *one == identity);
            assert!(named(format!("NVMe1R{hash:02} {both} {digest}")));
            assert!(named(format!("NVMe0R{hash:02} {both}")));
            assert_eq!(found.len(), 3);
            let length = if hash == 1 { 32 } else { 48 };
            assert!(found.iter().all(|(_, psk)| psk.key.len() == length));
            assert!(!format!("{found:?}").contains("key"));
        }
    }

    /// Digests reckoned with Python's `hmac` from RFC 5869 and RFC 8446, §7.1.
    #[test]
    fn the_standards_layout_is_that_of_the_rfc() {
        let digests = |text: &str| -> Vec<String> {
            let last =
                |(identity, _): &(String, Psk)| identity.rsplit(' ').next().unwrap().to_owned();
            found(text).iter().map(last).collect()
        };
        assert_eq!(
            digests(SHORT)[0],
            "wY9hgk4LaySV0HgCx+mKyc6WwoCCfOAiRNCxgj3QDHQ="
        );
        assert_eq!(
            digests(LONG)[0],
            "Aeby09iuwa8ozDZBpzN/unmV+drKxRLWojGP17Ob3Cf1tpv0ig6tSz8EbBXZktaE"
        );
    }

    #[test]
    fn a_key_without_a_hash_is_kept_as_it_is() {
        let found = found(&SHORT.replace(":01:", ":00:"));
        // Both layouts have the same retained key then, and the same identity.
        assert_eq!(found[0].0, found[2].0);
        assert!(found[1].0.starts_with("NVMe0R01 "));
    }

    #[test]
    fn names_too_long_for_a_label_have_no_identity_of_version_0() {
        let secret = Secret::of(Form::Tls, SHORT).unwrap();
        let of_length = |length: usize| {
            let host = "h".repeat(length);
            let subsystem = "s".repeat(223);
            let found = identities(&secret, &Names { host, subsystem }).unwrap();
            let zeroth = |(one, _): &&(String, Psk)| one.starts_with("NVMe0R01 ");
            (found.len(), found.iter().filter(zeroth).count())
        };
        // "NVMe0R01 ", 22 characters, a blank and 223 are 255 bytes.
        assert_eq!(of_length(22), (3, 1));
        assert_eq!(of_length(23), (2, 0));
        assert_eq!(of_length(223), (2, 0));
    }
}
