//! The settings of a scheme, which stand behind its `:`.

use crate::{
    error::{DidYouMean, SchemeError},
    rules::ReadText,
    scheme::HostScheme,
    tenants::MAX_TENANTS,
};

/// The key that names a [`Preset`](crate::scheme::Preset).
const PRESET: &str = "preset";
/// The key that says among how many tenants streams are shared out.
const TENANTS: &str = "tenants";

/// A parameter's name and its value, as people write them.
pub(crate) type Pair = (String, String);

/// What settings come to.
pub(crate) struct Applied {
    /// Every parameter and its value.
    pub parameters: Vec<Pair>,
    /// Those that must be written to get the same again.
    pub changes: Vec<Pair>,
    /// Tenants that streams are shared out among; 1 where they are not.
    pub tenants: u16,
}

/// Gives `host` what `text` says: a preset first, wherever it stands, then the rest.
pub(crate) fn apply(
    host: &mut dyn HostScheme,
    scheme: &str,
    text: Option<&str>,
    read: &ReadText<'_>,
) -> Result<Applied, SchemeError> {
    let mut given = match text {
        Some(text) => pairs(scheme, text)?,
        None => Vec::new(),
    };
    let (mut parameters, mut changes) = (Vec::new(), Vec::new());
    if let Some(default) = host.presets().first() {
        let named = take(&mut given, PRESET);
        let preset = apply_preset(host, scheme, named.unwrap_or(default.name), read)?;
        parameters.push((PRESET.to_owned(), preset.to_owned()));
        if preset != default.name {
            changes.extend_from_slice(&parameters);
        }
    }
    let tenants = match take(&mut given, TENANTS) {
        Some(text) => tenants(scheme, text)?,
        None => 1,
    };
    let before = values(host);
    for (key, value) in given {
        set(host, scheme, key, value, read)?;
    }
    let after = values(host);
    changes.extend(after.iter().filter(|pair| !before.contains(pair)).cloned());
    parameters.extend(after);
    if tenants > 1 {
        let pair = (TENANTS.to_owned(), tenants.to_string());
        changes.push(pair.clone());
        parameters.push(pair);
    }
    Ok(Applied {
        parameters,
        changes,
        tenants,
    })
}

/// `key=value,…`, each key once.
fn pairs<'a>(scheme: &str, text: &'a str) -> Result<Vec<(&'a str, &'a str)>, SchemeError> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for setting in text.split(',') {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(SchemeError::NotAPair {
                scheme: scheme.to_owned(),
                text: setting.to_owned(),
            });
        };
        let (key, value) = (key.trim(), value.trim());
        if pairs.iter().any(|pair| pair.0 == key) {
            return Err(SchemeError::GivenTwice {
                scheme: scheme.to_owned(),
                key: key.to_owned(),
            });
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

fn take<'a>(given: &mut Vec<(&'a str, &'a str)>, key: &str) -> Option<&'a str> {
    let at = given.iter().position(|pair| pair.0 == key)?;
    Some(given.remove(at).1)
}

fn apply_preset(
    host: &mut dyn HostScheme,
    scheme: &str,
    name: &str,
    read: &ReadText<'_>,
) -> Result<&'static str, SchemeError> {
    let presets = host.presets();
    let Some(preset) = presets.iter().find(|preset| preset.name == name) else {
        let names: Vec<&str> = presets.iter().map(|preset| preset.name).collect();
        let expected = format!("one of {}", names.join(", "));
        return Err(bad_value(scheme, PRESET, name, expected));
    };
    for (key, value) in preset.settings {
        set(host, scheme, key, value, read)?;
    }
    Ok(preset.name)
}

fn tenants(scheme: &str, text: &str) -> Result<u16, SchemeError> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=MAX_TENANTS).contains(number))
        .ok_or_else(|| {
            let expected = format!("a whole number from 1 to {MAX_TENANTS}");
            bad_value(scheme, TENANTS, text, expected)
        })
}

fn set(
    host: &mut dyn HostScheme,
    scheme: &str,
    key: &str,
    value: &str,
    read: &ReadText<'_>,
) -> Result<(), SchemeError> {
    let has_presets = !host.presets().is_empty();
    let mut parameters = host.parameters();
    let Some(parameter) = parameters.iter_mut().find(|parameter| parameter.key == key) else {
        let mut keys: Vec<&'static str> = parameters.iter().map(|one| one.key).collect();
        keys.extend(has_presets.then_some(PRESET));
        return Err(SchemeError::UnknownParameter {
            scheme: scheme.to_owned(),
            key: key.to_owned(),
            suggestion: DidYouMean::among(keys.iter().copied().chain([TENANTS]), key),
            known: match &keys[..] {
                [] => format!("it takes none but {TENANTS}"),
                _ => format!("it takes {}, {TENANTS}", keys.join(", ")),
            },
        });
    };
    parameter
        .set(value, read)
        .map_err(|expected| bad_value(scheme, key, value, expected))
}

fn bad_value(scheme: &str, key: &str, value: &str, expected: String) -> SchemeError {
    SchemeError::BadValue {
        scheme: scheme.to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
        expected,
    }
}

fn values(host: &mut dyn HostScheme) -> Vec<Pair> {
    let parameters = host.parameters().into_iter();
    parameters
        .map(|p| (p.key.to_owned(), p.value.to_string()))
        .collect()
}

/// Pairs as they are written behind a name.
pub(crate) fn written(pairs: &[Pair]) -> String {
    let settings: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if settings.is_empty() {
        String::new()
    } else {
        format!(":{}", settings.join(","))
    }
}
