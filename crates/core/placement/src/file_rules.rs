//! Rules that say a class for a whole file.

use crate::{
    rules::{Rule, Rules},
    spec::SchemeSpec,
};

/// Those rules of a set that ask for nothing but a file's name and its tenant. Of these, the first that matches decides,
/// as in the scheme `manual`.
#[derive(Debug, Clone)]
pub struct FileRules {
    rules: Vec<Rule>,
    left_out: Vec<usize>,
}

impl FileRules {
    /// A scheme as far as it says a class for each file, by the file's name and tenant alone.
    ///
    /// # Errors
    /// When it says none; the error is a sentence with the reason.
    pub fn of(spec: &SchemeSpec) -> Result<FileRules, String> {
        let name = spec.name();
        match spec.rules() {
            None => Err(format!(
                "{name} goes by who writes which page and when, and a file may hold pages of several classes: `manual` \
                 says a class for each file"
            )),
            Some((rules, 1)) => FileRules::of_set(rules),
            Some(_) => Err(format!(
                "{name} shares streams out as tenants come: rules with `tenant = N` say a class for each file"
            )),
        }
    }

    fn of_set(rules: &Rules) -> Result<FileRules, String> {
        let all = rules.rules();
        let places = 1..=all.len();
        let left_out = places.zip(all).filter(|(_, rule)| !is_of_files(rule));
        let left_out: Vec<usize> = left_out.map(|(place, _)| place).collect();
        if left_out.len() == all.len() {
            return Err(format!(
                "no rule of {} goes by a file's name or tenant alone: `file = \"*.log\"` does, without another condition",
                rules.name()
            ));
        }
        let kept = all.iter().filter(|rule| is_of_files(rule));
        Ok(FileRules {
            rules: kept.cloned().collect(),
            left_out,
        })
    }

    /// The stream of a file: of the first rule that matches; 0 if none does.
    pub fn stream(&self, name: &str, tenant: u32) -> u16 {
        let matches = |rule: &&Rule| {
            rule.file.as_ref().is_none_or(|glob| glob.0.matches(name))
                && rule.tenant.is_none_or(|wanted| wanted == tenant)
        };
        self.rules
            .iter()
            .find(matches)
            .map_or(0, |rule| rule.stream)
    }

    /// Whether a rule asks for a file's tenant.
    pub fn goes_by_tenant(&self) -> bool {
        self.rules.iter().any(|rule| rule.tenant.is_some())
    }

    /// The rules left out, by their places in the set, counted from 1: they ask who writes, where or with which hint.
    pub fn left_out(&self) -> &[usize] {
        &self.left_out
    }
}

fn is_of_files(rule: &Rule) -> bool {
    rule.role.is_none()
        && rule.kind.is_none()
        && rule.hint.is_none()
        && rule.context.is_none()
        && rule.from_byte.is_none()
        && rule.to_byte.is_none()
        && (rule.file.is_some() || rule.tenant.is_some())
}

#[cfg(test)]
mod tests {
    use crate::SchemeSpec;

    fn rules(text: &'static str) -> Result<super::FileRules, String> {
        let spec = SchemeSpec::read("manual:rules=own", &|_| Ok(text.to_owned()));
        super::FileRules::of(&spec.unwrap())
    }

    #[test]
    fn the_first_rule_of_names_and_tenants_decides() {
        let rules = rules(
            "[[rule]]\nfile = \"*.sst\"\nrole = \"high\"\nstream = 4\n\
             [[rule]]\nfile = \"*.sst\"\ntenant = 7\nstream = 3\n\
             [[rule]]\nfile = \"*.sst\"\nstream = 2\n[[rule]]\nstream = 9\n",
        )
        .unwrap();
        assert_eq!(rules.left_out(), [1, 4]);
        let streams = [("1.sst", 7), ("1.sst", 0), ("log", 7)];
        assert_eq!(streams.map(|(name, of)| rules.stream(name, of)), [3, 2, 0]);
    }

    #[test]
    fn what_says_no_class_for_a_file_is_refused_with_the_reason() {
        let error = rules("[[rule]]\nrole = \"x\"\nstream = 1\n").unwrap_err();
        assert!(error.contains("no rule of own"), "{error}");
        for (scheme, reason) in [
            ("anabranch", "who writes which page"),
            ("hints", "who writes which page"),
            ("manual:tenants=2", "tenant = N"),
        ] {
            let spec: SchemeSpec = scheme.parse().unwrap();
            let error = super::FileRules::of(&spec).unwrap_err();
            assert!(error.contains(reason), "{scheme}: {error}");
        }
        let common: SchemeSpec = "manual".parse().unwrap();
        assert_eq!(
            super::FileRules::of(&common).unwrap().stream("a.db-wal", 0),
            1
        );
    }
}
