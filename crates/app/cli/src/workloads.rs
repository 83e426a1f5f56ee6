//! `anabranch workloads`: the scenarios there are.

use anabranch_report::{Cell, Column, Grid};
use serde_json::json;

use crate::{
    answer::AnswerArguments,
    error::Result,
    scenario::{Scale, Scenario, all},
};

/// Lists the scenarios, and what each still needs.
pub fn workloads(answer: &AnswerArguments) -> Result {
    let scenarios = all(Scale::Quick)?;
    let rows: Vec<_> = scenarios.iter().map(row).collect();
    let json = json!({ "schema": 1, "rows": rows });
    answer.give(&json, |look| {
        let columns = ["workload", "description", "writes", "missing"];
        let mut grid = Grid::new(columns.map(|name| Column::words(name).rank(u8::from(name == "writes"))));
        for one in &scenarios {
            let missing = one.missing().join(", ");
            grid.push([&one.name, &one.summary, &one.writes, &missing].map(Cell::from));
        }
        let table = grid.text(look);
        if look.csv { format!("{table}\n") } else { format!(
            "{table}\n\nAs root: `anabranch run --workload NAME [--size quick|full] [--file-system ext4|xfs]`. \
             What is missing, all at once: `scripts/setup.sh workloads`.\n"
        ) }
    })
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
