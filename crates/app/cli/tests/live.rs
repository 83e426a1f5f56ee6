//! `anabranch run`, `record` and `watch` as a person meets them: real eBPF, loop devices, file systems and
//! programs. Needs root. Where a machine cannot do it, these tests fail with the command's own reason.

#![cfg(feature = "live")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod scrape;

mod live {
    mod applications;
    mod ending;
    mod group;
    mod hostile;
    mod interruption;
    mod least;
    mod long_life;
    mod machine;
    mod readiness;
    mod recording;
    mod remains;
    mod rocksdb;
    mod support;
    mod tenants;
    mod watcher;
    mod watching;
    mod watching_on;
    mod workload;
    mod wrong_use;
}
