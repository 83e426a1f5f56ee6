//! Messages of DH-HMAC-CHAP (§8.3.4.5): what hosts send, and what they are sent. Pure functions of bytes.

use crate::wire::{put, u8_at, u16_at, u32_at};

/// DH-HMAC-CHAP among authentication protocols (§8.3.4.5.2).
pub const DHCHAP: u8 = 1;

/// Bytes of a negotiation before its protocols, of a protocol's descriptor, and of its list of hashes.
const NEGOTIATE: usize = 8;
const DESCRIPTOR: usize = 64;
const MOST_IDENTIFIERS: usize = 30;
/// Bytes of all other messages of DH-HMAC-CHAP before their values, and of a failure.
const HEADER: usize = 16;
const FAILURE: usize = 8;

/// Types of messages, and the messages of each.
mod kind {
    pub const COMMON: u8 = 0;
    pub const DHCHAP: u8 = 1;
    pub const NEGOTIATE: (u8, u8) = (COMMON, 0x00);
    pub const CHALLENGE: (u8, u8) = (DHCHAP, 0x01);
    pub const REPLY: (u8, u8) = (DHCHAP, 0x02);
    pub const SUCCESS1: (u8, u8) = (DHCHAP, 0x03);
    pub const SUCCESS2: (u8, u8) = (DHCHAP, 0x04);
    pub const FAILURE2: (u8, u8) = (COMMON, 0xf0);
    pub const FAILURE1: (u8, u8) = (COMMON, 0xf1);
}

/// Cause of a failed authentication: the Reason Code Explanation of a failure (§8.3.4.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Explanation {
    /// 01h.
    #[error("its response is not that of the secret kept for it")]
    Failed,
    /// 02h.
    #[error("it offers no DH-HMAC-CHAP")]
    Protocol,
    /// 03h.
    #[error("it wants a TLS key of the authentication, which is not offered")]
    Concatenation,
    /// 04h.
    #[error("it does not offer the hash that is asked for")]
    Hash,
    /// 05h.
    #[error("it does not offer the Diffie-Hellman group that is asked for, or sent no value of it")]
    Group,
    /// 06h.
    #[error("its message makes no sense")]
    Payload,
    /// 07h.
    #[error("its message is not the one awaited")]
    Message,
}

impl Explanation {
    fn code(self) -> u8 {
        match self {
            Explanation::Failed => 1,
            Explanation::Protocol => 2,
            Explanation::Concatenation => 3,
            Explanation::Hash => 4,
            Explanation::Group => 5,
            Explanation::Payload => 6,
            Explanation::Message => 7,
        }
    }
}

/// A message of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// AUTH_Negotiate (§8.3.4.5.2): what the host can do.
    Negotiate {
        /// T_ID: the transaction.
        transaction: u16,
        /// SC_C: whether a TLS key is to come of it.
        concatenation: u8,
        /// Identifiers of hashes.
        hashes: &'a [u8],
        /// Identifiers of groups.
        groups: &'a [u8],
    },
    /// DH-HMAC-CHAP_Reply (§8.3.4.5.4).
    Reply {
        /// Identifier of the exchange, which each of its messages repeats (T_ID).
        transaction: u16,
        /// The response to the challenge.
        response: &'a [u8],
        /// A challenge to the controller, with its sequence number.
        challenge: Option<(&'a [u8], u32)>,
        /// The host's public value.
        public: &'a [u8],
    },
    /// DH-HMAC-CHAP_Success2 (§8.3.4.5.6): the controller is whom the host takes it for.
    Success2 {
        /// Identifier of the exchange, which each of its messages repeats (T_ID).
        transaction: u16,
    },
    /// AUTH_Failure2 (§8.3.4.5.1): the host gives up.
    Failure2 {
        /// Reason Code Explanation.
        explanation: u8,
    },
}

