//! The measurements of lifetimes that an experiment asks for.

use std::path::Path;

use anabranch_advice::{Grouping, lifetimes};
use serde::Serialize;

use super::{cell_findings::number, file::Lifetimes, grid::located};
use crate::{error::Result, progress::Bar, source};

/// Lifetimes found in one trace.
#[derive(Debug, Serialize)]
pub struct LifetimesFindings {
    pub name: String,
    pub trace: String,
    pub by: Vec<Grouping>,
}

impl LifetimesFindings {
    /// One figure of a grouping, or of one of its groups, as in `role/jbd2`.
    pub fn value(&self, by: &str, field: &str) -> Result<f64, String> {
        let find = |by: &str| self.by.iter().find(|found| found.by == by);
        let absent = || format!("{} has no {by}", self.name);
        let value = match (find(by), by.split_once('/')) {
            (Some(grouping), _) => serde_json::to_value(grouping),
            (None, Some((by, name))) => {
                let groups = find(by).map_or(&[][..], |grouping| &grouping.groups);
                let group = groups.iter().find(|group| group.name == name);
                serde_json::to_value(group.ok_or_else(absent)?)
            }
            (None, None) => return Err(absent()),
        };
        number(&value.map_err(|error| error.to_string())?, field)
    }
}

/// Measures the lifetimes that an experiment asks for.
pub fn measure(asked: &Lifetimes, root: &Path) -> Result<LifetimesFindings> {
    let source = source::open(&located(&asked.trace, root), None, false)?;
    let by = asked.by.iter().map(|by| {
        let found = lifetimes(&source, by, asked.streams, &mut Bar::default())?;
        Ok(found)
    });
    Ok(LifetimesFindings {
        name: asked.name.clone(),
        trace: asked.trace.clone(),
        by: by.collect::<Result<Vec<Grouping>>>()?,
    })
}
