//! Claims: published figures, and whether they hold here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::basis::Basis;

/// The operation on two figures that gives the claim's figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// The first figure itself.
    #[default]
    Value,
    /// The first figure over the second.
    Ratio,
    /// The first figure over the second, less one; shown in percent.
    Change,
}

/// The condition under which a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Our figure differs from the published one by no more than the tolerance.
    #[default]
    About,
    /// Our figure is at least the published one less the tolerance.
    AtLeast,
    /// Our figure is at most the published one plus the tolerance.
    AtMost,
}

/// One name, or several over which the mean is taken.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ClaimNames {
    One(String),
    Mean(Vec<String>),
}

impl ClaimNames {
    pub fn all(&self) -> Vec<&str> {
        match self {
            ClaimNames::One(name) => vec![name],
            ClaimNames::Mean(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

/// A published figure, or a published order of schemes, and the place of our figure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// The claim as a sentence.
    pub claim: String,
    /// The figure, in the form of `show`: a change of 0.56 is +56 %.
    #[serde(default)]
    pub published: Option<f64>,
    /// Alternatively, an order of schemes by `field`, as in `baseline > pcstream >= hints`.
    #[serde(default)]
    pub order: Option<String>,
    /// The run, or several runs over which figures are averaged.
    pub run: ClaimNames,
    /// The options, with their values, that select comparisons of the run.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    /// The field of a scheme's result that is compared: `waf`, `time.latency.write.p99_9_ns`, …
    pub field: String,
    /// The scheme whose figure it is.
    #[serde(default)]
    pub of: String,
    /// The scheme that is compared with, by the same field.
    #[serde(default)]
    pub over: Option<String>,
    #[serde(default)]
    pub over_field: Option<String>,
    /// The run of the second figure, if it is another.
    #[serde(default)]
    pub over_run: Option<ClaimNames>,
    /// The options of the second figure, if they are others.
    #[serde(default)]
    pub over_at: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub show: Show,
    #[serde(default)]
    pub bound: Bound,
    /// The tolerance, in the form of `show`.
    #[serde(default)]
    pub tolerance: f64,
    /// Whether our figure is a band, from the least to the most over all comparisons of the run, which differ in what
    /// the publication does not tell. `at` is then the best guess, and the claim holds if the band contains the
    /// published figure.
    #[serde(default)]
    pub band: bool,
    /// The explanation of the difference, as other runs of the experiment show it.
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct ClaimAnswer {
    /// The claim's place in the experiment, from 1.
    pub row: usize,
    pub claim: String,
    pub published: String,
    pub ours: String,
    pub holds: bool,
    pub why: String,
    /// Our figure; absent for an order.
    pub value: Option<f64>,
    /// The band of figures, if the publication leaves settings open.
    pub band: Option<ClaimBand>,
    /// The field of a scheme's result that was compared.
    pub field: String,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

/// The band of figures over all comparisons that the publication may have meant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimBand {
    pub least: f64,
    pub most: f64,
    /// Distance of the best guess above or below the published figure, as a share of it.
    pub error: f64,
}

/// Names of schemes here, with the names that the publication uses.
pub type Called = BTreeMap<String, String>;

/// A source of figures for claims.
pub trait Figures {
    /// One figure, found by run, options, scheme and field.
    ///
    /// # Errors
    /// When there is no such figure, or more than one.
    fn one(
        &self,
        run: &str,
        at: &BTreeMap<String, String>,
        scheme: &str,
        field: &str,
    ) -> Result<f64, String>;

    /// A scheme's figures in all comparisons of a run.
    ///
    /// # Errors
    /// When one of them is missing.
    fn all(&self, run: &str, scheme: &str, field: &str) -> Result<Vec<f64>, String>;
}

impl Claim {
    /// The names of the runs that the claim refers to.
    pub fn runs(&self) -> Vec<&str> {
        let mut runs = self.run.all();
        runs.extend(self.over_run.iter().flat_map(ClaimNames::all));
        runs
    }

    /// Whether the claim looks at a run's comparison with these options.
    pub fn wants(&self, run: &str, options: &[(String, String)]) -> bool {
        if self.band && self.run.all().contains(&run) {
            return true;
        }
        let is_at = |at: &BTreeMap<String, String>| {
            options
                .iter()
                .all(|(key, value)| at.get(key).is_none_or(|wanted| wanted == value))
        };
        let over = self.over_run.as_ref().unwrap_or(&self.run);
        let over_at = self.over_at.as_ref().unwrap_or(&self.at);
        (self.run.all().contains(&run) && is_at(&self.at))
            || (over.all().contains(&run) && is_at(over_at))
    }

    /// Checks that the claim is complete.
    pub fn check(&self) -> Result<(), String> {
        let wrong = |problem| Err(format!("claim \"{}\" {problem}", self.claim));
        let is_one = self.order.is_none() && self.over.is_none() && self.run.all().len() == 1;
        match (self.published, &self.order, &self.over) {
            _ if self.band && !is_one => {
                wrong("has a band, which is of one scheme's figure in one run")
            }
            (None, None, _) => wrong("publishes neither a figure nor an order"),
            (Some(_), Some(_), _) => wrong("publishes both a figure and an order"),
            (Some(_), _, _) if self.of.is_empty() => wrong("does not say of which scheme"),
            (Some(_), _, None) if self.show != Show::Value => wrong("compares with nothing"),
            (Some(_), _, Some(_)) if self.show == Show::Value => wrong("is no comparison"),
            (_, Some(order), _) => chain(order).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Answers the claim. The caller adds the claim's place and the basis of the answer.
    ///
    /// # Errors
    /// When a run, a comparison, a scheme or a field does not exist.
    pub fn answer(&self, figures: &dyn Figures, called: &Called) -> Result<ClaimAnswer, String> {
        let answered = match &self.order {
            Some(order) => self.ordered(order, figures, called),
            None => self.measured(figures),
        };
        answered.map_err(|problem| format!("claim \"{}\": {problem}", self.claim))
    }

    fn answered(&self, published: String, ours: String, holds: bool) -> ClaimAnswer {
        ClaimAnswer {
            row: 0,
            claim: self.claim.clone(),
            published,
            ours,
            holds,
            why: self.why.clone(),
            value: None,
            band: None,
            field: self.field.clone(),
            basis: Basis::default(),
        }
    }

    fn measured(&self, figures: &dyn Figures) -> Result<ClaimAnswer, String> {
        let own = self.mean((&self.run, &self.at), &self.of, &self.field, figures)?;
        let ours = match &self.over {
            None => own,
            Some(over) => {
                let run = self.over_run.as_ref().unwrap_or(&self.run);
                let at = self.over_at.as_ref().unwrap_or(&self.at);
                let field = self.over_field.as_ref().unwrap_or(&self.field);
                let ratio = own / self.mean((run, at), over, field, figures)?;
                if self.show == Show::Change {
                    ratio - 1.0
                } else {
                    ratio
                }
            }
        };
        let published = self.published.unwrap_or(f64::NAN);
        if self.band {
            return self.banded(published, ours, figures);
        }
        let words = match self.bound {
            Bound::About => "",
            Bound::AtLeast => "at least ",
            Bound::AtMost => "at most ",
        };
        let published_words = format!("{words}{}", self.show(published));
        Ok(ClaimAnswer {
            value: ours.is_finite().then_some(ours),
            ..self.answered(
                published_words,
                self.show(ours),
                self.holds(published, ours),
            )
        })
    }

    fn banded(
        &self,
        published: f64,
        ours: f64,
        figures: &dyn Figures,
    ) -> Result<ClaimAnswer, String> {
        let mut all = Vec::new();
        for run in self.run.all() {
            all.extend(figures.all(run, &self.of, &self.field)?);
        }
        let band = ClaimBand {
            least: all.iter().copied().fold(f64::INFINITY, f64::min),
            most: all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            error: ours / published - 1.0,
        };
        let [least, most] = [band.least, band.most].map(|one| self.show(one));
        let shown = format!(
            "{}, {:+.1} % ({least} to {most})",
            self.show(ours),
            100.0 * band.error
        );
        let slack = self.tolerance + 1e-9;
        let holds = (band.least - slack..=band.most + slack).contains(&published);
        Ok(ClaimAnswer {
            value: ours.is_finite().then_some(ours),
            band: Some(band),
            ..self.answered(self.show(published), shown, holds)
        })
    }

    fn holds(&self, published: f64, ours: f64) -> bool {
        // What people read is rounded; so is what is held to be equal.
        let slack = self.tolerance + 1e-9;
        match self.bound {
            Bound::About => (ours - published).abs() <= slack,
            Bound::AtLeast => ours >= published - slack,
            Bound::AtMost => ours <= published + slack,
        }
    }

    fn ordered(
        &self,
        order: &str,
        figures: &dyn Figures,
        called: &Called,
    ) -> Result<ClaimAnswer, String> {
        let links = chain(order)?;
        let mut found: Vec<f64> = Vec::new();
        for (_, scheme) in &links {
            found.push(self.mean((&self.run, &self.at), scheme, &self.field, figures)?);
        }
        let pairs = found.windows(2).zip(&links[1..]);
        let holds = pairs.into_iter().all(|(pair, (sign, _))| match *sign {
            ">=" => pair[0] >= pair[1] * (1.0 - self.tolerance),
            _ => pair[0] > pair[1],
        });
        let name = |scheme: &str| called.get(scheme).map_or(scheme, String::as_str).to_owned();
        let shown = links
            .iter()
            .zip(&found)
            .map(|((_, scheme), value)| format!("{} {}", name(scheme), self.show_one(*value)));
        let published = links
            .iter()
            .map(|(sign, scheme)| format!("{sign} {}", name(scheme)).trim().to_owned());
        Ok(self.answered(
            published.collect::<Vec<_>>().join(" "),
            shown.collect::<Vec<_>>().join(", "),
            holds,
        ))
    }

    fn mean(
        &self,
        (runs, at): (&ClaimNames, &BTreeMap<String, String>),
        scheme: &str,
        field: &str,
        figures: &dyn Figures,
    ) -> Result<f64, String> {
        let runs = runs.all();
        let mut sum = 0.0;
        for run in &runs {
            sum += figures.one(run, at, scheme, field)?;
        }
        Ok(sum / runs.len().max(1) as f64)
    }

    /// One figure of an order as text, bytes with their unit.
    fn show_one(&self, value: f64) -> String {
        if self.field.ends_with("_bytes") {
            anabranch_report::bytes(value as u64)
        } else {
            self.show(value)
        }
    }

    fn show(&self, value: f64) -> String {
        match self.show {
            Show::Change => format!("{:+.1} %", value * 100.0),
            Show::Ratio => format!("{value:.2}×"),
            Show::Value if value.abs() >= 1000.0 => format!("{value:.0}"),
            Show::Value => format!("{value:.3}"),
        }
    }
}

/// The schemes of an order, each with the sign before it; the first has no sign.
fn chain(order: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut words = order.split_whitespace();
    let mut links = vec![("", words.next().ok_or("an order names schemes")?)];
    while let Some(sign) = words.next() {
        let scheme = words.next();
        match (sign, scheme) {
            (">" | ">=", Some(scheme)) => links.push((sign, scheme)),
            _ => return Err(format!("\"{order}\" is no order: write a > b >= c")),
        }
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str) -> Claim {
        let claim: Claim = toml::from_str(&format!(
            "claim = \"c\"\nrun = [\"a\", \"b\"]\nfield = \"waf\"\n{text}"
        ))
        .unwrap();
        claim.check().unwrap();
        claim
    }

    /// Run a: 2, 3, 4; run b: 4, 5, 6.
    struct ExperimentFindings;

    impl Figures for ExperimentFindings {
        fn one(
            &self,
            run: &str,
            _: &BTreeMap<String, String>,
            scheme: &str,
            _: &str,
        ) -> Result<f64, String> {
            let base = if run == "a" { 2.0 } else { 4.0 };
            match scheme {
                "x" => Ok(base),
                "y" => Ok(base + 1.0),
                "z" => Ok(base + 2.0),
                _ => Err(format!("no {scheme}")),
            }
        }

        fn all(&self, _: &str, _: &str, _: &str) -> Result<Vec<f64>, String> {
            Ok(vec![2.5, 2.0, 3.0])
        }
    }

    fn answer(text: &str) -> ClaimAnswer {
        let called = Called::from([("x".to_owned(), "Nothing".to_owned())]);
        claim(text).answer(&ExperimentFindings, &called).unwrap()
    }

    #[test]
    fn a_band_holds_what_lies_in_it() {
        let banded = |published: f64| {
            let text = format!(
                "claim = \"c\"\nrun = \"a\"\nfield = \"waf\"\nof = \"x\"\nband = true\npublished = {published}"
            );
            let claim: Claim = toml::from_str(&text).unwrap();
            claim.check().unwrap();
            claim.answer(&ExperimentFindings, &Called::new()).unwrap()
        };
        let inside = banded(2.5);
        assert_eq!(
            (inside.ours.as_str(), inside.holds),
            ("2.000, -20.0 % (2.000 to 3.000)", true)
        );
        assert!(!banded(1.9).holds && !banded(3.1).holds);
    }

    #[test]
    fn a_change_is_of_the_means_over_runs() {
        let change = answer(
            "published = -0.25\ntolerance = 0.01\nof = \"x\"\nover = \"y\"\nshow = \"change\"",
        );
        assert_eq!((change.ours.as_str(), change.holds), ("-25.0 %", true));
        let more = answer(
            "published = -0.3\nbound = \"at-most\"\nof = \"x\"\nover = \"y\"\nshow = \"change\"",
        );
        assert_eq!(
            (more.published.as_str(), more.holds),
            ("at most -30.0 %", false)
        );
    }

    #[test]
    fn an_order_is_held_sign_by_sign() {
        assert!(answer("order = \"z > y >= x\"").holds);
        assert!(!answer("order = \"z > y > z\"").holds);
        assert!(answer("order = \"z > y >= y\"").holds);
        assert!(answer("order = \"x >= y\"\ntolerance = 0.3").holds);
        assert_eq!(answer("order = \"z > x\"").ours, "z 5.000, Nothing 3.000");
    }

    #[test]
    fn a_claim_that_claims_nothing_is_refused() {
        let checked = |text: &str| {
            let claim: Claim = toml::from_str(&format!(
                "claim = \"c\"\nrun = \"a\"\nfield = \"waf\"\n{text}"
            ))
            .unwrap();
            claim.check()
        };
        for wrong in [
            "",
            "published = 1",
            "published = 1\nof = \"x\"\nshow = \"ratio\"",
            "published = 1\nof = \"x\"\nover = \"y\"",
            "order = \"a < b\"",
            "order = \"a >\"",
            "published = 1\nof = \"x\"\nover = \"y\"\nshow = \"ratio\"\nband = true",
            "order = \"a > b\"\nband = true",
        ] {
            assert!(checked(wrong).is_err(), "{wrong}");
        }
        assert!(
            toml::from_str::<Claim>("claim = \"c\"\nrun = \"a\"\nfield = \"waf\"\nwhat = 1")
                .is_err()
        );
    }
}
