//! `anabranch schemes` and `anabranch devices`: what there is.

use anabranch_compare::load;
use anabranch_placement::{Parameter, Rules, SCHEMES};
use anabranch_report::bytes;
use anabranch_ssd::{Config, Profile, RelocationKind, StreamCost};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::{
    arguments::{DevicesArguments, ListArguments},
    comparison::print,
    failure::Outcome,
};

/// Lists the schemes.
pub fn schemes(arguments: &ListArguments) -> Outcome {
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
        arguments.json,
        ["scheme", "description", "parameters", "source"],
        &rows,
        &format!(
            "Any host side combines with any relocation, `host+relocation`: {}.\n\
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

/// What a drive's streams take, as a comment that a profile may carry.
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
pub fn devices(arguments: &DevicesArguments) -> Outcome {
    if let Some(name) = &arguments.show {
        let profile = load(name)?;
        let config = profile.resolve(name)?;
        return match (arguments.json, Profile::text(name)) {
            (true, _) => print(&format!(
                "{:#}\n",
                json!({
                    "schema": 1,
                    "profile": profile,
                    "resolved": config,
                    "stream_costs": profile.stream_costs(&config),
                })
            )),
            (false, Some(text)) => print(&(text.to_owned() + &costs(&profile, &config))),
            (false, None) => {
                let text = toml::to_string(&profile).unwrap_or_default();
                print(&(text + &costs(&profile, &config)))
            }
        };
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
        .collect::<Outcome<Vec<_>>>()?;
    show(
        arguments.json,
        [
            "device",
            "size",
            "erase unit",
            "streams",
            "description",
            "source",
        ],
        &rows,
        "Streams: host + internal. `anabranch devices --show NAME` prints a profile to start from.\n",
    )
}

fn show<const N: usize>(
    as_json: bool,
    header: [&str; N],
    rows: &[[String; N]],
    note: &str,
) -> Outcome {
    if as_json {
        let objects: Vec<Value> = rows
            .iter()
            .map(|row| {
                header
                    .iter()
                    .zip(row)
                    .map(|(key, cell)| ((*key).replace(' ', "_"), json!(cell)))
                    .collect()
            })
            .collect();
        return print(&format!("{:#}\n", json!({ "schema": 1, "rows": objects })));
    }
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table.add_rows(rows.iter().cloned());
    print(&format!("{table}\n\n{note}"))
}
