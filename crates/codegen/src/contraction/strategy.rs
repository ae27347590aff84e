//! The strategies of a contraction: which there are, which one is chosen, and why.
//!
//! Each has a name, by which a caller may ask for it in place of the model's choice.

use super::attention::{AttentionCode, Comparison};
use super::choose::{self, CostedChoice, LOADS};
use super::pack::Weights;
use super::rows::{FEW_POINTS, NEAR_WEIGHTS};
use super::winograd::{self, GAIN, PACKING, Size};
use super::{Choice, ContractionCode, candidates, grouped, rows};
use relayc_ir::kernel::{Alternative, Contraction, Reason, Rejection, Target, ns_of_cycles};

const ROWS: &str = "rows of weights";
const WINOGRAD: &str = "winograd";
const GROUPED: &str = "several groups in a vector";

/// The strategies that a contraction may have.
pub(crate) struct Strategies<'a> {
    contract: &'a Contraction,
    weights: Weights,
    target: &'a Target,
    /// Direct sums, the best tile of each width.
    tiles: Vec<CostedChoice>,
    /// The cycles of reading weights by rows, or why that does not apply.
    rows: Result<f64, &'static str>,
    /// The cycles of vectors of several groups, if groups are few channels each.
    grouped: Option<f64>,
    /// Winograd's method, if it is considered.
    winograd: Option<winograd::Comparison>,
}

