//! Groups of the Diffie-Hellman exchange (RFC 7919).

use openssl::{
    bn::{BigNum, BigNumRef},
    derive::Deriver,
    dh::Dh,
    error::ErrorStack,
    pkey::{PKey, Params, Private},
};
use zeroize::Zeroizing;

use crate::terms::DhGroup;

/// Bits of precision beyond those that are kept (our choice): a sum of some thousand terms, each cut, is off by
/// less than 2^-50.
const GUARD: i32 = 64;

impl DhGroup {
    /// Bits of its prime, and what makes it one (RFC 7919, appendix A); `None` for no group.
    fn shape(self) -> Option<(i32, u32)> {
        match self {
            DhGroup::Null => None,
            DhGroup::Ffdhe2048 => Some((2048, 560_316)),
            DhGroup::Ffdhe3072 => Some((3072, 2_625_351)),
            DhGroup::Ffdhe4096 => Some((4096, 5_736_041)),
            DhGroup::Ffdhe6144 => Some((6144, 15_705_020)),
            DhGroup::Ffdhe8192 => Some((8192, 10_965_728)),
        }
    }

    /// Bytes of a public value.
    pub(crate) fn length(self) -> usize {
        self.shape().map_or(0, |(bits, _)| bits as usize / 8)
    }
}

/// The prime of a group: 2^b - 2^(b-64) + {[2^(b-130) e] + X} 2^64 - 1 (RFC 7919, appendix A).
fn prime(bits: i32, extra: u32) -> Result<BigNum, ErrorStack> {
    let power = |exponent: i32| {
        let mut one = BigNum::new()?;
        one.set_bit(exponent)?;
        Ok::<_, ErrorStack>(one)
    };
    // e, as the sum of the reciprocals of factorials.
    let mut term = power(bits - 130 + GUARD)?;
    let (mut sum, mut factor) = (BigNum::new()?, 0);
    while term.num_bits() > 0 {
        sum = &sum + &term;
        factor += 1;
        term.div_word(factor)?;
    }
    let mut middle = BigNum::new()?;
    middle.rshift(&sum, GUARD)?;
    middle.add_word(extra)?;
    let mut shifted = BigNum::new()?;
    shifted.lshift(&middle, 64)?;
    let mut prime = &(&power(bits)? - &power(bits - 64)?) + &shifted;
    prime.sub_word(1)?;
    Ok(prime)
}

/// The group of a prime: its order is half of it, and 2 generates it (RFC 7919, appendix A).
fn parameters(prime: BigNum) -> Result<Dh<Params>, ErrorStack> {
    let mut order = BigNum::new()?;
    order.rshift1(&prime)?;
    Dh::from_pqg(prime, Some(order), BigNum::from_u32(2)?)
}

/// The prime of a group that is one.
#[cfg(test)]
pub(super) fn prime_of(group: DhGroup) -> Option<BigNum> {
    let (bits, extra) = group.shape()?;
    prime(bits, extra).ok()
}

/// One side of an exchange: a private value, and the public one that goes to the other side.
pub(crate) struct Half(PKey<Private>);

impl std::fmt::Debug for Half {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Half")
    }
}

impl Half {
    /// Draws one; `None` where the group is none.
    pub(crate) fn draw(group: DhGroup) -> Result<Option<Half>, ErrorStack> {
        let Some((bits, extra)) = group.shape() else {
            return Ok(None);
        };
        let group = parameters(prime(bits, extra)?)?;
        PKey::from_dh(group.generate_key()?).map(|half| Some(Half(half)))
    }

    /// The public value, as long as the prime.
    pub(crate) fn public(&self) -> Result<Vec<u8>, ErrorStack> {
        let half = self.0.dh()?;
        padded(half.public_key(), half.prime_p().num_bytes())
    }

    /// Computes the secret that both sides share, as long as the prime. Of public values that are none of the group
    /// (0, 1, p - 1, or of another order) there is none.
    pub(crate) fn agree(&self, public: &[u8]) -> Result<Zeroizing<Vec<u8>>, ErrorStack> {
        let half = self.0.dh()?;
        let (public, prime) = (BigNum::from_slice(public)?, half.prime_p());
        // A public value lies between 1 and p - 1 (RFC 7919, 5.1). OpenSSL checks that when the peer is set; this check does
        // not rely on its version.
        if *public >= *prime {
            return Err(ErrorStack::get());
        }
        let group = parameters(prime.to_owned()?)?;
        let theirs = PKey::from_dh(group.set_public_key(public)?)?;
        let mut deriver = Deriver::new(&self.0)?;
        deriver.set_peer(&theirs)?;
        // IMPORTANT: not `Dh::compute_key`. OpenSSL leaves zeroes at the front out; that call puts as many behind the rest,
        // and does not tell how many.
        let agreed = Zeroizing::new(deriver.derive_to_vec()?);
        let missing = (prime.num_bytes() as usize).saturating_sub(agreed.len());
        let mut whole = Zeroizing::new(vec![0; missing]);
        whole.extend_from_slice(&agreed);
        Ok(whole)
    }
}