impl<'a> Message<'a> {
    /// Reads a message, whose hashes have `hash_length` bytes.
    ///
    /// # Errors
    /// When it is none, or shorter than what it says that it holds.
    pub fn of(bytes: &'a [u8], hash_length: usize) -> Result<Message<'a>, Explanation> {
        let transaction = u16_at(bytes, 4);
        let least = |length: usize| {
            if bytes.len() < length {
                Err(Explanation::Payload)
            } else {
                Ok(())
            }
        };
        match (u8_at(bytes, 0), u8_at(bytes, 1)) {
            kind::NEGOTIATE => negotiate(bytes, transaction),
            kind::REPLY => reply(bytes, transaction, hash_length),
            kind::SUCCESS2 => least(HEADER).map(|()| Message::Success2 { transaction }),
            kind::FAILURE2 => least(FAILURE).map(|()| Message::Failure2 {
                explanation: u8_at(bytes, 7),
            }),
            _ => Err(Explanation::Message),
        }
    }
}

fn negotiate(bytes: &[u8], transaction: u16) -> Result<Message<'_>, Explanation> {
    let offered = bytes.get(NEGOTIATE..).ok_or(Explanation::Payload)?;
    let protocols = usize::from(u8_at(bytes, 7));
    let offered = offered.get(..protocols * DESCRIPTOR);
    let mut offered = offered
        .filter(|_| protocols > 0)
        .ok_or(Explanation::Payload)?
        .chunks_exact(DESCRIPTOR);
    let dhchap = offered.find(|one| u8_at(one, 0) == DHCHAP);
    let dhchap = dhchap.ok_or(Explanation::Protocol)?;
    let list = |at: usize, count: u8| {
        let count = usize::from(count);
        let list = dhchap.get(at..at + count);
        list.filter(|_| (1..=MOST_IDENTIFIERS).contains(&count))
            .ok_or(Explanation::Payload)
    };
    Ok(Message::Negotiate {
        transaction,
        concatenation: u8_at(bytes, 6),
        hashes: list(4, u8_at(dhchap, 2))?,
        groups: list(4 + MOST_IDENTIFIERS, u8_at(dhchap, 3))?,
    })
}

fn reply(bytes: &[u8], transaction: u16, hash_length: usize) -> Result<Message<'_>, Explanation> {
    let values = bytes.get(HEADER..).ok_or(Explanation::Payload)?;
    if usize::from(u8_at(bytes, 6)) != hash_length {
        return Err(Explanation::Payload);
    }
    let public = usize::from(u16_at(bytes, 10));
    let (begin, end) = (2 * hash_length, 2 * hash_length + public);
    let part = |begin: usize, end: usize| values.get(begin..end).ok_or(Explanation::Payload);
    let challenge = part(hash_length, begin)?;
    let challenge = match (u8_at(bytes, 8), u32_at(bytes, 12)) {
        (0, _) => None,
        // 0 is for those who want a TLS key of it alone.
        (1, sequence) if sequence != 0 => Some((challenge, sequence)),
        _ => return Err(Explanation::Payload),
    };
    Ok(Message::Reply {
        transaction,
        response: part(0, hash_length)?,
        challenge,
        public: part(begin, end)?,
    })
}

fn header(length: usize, (family, message): (u8, u8), transaction: u16) -> Vec<u8> {
    let mut bytes = vec![0; length];
    put(&mut bytes, 0, &[family, message]);
    put(&mut bytes, 4, &transaction.to_le_bytes());
    bytes
}

/// Fields of a challenge.
#[derive(Debug, Clone, Copy)]
pub struct Challenge<'a> {
    /// Identifier of the exchange, which each of its messages repeats (T_ID).
    pub transaction: u16,
    /// Code of the hash.
    pub hash: u8,
    /// Code of the group.
    pub group: u8,
    /// The sequence number.
    pub sequence: u32,
    /// The challenge, as long as a hash.
    pub value: &'a [u8],
    /// The controller's public value.
    pub public: &'a [u8],
}

impl Challenge<'_> {
    /// DH-HMAC-CHAP_Challenge (§8.3.4.5.3).
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = header(HEADER, kind::CHALLENGE, self.transaction);
        put(&mut bytes, 6, &[self.value.len() as u8]);
        put(&mut bytes, 8, &[self.hash, self.group]);
        put(&mut bytes, 10, &(self.public.len() as u16).to_le_bytes());
        put(&mut bytes, 12, &self.sequence.to_le_bytes());
        bytes.extend_from_slice(self.value);
        bytes.extend_from_slice(self.public);
        bytes
    }
}

