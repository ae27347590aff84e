//! Operators of ONNX that Relay has nothing for, and why.

/// An operator that is not imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    pub kind: &'static str,
    /// Lower case, no full stop.
    pub why: &'static str,
}

const fn no(kind: &'static str, why: &'static str) -> Refused {
    Refused { kind, why }
}

const SEQUENCE: &str = "Relay has no sequences";

/// Sorted by name.
pub const REFUSED: &[Refused] = &[
    no("ConcatFromSequence", SEQUENCE),
    no("SequenceAt", SEQUENCE),
    no("SequenceConstruct", SEQUENCE),
    no("SequenceEmpty", SEQUENCE),
    no("SequenceErase", SEQUENCE),
    no("SequenceInsert", SEQUENCE),
    no("SequenceLength", SEQUENCE),
    no("SequenceMap", SEQUENCE),
    no("SplitToSequence", SEQUENCE),
];
