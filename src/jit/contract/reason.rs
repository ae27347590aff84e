//! The reasons for which a sum of products is computed one way and not another, of the numbers that decided it.

use super::compiled::{FEW_POINTS, NEAR_WEIGHTS};
use super::winograd::{self, GAIN, Size};
use super::{Choice, Contraction, cycles};
use crate::kernel::{Contract, Other, Reason, Said, Target, ns_of_cycles};

fn tile(choice: &Choice, points: u64) -> String {
    let (rows, points) = (choice.cut.rows, choice.cut.most.min(points));
    let over = if rows > 1 { format!(" over {rows} rows") } else { String::new() };
    let plural = if points == 1 { "" } else { "s" };
    format!("direct, tiles of {points} point{plural}{over} x {} vectors", choice.vectors)
}

/// By tiles of points and vectors of columns.
pub fn direct(code: &Contraction, target: &Target) -> Reason {
    let Some(choice) = code.tile else { return Reason::only("direct", "the caller chose") };
    let points = code.work.bands.iter().sum();
    let of = |choice: Choice| code.weighed.iter().find(|one| one.choice == choice).map(|one| ns_of_cycles(one.cycles));
    let mut others: Vec<_> = code.weighed.iter().filter(|one| one.choice != choice).collect();
    others.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
    Reason {
        name: tile(&choice, points),
        why: format!("the least estimate of the tiles that fit {} registers, {}", target.registers, code.describe()),
        ns: of(choice),
        others: others
            .into_iter()
            .take(SHOWN)
            .map(|one| Other { name: tile(&one.choice, points), said: Said::Ns(ns_of_cycles(one.cycles)) })
            .collect(),
    }
}

/// So many tiles that were not taken are worth a look.
const SHOWN: usize = 2;

/// By rows of weights.
pub fn rows(contract: &Contract, constant: bool, target: &Target) -> Reason {
    let why = match constant {
        true => {
            format!("at most {FEW_POINTS} points, over {} MiB of weights: the memory bounds every kernel", NEAR_WEIGHTS >> 20)
        }
        false => format!("at most {FEW_POINTS} points: packing what is no constant would cost more than it saves"),
    };
    let direct = cycles(contract, target).map(|cycles| Said::Ns(ns_of_cycles(cycles)));
    Reason {
        name: "rows of weights".into(),
        why,
        ns: None,
        others: direct.map(|said| Other { name: "direct".into(), said }).into_iter().collect(),
    }
}

pub fn no_rows(packs: bool) -> Other {
    let why = match packs {
        true => "constants near by are packed once, and columns add no lanes",
        false => "rows or points do not lie one after another, or are too many for the registers",
    };
    Other { name: "rows of weights".into(), said: Said::No(why) }
}

/// For each channel alone.
pub fn depthwise(contract: &Contract) -> Reason {
    let taps: Vec<String> = contract.sum.iter().filter(|dim| dim.extent > 1).map(|dim| dim.extent.to_string()).collect();
    let window = if taps.is_empty() { "1".to_owned() } else { taps.join("x") };
    Reason::only(format!("depthwise, window {window}"), "each channel has a sum of its own")
}

fn name(size: Size) -> String {
    let (m, r) = (size.outputs(), size.taps());
    format!("winograd F({m}x{m},{r}x{r})")
}

/// The ways that a choice about tiles of outputs left, beside the one taken.
fn left(weighed: &winograd::Weighed, taken: Option<usize>) -> Vec<Other> {
    let said = |cycles: &Result<f64, &'static str>| cycles.map_or_else(Said::No, |cycles| Said::Ns(ns_of_cycles(cycles)));
    let sizes = weighed.sizes.iter().filter(|(size, _)| Some(size.outputs()) != taken);
    let sizes = sizes.map(|(size, cycles)| Other { name: name(*size), said: said(cycles) });
    let direct = weighed.direct.filter(|_| taken.is_some()).map(|cycles| Said::Ns(ns_of_cycles(cycles)));
    direct.map(|said| Other { name: "direct".into(), said }).into_iter().chain(sizes).collect()
}

/// By tiles of outputs.
pub fn winograd(code: &winograd::Winograd, contract: &Contract, weighed: &winograd::Weighed) -> Reason {
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
        others: left(weighed, Some(code.outputs())),
    }
}

/// The direct sum where tiles of outputs were looked at.
pub fn not_winograd(direct: Reason, contract: &Contract, weighed: &winograd::Weighed) -> Reason {
    if !winograd::has_window(contract) {
        return direct;
    }
    let mut others = left(weighed, None);
    // One reason for all sizes is said once.
    if let [Other { said: Said::No(why), .. }, rest @ ..] = &others[..]
        && rest.iter().all(|other| other.said == Said::No(why))
    {
        others = vec![Other { name: "winograd".into(), said: Said::No(why) }];
    }
    let near =
        weighed.sizes.iter().filter_map(|(_, cycles)| cycles.ok()).any(|cycles| weighed.direct.is_some_and(|d| cycles < d));
    let why = match near {
        true => format!("{}; winograd saves less than {:.0} %", direct.why, 100.0 * (1.0 - GAIN)),
        false => direct.why,
    };
    others.extend(direct.others);
    Reason { why, others, ..direct }
}