/// DH-HMAC-CHAP_Success1 (§8.3.4.5.5), with a response where the host asked for one.
pub fn success1(transaction: u16, hash_length: usize, response: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = header(HEADER, kind::SUCCESS1, transaction);
    put(&mut bytes, 6, &[hash_length as u8]);
    put(&mut bytes, 8, &[u8::from(response.is_some())]);
    match response {
        Some(response) => bytes.extend_from_slice(response),
        None => bytes.resize(HEADER + hash_length, 0),
    }
    bytes
}

/// AUTH_Failure1 (§8.3.4.5.1): the authentication failed (01h), for this reason.
pub fn failure1(transaction: u16, explanation: Explanation) -> Vec<u8> {
    let mut bytes = header(FAILURE, kind::FAILURE1, transaction);
    put(&mut bytes, 6, &[1, explanation.code()]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offer of Linux 7.3.
    fn offer() -> Vec<u8> {
        let mut bytes = vec![0; NEGOTIATE + DESCRIPTOR];
        put(&mut bytes, 4, &[7, 0, 0, 1, DHCHAP, 0]);
        put(&mut bytes, 10, &[3, 6, 1, 2, 3]);
        put(&mut bytes, 42, &[0, 1, 2, 3, 4, 5]);
        bytes
    }

    fn answer(public: u16) -> Vec<u8> {
        let mut bytes = header(HEADER + 64 + usize::from(public), kind::REPLY, 7);
        put(&mut bytes, 6, &[32, 0, 1]);
        put(&mut bytes, 10, &public.to_le_bytes());
        put(&mut bytes, 12, &[9, 0, 0, 0]);
        bytes
    }

    #[test]
    fn an_offer_is_read() {
        let bytes = offer();
        let Ok(Message::Negotiate {
            transaction,
            concatenation,
            hashes,
            groups,
        }) = Message::of(&bytes, 32)
        else {
            panic!("an offer");
        };
        assert_eq!((transaction, concatenation), (7, 0));
        assert_eq!((hashes, groups), (&[1, 2, 3][..], &[0, 1, 2, 3, 4, 5][..]));
    }

    #[test]
    fn a_reply_is_read() {
        let bytes = answer(256);
        let Ok(Message::Reply {
            response,
            challenge,
            public,
            ..
        }) = Message::of(&bytes, 32)
        else {
            panic!("a reply");
        };
        assert_eq!((response.len(), public.len()), (32, 256));
        assert_eq!(challenge, Some((&[0; 32][..], 9)));
    }

    #[test]
    fn every_message_cut_anywhere_is_refused() {
        for whole in [
            offer(),
            answer(256),
            answer(0),
            header(HEADER, kind::SUCCESS2, 7),
            header(FAILURE, kind::FAILURE2, 7),
        ] {
            assert!(Message::of(&whole, 32).is_ok());
            for length in 0..whole.len() {
                assert!(Message::of(&whole[..length], 32).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn hostile_lengths_are_refused() {
        let refused = |bytes: &[u8]| Message::of(bytes, 32).unwrap_err();
        let with = |mut bytes: Vec<u8>, at: usize, value: &[u8]| {
            put(&mut bytes, at, value);
            bytes
        };
        // Protocols, hashes, groups.
        for (at, worst) in [
            (7, 0),
            (7, 2),
            (7, 255),
            (10, 0),
            (10, 31),
            (11, 0),
            (11, 255),
        ] {
            assert_eq!(refused(&with(offer(), at, &[worst])), Explanation::Payload);
        }
        assert_eq!(refused(&with(offer(), 8, &[2])), Explanation::Protocol);
        // The hash, and the public value.
        for (at, worst) in [
            (6, 0),
            (6, 31),
            (6, 64),
            (6, 255),
            (8, 2),
            (10, 1),
            (11, 255),
        ] {
            let bytes = with(answer(256), at, &[worst]);
            assert_eq!(refused(&bytes), Explanation::Payload, "{at} {worst}");
        }
        assert_eq!(refused(&with(answer(0), 12, &[0])), Explanation::Payload);
        assert_eq!(refused(&with(answer(0), 1, &[9])), Explanation::Message);
    }
}
