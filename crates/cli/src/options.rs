//! Arguments as the options they stand for.

use anabranch_compare::{
    ComparisonOptions, DriveOptions, Issue as Pace, ReplayOptions, TimeOptions,
};

use crate::arguments::{
    ComparisonArguments, DriveArguments, Issue, ReplayArguments, TimeArguments,
};

impl From<&DriveArguments> for DriveOptions {
    fn from(arguments: &DriveArguments) -> DriveOptions {
        let arguments = arguments.clone();
        DriveOptions {
            profiles: arguments.profiles,
            size: arguments.size,
            over_provisioning: arguments.over_provisioning,
            unit: arguments.unit,
            victim: arguments.victim,
            streams: arguments.streams,
            internal_streams: arguments.internal_streams,
            levelling: arguments.levelling,
            rated_erases: arguments.rated_erases,
            fault: arguments.fault,
        }
    }
}

impl From<&ComparisonArguments> for ComparisonOptions {
    fn from(arguments: &ComparisonArguments) -> ComparisonOptions {
        ComparisonOptions {
            schemes: arguments.schemes.clone(),
            relocation: arguments.relocation.clone(),
            profile: arguments.profile.clone(),
            seed: arguments.seed,
            threads: arguments.threads,
            details: arguments.wants_details(),
        }
    }
}

impl From<&TimeArguments> for TimeOptions {
    fn from(arguments: &TimeArguments) -> TimeOptions {
        let issue = arguments.time.map(|issue| match issue {
            Issue::Closed => Pace::Closed,
            Issue::Open => Pace::Open,
        });
        TimeOptions {
            issue,
            queue_depth: arguments.queue_depth,
            time_scale: arguments.time_scale,
            collect_after_idle: arguments.collect_after_idle,
        }
    }
}

impl From<&ReplayArguments> for ReplayOptions {
    fn from(arguments: &ReplayArguments) -> ReplayOptions {
        ReplayOptions {
            drive: (&arguments.drive).into(),
            comparison: (&arguments.comparison).into(),
            time: (&arguments.time).into(),
            fill: arguments.fill.clone(),
            pack: arguments.pack,
            no_discards: arguments.no_discards,
            drive_file: arguments.drive_file.clone(),
            quick: arguments.quick,
        }
    }
}