impl<'a> Strategies<'a> {
    /// `most` is the largest tile of Winograd's method for 3×3 windows; absent for contractions that are no convolution.
    pub(crate) fn of(contract: &'a Contraction, most: Option<u64>, weights: Weights, target: &'a Target) -> Strategies<'a> {
        let constant = weights != Weights::Computed;
        let mut tiles = candidates(contract, target, weights == Weights::Shared);
        let n_weights = contract.columns * contract.sum.iter().map(|dim| dim.extent).product::<u64>();
        let packing = if constant { 0.0 } else { PACKING * n_weights as f64 };
        tiles.iter_mut().for_each(|one| one.cycles += packing);
        Strategies {
            contract,
            weights,
            target,
            tiles,
            rows: rows::cycles(contract, target),
            grouped: grouped::cycles(contract, target).map(|cycles| cycles + packing),
            winograd: most.map(|most| winograd::weigh(contract, most, constant, target)),
        }
    }

    fn points(&self) -> u64 {
        self.contract.points.iter().map(|dim| dim.extent).product()
    }

    /// Whether weights are constants near by, which are packed once.
    fn packs(&self) -> bool {
        let weights = self.contract.columns * self.contract.sum.iter().map(|dim| dim.extent).product::<u64>();
        self.weights != Weights::Computed && self.contract.weight_bytes() * weights <= NEAR_WEIGHTS
    }

    /// The tile of Winograd's method to use, if any.
    pub(crate) fn size(&self, wanted: Option<&str>) -> Option<Size> {
        let weighed = self.winograd.as_ref()?;
        match wanted {
            None => weighed.best,
            Some(wanted) => weighed.sizes.iter().find(|(size, cycles)| cycles.is_ok() && name(*size) == wanted).map(|one| one.0),
        }
    }

    /// Whether to read weights by rows, if there is code for it.
    pub(crate) fn takes_rows(&self, wanted: Option<&str>) -> bool {
        wanted.map_or_else(|| self.points() <= FEW_POINTS && !self.packs(), |wanted| wanted == ROWS)
    }

    /// Whether vectors hold several groups, if there is code for it.
    pub(crate) fn takes_groups(&self, wanted: Option<&str>) -> bool {
        let Some(cycles) = self.grouped else { return false };
        let is_least = || self.tiles.iter().all(|tile| cycles < tile.cycles);
        wanted.map_or_else(is_least, |wanted| wanted == GROUPED)
    }

    /// The tile of the direct sum.
    pub(crate) fn tile(&self, wanted: Option<&str>) -> Choice {
        let named = wanted.and_then(|wanted| self.tiles.iter().find(|one| self.tile_name(&one.choice) == wanted));
        named.map_or_else(|| choose::best(&self.tiles), |one| one.choice)
    }

    /// `direct 6x2`: points and column vectors of a tile.
    fn tile_name(&self, choice: &Choice) -> String {
        let (rows, points) = (choice.cut.rows, choice.cut.most.min(self.points()));
        let over = if rows > 1 { format!(" over {rows} rows") } else { String::new() };
        format!("direct {points}x{}{over}", choice.vectors)
    }

    /// Every strategy but the taken one, direct sums first, by their estimates.
    fn others(&self, taken: &str) -> Vec<Alternative> {
        let said = |cycles: Result<f64, _>| cycles.map_or_else(Rejection::No, |cycles| Rejection::Ns(ns_of_cycles(cycles)));
        let mut tiles: Vec<&CostedChoice> = self.tiles.iter().collect();
        tiles.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
        let tiles = tiles.into_iter().map(|one| (self.tile_name(&one.choice), Ok(one.cycles)));
        let rows = (self.rows.is_ok() || self.points() <= FEW_POINTS).then(|| (ROWS.to_owned(), self.rows));
        let grouped = self.grouped.map(|cycles| (GROUPED.to_owned(), Ok(cycles)));
        let all = tiles.chain(grouped).chain(self.sizes()).chain(rows).filter(|(name, _)| name != taken);
        all.map(|(name, cycles)| Alternative { name, rejection: said(cycles) }).collect()
    }

    /// The cycles of each tile of Winograd's method. One reason against all of them is said once.
    fn sizes(&self) -> Vec<(String, Result<f64, &'static str>)> {
        let Some(weighed) = self.winograd.as_ref().filter(|_| winograd::has_window(self.contract)) else { return vec![] };
        let mut sizes: Vec<_> = weighed.sizes.iter().map(|(size, cycles)| (name(*size), *cycles)).collect();
        if let [(_, Err(why)), rest @ ..] = &sizes[..]
            && rest.iter().all(|other| other.1 == Err(why))
        {
            sizes = vec![(WINOGRAD.into(), Err(why))];
        }
        sizes
    }

    fn reason(&self, strategy: String, why: String, ns: Option<f64>) -> Reason {
        Reason { name: strategy.clone(), why, ns, alternatives: self.others(&strategy), strategy, ..Reason::default() }
    }

    /// The reason for a direct sum with this tile.
    pub(crate) fn direct(&self, choice: Choice, code: &ContractionCode) -> Reason {
        let mut why =
            format!("the least estimate of the tiles that fit {} registers, {}", self.target.registers, code.describe());
        if let Some(weighed) = &self.winograd
            && weighed.sizes.iter().filter_map(|(_, cycles)| cycles.ok()).any(|cycles| weighed.direct.is_some_and(|d| cycles < d))
        {
            why = format!("{why}; winograd saves less than {:.0} %", 100.0 * (1.0 - GAIN));
        }
        if self.rows.is_ok() && self.points() <= FEW_POINTS && self.packs() {
            why = format!("{why}; weights near by are packed once");
        }
        let ns = self.tiles.iter().find(|one| one.choice == choice).map(|one| ns_of_cycles(one.cycles));
        converting(code, self.reason(self.tile_name(&choice), why, ns))
    }

    /// The reason for reading weights by rows.
    pub(crate) fn by_rows(&self) -> Reason {
        let why = match self.weights {
            Weights::Computed => {
                format!("at most {FEW_POINTS} points: packing what is no constant would cost more than it saves")
            }
            Weights::Own | Weights::Shared => {
                format!("at most {FEW_POINTS} points, over {} MiB of weights: the memory bounds every kernel", NEAR_WEIGHTS >> 20)
            }
        };
        self.reason(ROWS.into(), why, self.rows.ok().map(ns_of_cycles))
    }

    /// The reason for vectors of several groups.
    pub(crate) fn by_groups(&self) -> Reason {
        let (group, groups) = (self.contract.columns, self.contract.groups);
        let why = format!("{groups} groups of {group} channels: direct sums fill {group} of {} lanes", self.target.lanes);
        self.reason(GROUPED.into(), why, self.grouped.map(ns_of_cycles))
    }

    /// The reason for Winograd's method.
    pub(crate) fn by_tiles(&self, code: &winograd::Winograd, size: Size) -> Reason {
        let contract = self.contract;
        let own = self.winograd.iter().flat_map(|weighed| &weighed.sizes).find(|one| one.0 == size);
        let map = match &contract.points[..] {
            [.., height, width] => format!("{}x{}", height.extent, width.extent),
            _ => String::new(),
        };
        let (side, stride) = (code.window, code.stride);
        let terms = contract.factors.products() * contract.sum.iter().map(|dim| dim.extent).product::<u64>();
        let channels = terms / (side * side);
        let kind = if size == Size::Whole { ", in whole numbers" } else { "" };
        let columns = contract.columns;
        let why = format!(
            "{side}x{side} with stride {stride}, {map}, {channels} to {columns} channels{kind}: the least estimate, by a tenth or more"
        );
        self.reason(name(size), why, own.and_then(|(_, cycles)| cycles.ok()).map(ns_of_cycles))
    }
}

