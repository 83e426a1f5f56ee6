//! `anabranch schemes` and `anabranch devices`: lists of what can be chosen.

use anabranch_compare::load;
use anabranch_placement::{Parameter, Rules, SCHEMES};
use anabranch_report::{Cell, Column, Grid, bytes};
use anabranch_ssd::{Config, profile::Profile, relocate::RelocationKind, streams::StreamCost};
use serde_json::{Value, json};

use crate::{answer::AnswerArguments, arguments::DevicesArguments, error::Result};

/// Lists the schemes.
pub fn schemes(answer: &AnswerArguments) -> Result {
    let rows: Vec<[String; 4]> = SCHEMES
        .iter()
        .map(|scheme| {
            let mut host = (scheme.host)();
            let presets: Vec<&str> = host.presets().iter().map(|preset| preset.name).collect();
            let presets = format!("preset={}", presets.join("|"));
            let mut parameters: Vec<String> = host.parameters().iter().map(setting).collect();
            if !host.presets().is_empty() {
                parameters.insert(0, presets);
            }
            [
                scheme.name.to_owned(),
                scheme.summary.to_owned(),
                parameters.join(" "),
                scheme.source.to_owned(),
            ]
        })
        .collect();
    show(
        answer,
        ["scheme", "description", "parameters", "source"],
        &["parameters", "source"],
        &rows,
        &format!(
            "Any host half combines with any relocation, `host+relocation`: {}.\n\
             Parameters: `--scheme 'pcstream:samples=1000'`; a preset sets the others, what is \
             said besides wins.\n\
             Rules for `manual`: {}, or a TOML file.\n\
             Several programs on one drive: `:tenants=N` shares streams out fairly.\n",
            RelocationKind::ALL.map(RelocationKind::name).join(", "),
            Rules::shipped().collect::<Vec<_>>().join(", ")
        ),
    )
}

fn setting(parameter: &Parameter<'_>) -> String {
    format!("{}={}", parameter.key, parameter.value)
}

/// The cost of a drive's streams, as a comment for a profile.
fn costs(profile: &Profile, config: &Config) -> String {
    let costs = profile.stream_costs(config);
    let one = |kind: &str, count: u16, cost: &StreamCost| {
        format!(
            "# {count} {kind} streams, each: {} of buffer, {} of it protected from power loss, and {} of flash in \
             its open unit\n",
            bytes(cost.buffer_bytes),
            bytes(cost.protected_bytes),
            bytes(cost.open_unit_bytes),
        )
    };
    format!(
        "\n{}{}",
        one("host", costs.host_streams, &costs.host),
        one("internal", costs.internal_streams, &costs.internal)
    )
}

/// Lists the device profiles, or shows one.
pub fn devices(arguments: &DevicesArguments) -> Result {
    if let Some(name) = &arguments.show {
        let profile = load(name)?;
        let config = profile.resolve(name)?;
        let json = json!({
            "schema": 1,
            "profile": profile,
            "resolved": config,
            "stream_costs": profile.stream_costs(&config),
        });
        return arguments.answer.give(&json, |_| {
            let text = Profile::text(name).map(str::to_owned);
            let text = text.unwrap_or_else(|| toml::to_string(&profile).unwrap_or_default());
            text + &costs(&profile, &config)
        });
    }
    let rows = Profile::names()
        .map(|name| {
            let profile = load(name)?;
            let config = profile.resolve(name)?;
            Ok([
                name.to_owned(),
                bytes(config.logical_bytes()),
                bytes(config.unit_bytes()),
                format!("{}+{}", config.host_streams, config.internal_streams),
                profile.description.clone(),
                profile.source.clone(),
            ])
        })
        .collect::<Result<Vec<_>>>()?;
    show(
        &arguments.answer,
        [
            "device",
            "size",
            "erase unit",
            "streams",
            "description",
            "source",
        ],
        &["source"],
        &rows,
        "Streams: host + internal. `anabranch devices --show NAME` prints a profile to start from.\n",
    )
}

fn show<const N: usize>(
    answer: &AnswerArguments,
    header: [&str; N],
    dispensable: &[&str],
    rows: &[[String; N]],
    note: &str,
) -> Result {
    let objects = rows.iter().map(|row| {
        let cells = header.iter().zip(row);
        cells
            .map(|(key, cell)| ((*key).replace(' ', "_"), json!(cell)))
            .collect()
    });
    let objects: Vec<Value> = objects.collect();
    let json = json!({ "schema": 1, "rows": objects });
    answer.give(&json, |look| {
        let rank = |name: &str| u8::from(dispensable.contains(&name));
        let mut grid = Grid::new(header.map(|name| Column::words(name).rank(rank(name))));
        for row in rows {
            grid.push(row.iter().map(Cell::from));
        }
        if look.csv {
            format!("{}\n", grid.text(look))
        } else {
            format!("{}\n\n{note}", grid.text(look))
        }
    })
}
