//! DH-HMAC-CHAP as the controller sees it: one authentication, message by message (§8.3.4.4).
//!
//! ```text
//! host sends    AUTH_Negotiate       its hashes and groups: ours must be among them
//! host fetches  DH-HMAC-CHAP_Challenge  a random value, a sequence number, half of the group's exchange
//! host sends    DH-HMAC-CHAP_Reply   its response, which must be ours; its half; a challenge to us, if it wants one
//! host fetches  DH-HMAC-CHAP_Success1   our response, if it asked: the end, unless it did
//! host sends    DH-HMAC-CHAP_Success2   it confirms our response: the end
//! ```
//!
//! A wrong message at any step becomes AUTH_Failure1, which the host fetches: the end.

use openssl::{error::ErrorStack, memcmp, rand};
use zeroize::Zeroizing;

use super::{
    group::Half,
    message::{Challenge, Explanation, Message, failure1, success1},
    secret::Secret,
};
use crate::terms::{Demand, Names};

/// Behind the name that a secret is transformed with, and in front of names in responses (§8.3.4.5.7 and .4).
const PROTOCOL: &[u8] = b"NVMe-over-Fabrics";

/// The secrets of one authentication.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Secret that the host proves to have.
    pub host: &'a Secret,
    /// The controller's, by which a host can tell that it is the right one.
    pub controller: Option<&'a Secret>,
}

/// An authentication under way.
#[derive(Debug)]
pub struct Exchange {
    names: Names,
    demand: Demand,
    host_key: Zeroizing<Vec<u8>>,
    controller_key: Option<Zeroizing<Vec<u8>>>,
    step: Step,
}

/// Next step of an exchange.
#[derive(Debug)]
enum Step {
    /// The host offers hashes and groups.
    Negotiate,
    /// The host fetches the challenge.
    Challenge(Sent),
    /// The host replies.
    Reply(Sent),
    /// The host fetches the answer to its reply; whether it has to confirm it.
    Success1(u16, Vec<u8>, bool),
    /// The host confirms that the controller is whom it took it for.
    Success2(u16),
    /// The host fetches the cause of its failure.
    Failure1(u16, Explanation),
    Over(Result<(), Explanation>),
}

/// A challenge, and what belongs to it.
struct Sent {
    transaction: u16,
    sequence: u32,
    value: Vec<u8>,
    half: Option<Half>,
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Sent({})", self.transaction)
    }
}

