//! `anabranch workloads`: the scenarios there are.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::json;

use crate::{
    arguments::ListArguments,
    comparison::print,
    failure::Outcome,
    scenario::{Scale, Scenario, all},
};

/// Lists the scenarios, and what each still needs.
pub fn workloads(arguments: &ListArguments) -> Outcome {
    let scenarios = all(Scale::Quick)?;
    if arguments.json {
        let rows: Vec<_> = scenarios.iter().map(row).collect();
        return print(&format!("{:#}\n", json!({ "schema": 1, "rows": rows })));
    }
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["workload", "description", "writes", "missing"]);
    for one in &scenarios {
        let missing = one.missing().join(", ");
        table.add_row([&one.name, &one.summary, &one.writes, &missing]);
    }
    print(&format!(
        "{table}\n\nAs root: `anabranch run --workload NAME [--size quick|full] [--file-system ext4|xfs]`. \
         What is missing, all at once: `scripts/setup.sh workloads`.\n"
    ))
}

fn row(one: &Scenario) -> serde_json::Value {
    json!({
        "name": one.name,
        "summary": one.summary,
        "writes": one.writes,
        "drive": one.drive,
        "unit": one.unit,
        "parameters": one.parameters,
        "missing": one.missing(),
    })
}