/// The reason for a kernel, with that for the place where it converts 16-bit weights.
pub(crate) fn converting(code: &ContractionCode, reason: Reason) -> Reason {
    let Some((dtype, costed)) = &code.converted else { return reason };
    let by_groups = code.group_code.is_some();
    let place = if by_groups { "a group of columns at a time" } else { "in registers" };
    let other = costed.map(|costed| if by_groups { costed.in_registers } else { costed.by_groups });
    let other = other.map_or_else(String::new, |cycles| {
        let place = if by_groups { "in registers" } else { "by groups" };
        format!(" ({place}: est {:.1} us)", ns_of_cycles(cycles) / 1e3)
    });
    Reason { why: format!("{}; {dtype} weights converted {place}{other}", reason.why), ..reason }
}

/// The reason for the depthwise method. The estimate counts a multiply-add for each tap, which reads its input.
pub(crate) fn depthwise(contract: &Contraction, target: &Target) -> Reason {
    let taps: Vec<String> = contract.sum.iter().filter(|dim| dim.extent > 1).map(|dim| dim.extent.to_string()).collect();
    let window = if taps.is_empty() { "1".to_owned() } else { taps.join("x") };
    let reason = Reason::only(format!("depthwise, window {window}"), "each channel has a sum of its own");
    let steps: u64 = contract.points.iter().chain(&contract.sum).map(|dim| dim.extent).product();
    let vectors = contract.groups * contract.columns.div_ceil(target.lanes as u64);
    let cycles = (steps * vectors) as f64 / LOADS.min(target.fmas as f64);
    Reason { strategy: "depthwise".into(), ns: Some(ns_of_cycles(cycles)), ..reason }
}

fn name(size: Size) -> String {
    let (m, r) = (size.outputs(), size.taps());
    format!("{WINOGRAD} F({m}x{m},{r}x{r})")
}

/// The reason for attention by blocks of rows, which the plan has chosen instead of a step for each of its kernels.
pub(crate) fn attention(code: &AttentionCode, weighed: &Comparison) -> Reason {
    let ns = |cycles: f64| ns_of_cycles(cycles) + code.nests_ns();
    let plural = if code.work.parts == 1 { "" } else { "s" };
    let why = format!(
        "scores of a block stay in the second-level cache, and each of {} part{plural} packs keys and values once; separate steps: \
         est {:.1} us",
        code.work.parts,
        ns(weighed.steps) / 1e3
    );
    let name = format!("attention, blocks of {} rows", weighed.height);
    Reason { ns: Some(ns(weighed.blocks)), ..Reason::only(name, why) }
}