fn padded(number: &BigNumRef, length: i32) -> Result<Vec<u8>, ErrorStack> {
    number.to_vec_padded(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::bn::BigNumContext;

    const GROUPS: [DhGroup; 5] = [
        DhGroup::Ffdhe2048,
        DhGroup::Ffdhe3072,
        DhGroup::Ffdhe4096,
        DhGroup::Ffdhe6144,
        DhGroup::Ffdhe8192,
    ];

    #[test]
    fn primes_are_those_of_the_standard() {
        // The ends of each, from RFC 7919: all begin alike.
        let ends = [
            "886B423861285C97FFFFFFFFFFFFFFFF",
            "25E41D2B66C62E37FFFFFFFFFFFFFFFF",
            "C68A007E5E655F6AFFFFFFFFFFFFFFFF",
            "A41D570D7938DAD4A40E329CD0E40E65FFFFFFFFFFFFFFFF",
            "D68C8BB7C5C6424CFFFFFFFFFFFFFFFF",
        ];
        for (group, end) in GROUPS.into_iter().zip(ends) {
            let (bits, extra) = group.shape().unwrap();
            let prime = prime(bits, extra).unwrap();
            let text = prime.to_hex_str().unwrap().to_string();
            assert!(
                text.starts_with("FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1"),
                "{group:?}"
            );
            assert!(text.ends_with(end), "{group:?} {text}");
            assert_eq!(prime.num_bits(), bits);
        }
    }

    #[test]
    fn primes_are_safe() {
        let mut context = BigNumContext::new().unwrap();
        let prime = prime(2048, 560_316).unwrap();
        let mut order = BigNum::new().unwrap();
        order.rshift1(&prime).unwrap();
        assert!(prime.is_prime(16, &mut context).unwrap());
        assert!(order.is_prime(16, &mut context).unwrap());
    }

    #[test]
    fn both_sides_agree_and_what_is_no_public_value_is_refused() {
        for group in GROUPS {
            let (host, ours) = (Half::draw(group).unwrap().unwrap(), Half::draw(group));
            let ours = ours.unwrap().unwrap();
            let public = host.public().unwrap();
            assert_eq!(public.len(), group.length());
            let agreed = ours.agree(&public).unwrap();
            assert_eq!(agreed.len(), group.length());
            assert_eq!(agreed, host.agree(&ours.public().unwrap()).unwrap());
            let length = group.length();
            let small = |number: u8| {
                let mut bytes = vec![0; length];
                bytes[length - 1] = number;
                bytes
            };
            let (bits, extra) = group.shape().unwrap();
            let prime = prime(bits, extra).unwrap().to_vec();
            let mut less = prime.clone();
            *less.last_mut().unwrap() -= 1;
            for bad in [small(0), small(1), less, prime, vec![0xff; length]] {
                assert!(ours.agree(&bad).is_err(), "{group:?}");
            }
        }
        assert!(Half::draw(DhGroup::Null).unwrap().is_none());
    }

    #[test]
    fn zeroes_at_the_front_of_what_both_know_stay_there() {
        let group = DhGroup::Ffdhe2048;
        let host = Half::draw(group).unwrap().unwrap();
        let mut context = BigNumContext::new().unwrap();
        // One of 256 begins so.
        for _ in 0..10_000 {
            let ours = Half::draw(group).unwrap().unwrap();
            let mut agreed = BigNum::new().unwrap();
            let (own, other) = (host.0.dh().unwrap(), ours.0.dh().unwrap());
            let (base, power) = (other.public_key(), own.private_key());
            agreed
                .mod_exp(base, power, own.prime_p(), &mut context)
                .unwrap();
            if agreed.num_bytes() < 256 {
                let expected = agreed.to_vec_padded(256).unwrap();
                assert_eq!(*host.agree(&ours.public().unwrap()).unwrap(), expected);
                assert_eq!(*ours.agree(&host.public().unwrap()).unwrap(), expected);
                return;
            }
        }
        panic!("none began with a zero");
    }
}
