//! Several programs on one drive: the option that tells them apart, and what is told of them.

use anabranch_report::line;
use anabranch_trace::Tenant;
use clap::Args;

/// Tenants, for every verb that watches writers.
#[derive(Debug, Clone, Args)]
pub struct TenantArguments {
    /// A control group whose writes are those of one tenant, such as system.slice/mysql.service; in the last name a
    /// `*`, as in 'machine.slice/*.scope', makes each that it matches a tenant. May be given several times; directories
    /// `tenant-N` mean nothing then
    #[arg(long, value_name = "GROUP")]
    pub tenant: Vec<anabranch_probe::TenantGroup>,
}

/// A line for each tenant, and one for each sentence on what was not seen, tenants that wrote nothing among them, behind
/// the word `note`.
pub fn report_lines(
    tenants: &[Tenant],
    limitations: &[String],
    note: &str,
) -> impl Iterator<Item = String> {
    let tenants = tenants.iter().map(|tenant| line(&tenant.to_string()));
    let notes = limitations.iter();
    tenants.chain(notes.map(move |sentence| format!("{note}{}", line(sentence))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_come_first_and_each_sentence_is_one_line() {
        let tenants = [Tenant {
            number: 1,
            control_group: "a\nb".into(),
        }];
        let silent = "The control group c wrote nothing.".to_owned();
        let told: Vec<String> = report_lines(&tenants, &[silent], "note: ").collect();
        assert_eq!(told.len(), 2);
        assert!(
            told[0].starts_with("tenant 1: a") && !told[0].contains('\n'),
            "{told:?}"
        );
        assert_eq!(told[1], "note: The control group c wrote nothing.");
    }
}
