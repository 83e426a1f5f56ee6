//! Schemes that must know the future.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use anabranch_placement::{Future, SchemeSpec};
use anabranch_ssd::profile::Profile;

#[test]
fn a_bound_without_a_future_says_how_to_get_one() {
    let profile = Profile::shipped("golden").unwrap();
    let drive = profile.resolve("golden").unwrap();
    for name in ["fk", "oracle", "oracle-rate", "oracle+gc"] {
        let spec: SchemeSpec = name.parse().unwrap();
        let drive = spec.drive(&drive);
        let words = spec.policy(&drive, None).err().unwrap().to_string();
        let steps = [name, "run -t trace.parquet", "replay trace.parquet"];
        assert!(steps.iter().all(|step| words.contains(step)), "{words}");
        assert!(
            spec.policy(&drive, Some(&Arc::new(Future::default())))
                .is_ok()
        );
    }
}
