//! Reasons: why a contraction uses one method and not another, with the numbers that decided.

use super::rows::{FEW_POINTS, NEAR_WEIGHTS};
use super::winograd::{self, GAIN, Size};
use super::{Choice, ContractionCode, cycles};
use relayc_ir::kernel::{Alternative, Contraction, Reason, Rejection, Target, ns_of_cycles};

fn tile(choice: &Choice, points: u64) -> String {
    let (rows, points) = (choice.cut.rows, choice.cut.most.min(points));
    let over = if rows > 1 { format!(" over {rows} rows") } else { String::new() };
    let plural = if points == 1 { "" } else { "s" };
    format!("direct, tiles of {points} point{plural}{over} x {} vectors", choice.vectors)
}

/// The reason for tiles of points and column vectors.
pub(crate) fn direct(code: &ContractionCode, target: &Target) -> Reason {
    let Some(choice) = code.tile else { return Reason::only("direct", "the caller chose") };
    let points = code.work.bands.iter().sum();
    let of = |choice: Choice| code.weighed.iter().find(|one| one.choice == choice).map(|one| ns_of_cycles(one.cycles));
    let mut others: Vec<_> = code.weighed.iter().filter(|one| one.choice != choice).collect();
    others.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
    Reason {
        name: tile(&choice, points),
        why: format!("the least estimate of the tiles that fit {} registers, {}", target.registers, code.describe()),
        ns: of(choice),
        alternatives: others
            .into_iter()
            .take(SHOWN)
            .map(|one| Alternative { name: tile(&one.choice, points), rejection: Rejection::Ns(ns_of_cycles(one.cycles)) })
            .collect(),
    }
}

/// Number of rejected tiles to show.
const SHOWN: usize = 2;

/// The reason for reading weights by rows.
pub(crate) fn rows(contract: &Contraction, constant: bool, target: &Target) -> Reason {
    let why = match constant {
        true => {
            format!("at most {FEW_POINTS} points, over {} MiB of weights: the memory bounds every kernel", NEAR_WEIGHTS >> 20)
        }
        false => format!("at most {FEW_POINTS} points: packing what is no constant would cost more than it saves"),
    };
    let direct = cycles(contract, target).map(|cycles| Rejection::Ns(ns_of_cycles(cycles)));
    Reason {
        name: "rows of weights".into(),
        why,
        ns: None,
        alternatives: direct.map(|said| Alternative { name: "direct".into(), rejection: said }).into_iter().collect(),
    }
}

pub(crate) fn no_rows(packs: bool) -> Alternative {
    let why = match packs {
        true => "constants near by are packed once, and columns add no lanes",
        false => "rows or points do not lie one after another, or are too many for the registers",
    };
    Alternative { name: "rows of weights".into(), rejection: Rejection::No(why) }
}

/// The reason for the depthwise method.
pub(crate) fn depthwise(contract: &Contraction) -> Reason {
    let taps: Vec<String> = contract.sum.iter().filter(|dim| dim.extent > 1).map(|dim| dim.extent.to_string()).collect();
    let window = if taps.is_empty() { "1".to_owned() } else { taps.join("x") };
    Reason::only(format!("depthwise, window {window}"), "each channel has a sum of its own")
}

fn name(size: Size) -> String {
    let (m, r) = (size.outputs(), size.taps());
    format!("winograd F({m}x{m},{r}x{r})")
}

/// The alternatives to the chosen tile of outputs.
fn left(weighed: &winograd::Comparison, taken: Option<usize>) -> Vec<Alternative> {
    let said =
        |cycles: &Result<f64, &'static str>| cycles.map_or_else(Rejection::No, |cycles| Rejection::Ns(ns_of_cycles(cycles)));
    let sizes = weighed.sizes.iter().filter(|(size, _)| Some(size.outputs()) != taken);
    let sizes = sizes.map(|(size, cycles)| Alternative { name: name(*size), rejection: said(cycles) });
    let direct = weighed.direct.filter(|_| taken.is_some()).map(|cycles| Rejection::Ns(ns_of_cycles(cycles)));
    direct.map(|said| Alternative { name: "direct".into(), rejection: said }).into_iter().chain(sizes).collect()
}

/// The reason for Winograd's method.
pub(crate) fn winograd(code: &winograd::Winograd, contract: &Contraction, weighed: &winograd::Comparison) -> Reason {
    let own = weighed.sizes.iter().find(|(size, _)| size.outputs() == code.outputs());
    let map = match &contract.points[..] {
        [.., height, width] => format!("{}x{}", height.extent, width.extent),
        _ => String::new(),
    };
    let (side, stride) = (code.window, code.stride);
    let channels: u64 = contract.sum.iter().map(|dim| dim.extent).product::<u64>() / (side * side);
    Reason {
        name: own.map_or_else(String::new, |(size, _)| name(*size)),
        why: format!(
            "{side}x{side} with stride {stride}, {map}, {channels} to {} channels: the least estimate, by a tenth or more",
            contract.columns
        ),
        ns: own.and_then(|(_, cycles)| cycles.ok()).map(ns_of_cycles),
        alternatives: left(weighed, Some(code.outputs())),
    }
}

/// The reason for the direct sum where Winograd's method was considered.
pub(crate) fn not_winograd(direct: Reason, contract: &Contraction, weighed: &winograd::Comparison) -> Reason {
    if !winograd::has_window(contract) {
        return direct;
    }
    let mut others = left(weighed, None);
    // One reason for all sizes is said once.
    if let [Alternative { rejection: Rejection::No(why), .. }, rest @ ..] = &others[..]
        && rest.iter().all(|other| other.rejection == Rejection::No(why))
    {
        others = vec![Alternative { name: "winograd".into(), rejection: Rejection::No(why) }];
    }
    let near =
        weighed.sizes.iter().filter_map(|(_, cycles)| cycles.ok()).any(|cycles| weighed.direct.is_some_and(|d| cycles < d));
    let why = match near {
        true => format!("{}; winograd saves less than {:.0} %", direct.why, 100.0 * (1.0 - GAIN)),
        false => direct.why,
    };
    others.extend(direct.alternatives);
    Reason { why, alternatives: others, ..direct }
}
