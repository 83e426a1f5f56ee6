use anabranch_ssd::{Config, profile::Profile};
use anabranch_trace::ContextId;

use super::*;

fn drive() -> Config {
    let profile = Profile::shipped("demo").unwrap();
    profile.resolve("demo").unwrap()
}

fn write(page: u64, pages: u64, context: u32) -> Io {
    Io {
        context: ContextId(context),
        ..Io::write(page * 4096, pages * 4096)
    }
}

#[test]
fn a_context_is_told_with_its_bytes_and_the_lives_of_its_data() {
    let mut survey = Survey::new(&drive());
    [write(0, 10, 1), write(100, 30, 2), write(0, 10, 1)]
        .iter()
        .for_each(|io| survey.apply(io));
    let details = survey.details(&[]);
    let ids: Vec<(u32, u64)> = details
        .contexts
        .iter()
        .map(|context| (context.id, context.written_bytes))
        .collect();
    assert_eq!(ids, [(2, 30 * 4096), (1, 20 * 4096)]);
    let lives = &details.contexts[1].lives;
    assert_eq!(lives.ended_bytes, 10 * 4096);
    assert_eq!(lives.quantiles_bytes, [40 * 4096; 5]);
    assert_eq!(lives.classes_bytes, [10 * 4096]);
    assert_eq!(lives.first_class, 10);
    assert!(details.contexts[0].lives.quantiles_bytes.is_empty());
}

#[test]
fn the_sample_is_bounded_and_evenly_spread() {
    let mut survey = Survey::new(&drive());
    for round in 0..100 {
        for part in 0..8 {
            survey.apply(&write(part * 1000, 1000, 1 + (round % 3) as u32));
        }
    }
    let points = survey.details(&[]).points;
    assert_eq!(points.of_pages, 99 * 8000);
    let count = points.offset_bytes.len();
    assert!((1000..=2000).contains(&count), "{count}");
    assert!(
        points
            .lifetime_bytes
            .iter()
            .all(|&life| life == 8000 * 4096)
    );
    let low = points.offset_bytes.iter().filter(|&&at| at < 4000 * 4096);
    let share = low.count() as f64 / count as f64;
    assert!((share - 0.5).abs() < 0.05, "{share}");
}

#[test]
fn contexts_beyond_the_bound_are_told_in_sum() {
    let mut survey = Survey::new(&drive());
    for context in 1..=300 {
        survey.apply(&write(u64::from(context), 1, context));
    }
    let details = survey.details(&[]);
    assert_eq!(details.contexts.len(), 256);
    assert_eq!(details.unlisted_contexts, 44);
    assert_eq!(details.unlisted_bytes, 44 * 4096);
}
