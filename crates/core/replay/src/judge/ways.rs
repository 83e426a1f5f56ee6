//! The other ways in words.

use super::{Known, percent, waf};
use crate::{
    verdict::DriveKind,
    ways::{Lever, OtherWay, OtherWays},
};

impl Known<'_> {
    /// The ordinary drive as it is, and each change to it that was measured.
    pub(super) fn other_ways(&self) -> Vec<OtherWay> {
        let (Some(ways), Some(before)) = (&self.outcome.other_ways, self.before) else {
            return Vec::new();
        };
        let way = |lever, words: String, spare, waf_then: Option<f64>| OtherWay {
            way: lever,
            words,
            spare,
            waf: waf_then,
            life: waf_then.map(|then| waf(before) / then),
        };
        let own = ways.spares.first().map(|first| first.spare);
        let as_it_is = format!("as it is, {} of spare", percent(own.unwrap_or(0.0)));
        let other = |lever, words: &str, waf: Option<f64>| {
            waf.map(|waf| way(lever, words.to_owned(), None, Some(waf)))
        };
        [
            Some(way(Lever::AsItIs, as_it_is, own, before.waf_window)),
            self.more_spare(ways)
                .map(|(words, spare, waf)| way(Lever::MoreSpare, words, Some(spare), Some(waf))),
            other(Lever::HalfAsFull, "half as full", ways.half_as_full),
            other(
                Lever::DailyDiscards,
                "with discards once a day",
                ways.daily_discards,
            ),
            other(Lever::NoDiscards, "without discards", ways.no_discards),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The spare that gives the WAF of streams, in words, with the WAF; or the most that was measured.
    fn more_spare(&self, ways: &OtherWays) -> Option<(String, f64, f64)> {
        let streams = waf(self.chosen(DriveKind::Sold)?);
        let own = percent(ways.spares.first()?.spare);
        if let Some(spare) = ways.spare_for(streams) {
            let words = format!(
                "{} of spare in place of {own}, as good as streams",
                percent(spare)
            );
            return Some((words, spare, streams));
        }
        let last = ways.spares.last().filter(|last| last.waf > streams)?;
        let words = format!(
            "{} of spare in place of {own}, not as good as streams",
            percent(last.spare)
        );
        Some((words, last.spare, last.waf))
    }
}
