//! What authenticates: messages of hosts, one after the other, and secrets as texts.

use anabranch_security::{
    Demand, DhGroup, Exchange, Form, Hash, Message, Names, Pair, Secret, list,
};

const SECRET: &str = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";

/// Reads bytes as all of these. Nothing fails but in the words that it has for it, and nobody without the secret
/// is let in.
pub fn security(input: &[u8]) {
    for hash in [Hash::Sha256, Hash::Sha384, Hash::Sha512] {
        let _ = Message::of(input, hash.length());
    }
    if let Ok(text) = std::str::from_utf8(input) {
        for form in [Form::Dhchap, Form::Tls] {
            if let Err(bad) = Secret::of(form, text) {
                let _ = bad.to_string();
            }
            if let Err(bad) = list(form, text) {
                let _ = bad.to_string();
            }
        }
    }
    let Some((&how, rest)) = input.split_first() else {
        return;
    };
    let Ok(secret) = Secret::of(Form::Dhchap, SECRET) else {
        return;
    };
    let names = Names {
        host: "nqn.2014-08.org.example:host".to_owned(),
        subsystem: "nqn.2014-08.org.example:drive".to_owned(),
    };
    let pair = Pair {
        host: &secret,
        controller: (how & 1 != 0).then_some(&secret),
    };
    let demand = Demand {
        hash: [Hash::Sha256, Hash::Sha384, Hash::Sha512, Hash::Sha256][usize::from(how >> 1 & 3)],
        // A group costs a millisecond, and its values are OpenSSL's to judge.
        group: DhGroup::Null,
    };
    let Ok(mut exchange) = Exchange::new(names, demand, pair) else {
        return;
    };
    // Messages with their lengths in front; 0 asks for one of ours.
    let mut rest = rest;
    while let Some((&length, after)) = rest.split_first() {
        let (message, after) = after.split_at(usize::from(length).min(after.len()));
        match length {
            0 => drop(exchange.give()),
            _ => exchange.take(message),
        }
        rest = after;
    }
    assert_ne!(
        exchange.outcome(),
        Some(Ok(())),
        "let in without the secret"
    );
}