impl Exchange {
    /// Begins one with a host that has a secret of its own.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn new(names: Names, demand: Demand, pair: Pair<'_>) -> Result<Exchange, ErrorStack> {
        let host_key = transformed(pair.host, &names.host)?;
        let of_subsystem = |secret| transformed(secret, &names.subsystem);
        Ok(Exchange {
            controller_key: pair.controller.map(of_subsystem).transpose()?,
            host_key,
            names,
            demand,
            step: Step::Negotiate,
        })
    }

    /// Outcome, once the exchange is over.
    pub fn outcome(&self) -> Option<Result<(), Explanation>> {
        match self.step {
            Step::Over(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Takes a message of the host (AUTH_Send).
    pub fn take(&mut self, bytes: &[u8]) {
        let step = std::mem::replace(&mut self.step, Step::Over(Err(Explanation::Message)));
        let transaction = match &step {
            Step::Negotiate => crate::wire::u16_at(bytes, 4),
            Step::Challenge(sent) | Step::Reply(sent) => sent.transaction,
            Step::Success1(id, ..) | Step::Success2(id) | Step::Failure1(id, _) => *id,
            Step::Over(outcome) => {
                self.step = Step::Over(*outcome);
                return;
            }
        };
        let message = Message::of(bytes, self.demand.hash.length());
        let next = message.and_then(|message| self.next(step, message));
        self.step = next.unwrap_or_else(|why| Step::Failure1(transaction, why));
    }

    /// Hands out the message that the host asks for (AUTH_Receive); `None` while a message of its own is awaited.
    pub fn give(&mut self) -> Option<Vec<u8>> {
        let (bytes, next) =
            match std::mem::replace(&mut self.step, Step::Over(Err(Explanation::Message))) {
                Step::Challenge(sent) => match self.challenge(&sent) {
                    Ok(bytes) => (bytes, Step::Reply(sent)),
                    Err(_) => failed(sent.transaction, Explanation::Group),
                },
                Step::Success1(transaction, bytes, true) => (bytes, Step::Success2(transaction)),
                Step::Success1(_, bytes, false) => (bytes, Step::Over(Ok(()))),
                Step::Failure1(transaction, why) => failed(transaction, why),
                step => {
                    self.step = step;
                    return None;
                }
            };
        self.step = next;
        Some(bytes)
    }

    fn next(&self, step: Step, message: Message<'_>) -> Result<Step, Explanation> {
        match (step, message) {
            (_, Message::Failure2 { .. }) => Ok(Step::Over(Err(Explanation::Failed))),
            (
                Step::Negotiate,
                Message::Negotiate {
                    transaction,
                    concatenation,
                    hashes,
                    groups,
                },
            ) => {
                if concatenation != 0 {
                    return Err(Explanation::Concatenation);
                }
                // We accept one of each, so that nobody between can negotiate a weaker one.
                if !hashes.contains(&self.demand.hash.code()) {
                    return Err(Explanation::Hash);
                }
                if !groups.contains(&self.demand.group.code()) {
                    return Err(Explanation::Group);
                }
                let drawn = self.draw(transaction);
                drawn.map(Step::Challenge).map_err(|_| Explanation::Failed)
            }
            (
                Step::Reply(sent),
                Message::Reply {
                    transaction,
                    response,
                    challenge,
                    public,
                },
            ) if transaction == sent.transaction => self.reply(&sent, response, challenge, public),
            (Step::Success2(awaited), Message::Success2 { transaction })
                if transaction == awaited =>
            {
                Ok(Step::Over(Ok(())))
            }
            _ => Err(Explanation::Message),
        }
    }

    fn draw(&self, transaction: u16) -> Result<Sent, ErrorStack> {
        let mut value = vec![0; self.demand.hash.length()];
        rand::rand_bytes(&mut value)?;
        let mut sequence = [0; 4];
        rand::rand_bytes(&mut sequence)?;
        Ok(Sent {
            transaction,
            // Never 0.
            sequence: u32::from_le_bytes(sequence).max(1),
            value,
            half: Half::draw(self.demand.group)?,
        })
    }

    fn challenge(&self, sent: &Sent) -> Result<Vec<u8>, ErrorStack> {
        let public = sent.half.as_ref().map(Half::public).transpose()?;
        let challenge = Challenge {
            transaction: sent.transaction,
            hash: self.demand.hash.code(),
            group: self.demand.group.code(),
            sequence: sent.sequence,
            value: &sent.value,
            public: public.as_deref().unwrap_or_default(),
        };
        Ok(challenge.to_bytes())
    }

    fn reply(
        &self,
        sent: &Sent,
        response: &[u8],
        challenge: Option<(&[u8], u32)>,
        public: &[u8],
    ) -> Result<Step, Explanation> {
        let agreed = match &sent.half {
            Some(half) if public.len() == self.demand.group.length() => {
                Some(half.agree(public).map_err(|_| Explanation::Group)?)
            }
            None if public.is_empty() => None,
            _ => return Err(Explanation::Payload),
        };
        let agreed = agreed.as_ref().map(|agreed| agreed.as_slice());
        let transaction = sent.transaction;
        let answer = |key: &[u8], who: Who, challenge: (&[u8], u32)| {
            let made = self.response(key, who, transaction, challenge, agreed);
            made.map_err(|_| Explanation::Failed)
        };
        let right = answer(&self.host_key, Who::Host, (&sent.value, sent.sequence))?;
        if right.len() != response.len() || !memcmp::eq(&right, response) {
            return Err(Explanation::Failed);
        }
        let own = match (challenge, &self.controller_key) {
            (None, _) => None,
            (Some(challenge), Some(key)) => Some(answer(key, Who::Controller, challenge)?),
            // The host asks for our response, and we have no secret to make one with.
            (Some(_), None) => return Err(Explanation::Failed),
        };
        let own = own.as_ref().map(|own| own.as_slice());
        let bytes = success1(transaction, self.demand.hash.length(), own);
        Ok(Step::Success1(transaction, bytes, own.is_some()))
    }

    /// The response to a challenge (§8.3.4.5.4: R1; §8.3.4.5.5: R2).
    fn response(
        &self,
        key: &[u8],
        who: Who,
        transaction: u16,
        (challenge, sequence): (&[u8], u32),
        agreed: Option<&[u8]>,
    ) -> Result<Zeroizing<Vec<u8>>, ErrorStack> {
        let hash = self.demand.hash;
        let augmented = match agreed {
            Some(agreed) => {
                let key = openssl::hash::hash(hash.digest(), agreed)?;
                hash.hmac(&key, &[challenge])?
            }
            None => Zeroizing::new(challenge.to_vec()),
        };
        let (host, subsystem) = (self.names.host.as_bytes(), self.names.subsystem.as_bytes());
        let (role, first, second): (&[u8], _, _) = match who {
            Who::Host => (b"HostHost", host, subsystem),
            Who::Controller => (b"Controller", subsystem, host),
        };
        let (sequence, transaction) = (sequence.to_le_bytes(), transaction.to_le_bytes());
        // The third is SC_C: no TLS key comes of it.
        let front: [&[u8]; 4] = [&augmented, &sequence, &transaction, &[0]];
        hash.hmac(key, &[&front[..], &[role, first, &[0], second]].concat())
    }
}

fn failed(transaction: u16, why: Explanation) -> (Vec<u8>, Step) {
    (failure1(transaction, why), Step::Over(Err(why)))
}

/// The party that responds.
#[derive(Debug, Clone, Copy)]
enum Who {
    Host,
    Controller,
}

/// The key that responses are made with (§8.3.4.5.7).
fn transformed(secret: &Secret, name: &str) -> Result<Zeroizing<Vec<u8>>, ErrorStack> {
    match secret.hash() {
        None => Ok(Zeroizing::new(secret.key().to_vec())),
        Some(hash) => hash.hmac(secret.key(), &[name.as_bytes(), PROTOCOL]),
    }
}
