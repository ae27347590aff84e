//! The seeds of random tests.

use std::ops::Range;

/// The first `count` seeds, or those that `RELAYC_SEEDS=FROM..TO` names.
pub fn seeds(count: u64) -> Range<u64> {
    let Ok(range) = std::env::var("RELAYC_SEEDS") else { return 0..count };
    let named = range.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    named.unwrap_or_else(|| panic!("RELAYC_SEEDS={range}: FROM..TO is expected"))
}
