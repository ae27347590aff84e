//! Registers branches and loops, which `import/control.rs` converts.

use super::super::control::{start_if, start_loop, start_scan};
use super::{Conversion, Converter};

const LOOP: &str = "a value whose rank or dtype changes from turn to turn; a scanned result of unknown shape";

pub(crate) const FAMILY: &[Converter] = &[
    Converter {
        kind: "If",
        versions: &[1, 11, 13, 16, 19, 21],
        how: Conversion::Control(start_if),
        limits: "branches of different dtypes, or of different ranks unless an open size of 1 decides; sequences and optional values",
    },
    Converter { kind: "Loop", versions: &[1, 11, 13, 16, 19, 21], how: Conversion::Control(start_loop), limits: LOOP },
    Converter {
        kind: "Scan",
        versions: &[9, 11, 16, 19, 21],
        how: Conversion::Control(start_scan),
        limits: "a scanned result of unknown shape; operator set 8, whose scan has a batch",
    },
];
