use super::*;

const KIB: u64 = 1024;

fn step(moment: Moment, offset: u64, length: u64) -> Step {
    Step {
        moment,
        io: Io::write(offset * KIB, length * KIB),
    }
}

const ISSUE: Moment = Moment::Of(Event::Issue);
const QUEUE: Moment = Moment::Of(Event::Queue);
const COMPLETE: Moment = Moment::Of(Event::Complete);

fn counted(taken: Event, steps: &[Step]) -> (Vec<(u64, u64)>, InFlight) {
    let (mut flight, mut ios) = (InFlight::new(taken), Vec::new());
    flight.take(steps, &mut ios);
    flight.drain(&mut ios);
    let ranges = ios
        .iter()
        .map(|io| (io.offset_bytes / KIB, io.length_bytes / KIB));
    (ranges.collect(), flight)
}

#[test]
fn a_requeued_request_counts_once_however_often_it_is_issued() {
    let steps = [
        step(ISSUE, 0, 64),
        step(Moment::Requeue, 0, 64),
        step(ISSUE, 0, 64),
        step(Moment::Requeue, 0, 64),
        step(ISSUE, 0, 64),
        step(COMPLETE, 0, 64),
    ];
    let (ranges, flight) = counted(Event::Issue, &steps);
    assert_eq!(ranges, [(0, 64)]);
    assert_eq!(flight.disagreement(), None);
}

#[test]
fn a_request_that_is_done_in_parts_counts_its_bytes_once() {
    let steps = [
        step(ISSUE, 0, 64),
        step(COMPLETE, 0, 16),
        step(Moment::Requeue, 16, 48),
        step(ISSUE, 16, 48),
        step(COMPLETE, 16, 48),
    ];
    let (ranges, flight) = counted(Event::Issue, &steps);
    assert_eq!(ranges, [(0, 16), (16, 48)]);
    assert_eq!(flight.disagreement(), None);
    assert_eq!(counted(Event::Complete, &steps).0, [(0, 16), (16, 48)]);
}

#[test]
fn a_requeued_request_may_grow_before_it_is_issued_again() {
    let steps = [
        step(ISSUE, 0, 8),
        step(Moment::Requeue, 0, 8),
        step(ISSUE, 0, 24),
    ];
    assert_eq!(counted(Event::Issue, &steps).0, [(0, 24)]);
}

#[test]
fn a_requeue_long_after_its_issue_takes_back_the_next_issue() {
    let mut steps = vec![step(ISSUE, 0, 8)];
    steps.extend((1..=2 * MOST_HELD as u64).map(|place| step(ISSUE, place * 8, 8)));
    steps.extend([step(Moment::Requeue, 0, 8), step(ISSUE, 0, 16)]);
    let (ranges, _) = counted(Event::Issue, &steps);
    assert_eq!(ranges.len(), 2 * MOST_HELD + 2);
    assert_eq!((ranges[0], ranges.last()), ((0, 8), Some(&(8, 8))));
}

#[test]
fn a_requeue_of_a_request_before_the_trace_takes_nothing_back() {
    let steps = [step(Moment::Requeue, 0, 8), step(ISSUE, 0, 8)];
    assert_eq!(counted(Event::Issue, &steps).0, [(0, 8)]);
}

#[test]
fn a_requeue_takes_nothing_from_other_volumes_and_operations() {
    let mut other = step(Moment::Requeue, 0, 8);
    other.io.tenant = 1;
    let mut read = step(Moment::Requeue, 0, 8);
    read.io.operation = Operation::Read;
    let steps = [step(ISSUE, 0, 8), other, read];
    assert_eq!(counted(Event::Issue, &steps).0, [(0, 8)]);
}

#[test]
fn the_rest_of_a_split_that_is_queued_again_is_passed_over_once() {
    let steps = [
        step(QUEUE, 0, 256),
        step(Moment::Split, 128, 0),
        step(QUEUE, 128, 128),
        step(COMPLETE, 0, 128),
        step(COMPLETE, 128, 128),
        step(QUEUE, 128, 128),
    ];
    assert_eq!(counted(Event::Queue, &steps).0, [(0, 256), (128, 128)]);
    // New kernels do not queue the rest again: what follows its completion is another request.
    let steps = [&steps[..2], &steps[3..]].concat();
    assert_eq!(counted(Event::Queue, &steps).0, [(0, 256), (128, 128)]);
}

#[test]
fn bytes_that_are_issued_and_completed_are_compared_where_the_trace_has_both() {
    let twice = [
        step(ISSUE, 0, 64),
        step(ISSUE, 0, 64),
        step(COMPLETE, 0, 64),
    ];
    let (_, flight) = counted(Event::Issue, &twice);
    let words = flight.disagreement().unwrap();
    assert!(
        words.contains("131072 bytes and completion events 65536"),
        "{words}"
    );
    let (_, flight) = counted(Event::Issue, &twice[..2]);
    assert_eq!(flight.disagreement(), None);
}

#[test]
fn a_requeue_that_is_wider_by_a_merge_takes_back_what_was_issued() {
    // An older write of the same place is another request.
    for (offset, length, again) in [(8, 16, (8, 24)), (16, 16, (8, 24))] {
        let steps = [
            step(ISSUE, 0, 64),
            step(COMPLETE, 0, 64),
            step(ISSUE, offset, length),
            step(Moment::Requeue, 8, 24),
            step(ISSUE, 8, 24),
            step(COMPLETE, 8, 24),
        ];
        let (ranges, flight) = counted(Event::Issue, &steps);
        assert_eq!(ranges, [(0, 64), again]);
        assert_eq!(flight.disagreement(), None);
    }
}

#[test]
fn a_request_that_is_issued_again_keeps_its_context() {
    let by = |moment, offset, length, context| {
        let mut step = step(moment, offset, length);
        step.io.context = ContextId(context);
        step
    };
    let contexts = |steps: &[Step]| -> Vec<u32> {
        let (mut flight, mut ios) = (InFlight::new(Event::Issue), Vec::new());
        flight.take(steps, &mut ios);
        flight.drain(&mut ios);
        ios.iter().map(|io| io.context.0).collect()
    };
    let steps = [
        by(ISSUE, 0, 64, 7),
        by(Moment::Requeue, 0, 64, 0),
        by(ISSUE, 0, 32, 9),
        by(ISSUE, 32, 64, 9),
        by(COMPLETE, 0, 16, 0),
        by(Moment::Requeue, 16, 16, 0),
        by(ISSUE, 16, 16, 9),
        by(COMPLETE, 16, 16, 0),
        // Another request for the same bytes.
        by(ISSUE, 16, 16, 9),
    ];
    assert_eq!(contexts(&steps), [7, 7, 7, 9]);
    let failed = [
        by(ISSUE, 0, 8, 7),
        by(Moment::Requeue, 0, 8, 0),
        by(COMPLETE, 0, 8, 0),
        by(ISSUE, 0, 8, 9),
    ];
    assert_eq!(contexts(&failed), [9]);
    let mut flush = [
        by(ISSUE, 0, 0, 7),
        by(Moment::Requeue, 0, 0, 0),
        by(ISSUE, 0, 0, 9),
    ];
    flush
        .iter_mut()
        .for_each(|step| step.io.operation = Operation::Flush);
    assert_eq!(contexts(&flush), [7]);
}
