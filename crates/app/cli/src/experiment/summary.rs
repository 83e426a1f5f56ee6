//! Experiments as text for people.

use anabranch_report::{cells, line, message};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::{
    cell_findings::{CellFindings, RunFindings},
    file::Experiment,
    findings::ExperimentFindings,
    lifetimes::LifetimesFindings,
};

pub fn list(experiments: &[Experiment]) -> String {
    let mut table = table(["experiment", "what", "published by"]);
    for one in experiments {
        table.add_row(cells([&one.name, &one.title, &one.source]));
    }
    format!("{table}\n")
}

/// The text of an experiment's findings. Claims come last, since they are what people look for.
pub fn found(found: &ExperimentFindings) -> String {
    let mut text = format!(
        "# {}: {}\n\n{}\n{}\n\n",
        line(&found.name),
        line(&found.title),
        line(&found.source),
        message(found.setup.trim())
    );
    for run in &found.runs {
        text += &format!("## {}\n\n{}\n\n", line(&run.name), results(run));
    }
    for lifetimes in &found.lifetimes {
        text += &format!(
            "## {}: lifetimes in {}\n\n{}\n\n",
            line(&lifetimes.name),
            line(&lifetimes.trace),
            groups(lifetimes)
        );
    }
    text += &format!("{}\n\n{}\n\n", claims(found), held(found));
    text
}

fn claims(found: &ExperimentFindings) -> Table {
    let mut table = table([
        "row",
        "claim",
        "published",
        "ours",
        "holds",
        "fill; unit; spare; steady",
        "why",
    ]);
    for claim in &found.claims {
        let holds = if claim.holds { "yes" } else { "no" };
        table.add_row(cells([
            &claim.row.to_string(),
            &claim.claim,
            &claim.published,
            &claim.ours,
            holds,
            &claim.basis.words(),
            &claim.why,
        ]));
    }
    table
}

fn held(found: &ExperimentFindings) -> String {
    let holding = found.claims.iter().filter(|claim| claim.holds).count();
    format!(
        "{holding} of {} claims hold (`{}`)",
        found.claims.len(),
        found.command
    )
}

fn results(run: &RunFindings) -> Table {
    let cells = &run.comparisons;
    let varied: Vec<&String> = cells.first().map_or_else(Vec::new, |first| {
        let differs = |key: &&String| {
            cells
                .iter()
                .any(|cell| cell.at.get(*key) != first.at.get(*key))
        };
        first.at.keys().filter(differs).collect()
    });
    let timed = cells
        .iter()
        .any(|cell| cell.throughput.iter().any(Option::is_some));
    let mut header: Vec<&str> = varied.iter().map(|key| key.as_str()).collect();
    header.extend([
        "unit",
        "spare",
        "scheme",
        "written",
        "WAF",
        "second half",
        "copied",
    ]);
    if timed {
        header.extend(["MiB/s", "worst", "write mean", "p99.9", "p99.99"]);
    }
    header.push("steady");
    let mut table = table(header);
    for column in table.column_iter_mut().skip(varied.len() + 3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for cell in cells {
        for index in 0..cell.schemes.len() {
            table.add_row(anabranch_report::cells(row(cell, index, &varied, timed)));
        }
    }
    table
}

fn row(cell: &CellFindings, index: usize, varied: &[&String], timed: bool) -> Vec<String> {
    let scheme = &cell.result.schemes[index];
    let device = &cell.result.device;
    let mut row: Vec<String> = varied
        .iter()
        .map(|key| cell.at.get(*key).cloned().unwrap_or_default())
        .collect();
    row.extend([
        anabranch_report::bytes(device.unit_bytes),
        format!("{:.1} %", 100.0 * cell.over_provisioning),
        cell.schemes[index].clone(),
        format!(
            "{:.1}×",
            scheme.host_page_bytes as f64 / device.logical_bytes.max(1) as f64
        ),
        anabranch_report::ratio(scheme.waf),
        anabranch_report::ratio(scheme.waf_second_half),
        anabranch_report::bytes(scheme.copied_bytes),
    ]);
    if timed {
        let milliseconds = |ns: f64| format!("{:.2} ms", ns / 1e6);
        match (&cell.throughput[index], &scheme.time) {
            (Some(throughput), Some(time)) => row.extend([
                format!("{:.0}", throughput.mib_per_second),
                format!("{:.0}", throughput.worst_mib_per_second),
                milliseconds(time.latency.write.mean_ns),
                milliseconds(time.latency.write.p99_9_ns as f64),
                milliseconds(time.latency.write.p99_99_ns as f64),
            ]),
            _ => row.extend(std::iter::repeat_n("-".to_owned(), 5)),
        }
    }
    row.push(if scheme.steady { "yes" } else { "no" }.to_owned());
    row
}

fn groups(found: &LifetimesFindings) -> Table {
    let mut table = table([
        "by",
        "explained",
        "spread",
        "group",
        "pages",
        "p25",
        "p50",
        "p75",
    ]);
    for column in table.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for grouping in &found.by {
        let explained = format!("{:.1} %", 100.0 * grouping.explained);
        let spread = format!("{:.2} octaves", grouping.spread_octaves);
        let all = format!("{} groups", grouping.groups_found);
        let pages = grouping.pages.to_string();
        table.add_row([
            grouping.by.clone(),
            explained,
            spread,
            all,
            pages,
            String::new(),
            String::new(),
            String::new(),
        ]);
        for group in grouping.groups.iter().filter(|_| grouping.by != "address") {
            table.add_row([
                grouping.by.clone(),
                String::new(),
                String::new(),
                group.name.clone(),
                group.pages.to_string(),
                group.p25_pages.to_string(),
                group.p50_pages.to_string(),
                group.p75_pages.to_string(),
            ]);
        }
    }
    table
}

fn table<T: Into<comfy_table::Row>>(header: T) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table
}
