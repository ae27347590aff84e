//! Converts ensembles of decision trees. All trees are walked at once, a level a step: each row has a node in each tree, and goes
//! on to the child that its feature and the node's threshold decide. Leaves are their own children.

use super::super::{Converter, op};
use super::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// More levels would be more calls than a program should have.
const MAX_LEVELS: usize = 256;

/// A node; a leaf has itself as children.
struct Node {
    is_leaf: bool,
    feature: i64,
    threshold: f64,
    /// Whether the feature is compared for equality, else for `<=`.
    is_equality: bool,
    yes: usize,
    no: usize,
    /// Whether NaN goes on to `yes`; a comparison sends it to `no`.
    nan_goes_on: bool,
}

/// How a node compares its feature with its threshold.
#[derive(Clone, Copy)]
enum Mode {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
    Unequal,
    Leaf,
}

struct Forest {
    nodes: Vec<Node>,
    roots: Vec<usize>,
    n_levels: usize,
    /// Weights of leaves: node, target, weight.
    weights: Vec<(usize, usize, f64)>,
}

/// What becomes one number of the numbers of all trees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Average,
    Min,
    Max,
}

/// The greatest number of the dtype below another; NaN below all.
fn below(value: f64, dtype: DType) -> f64 {
    use relayc_ir::tensor::Element;
    match value {
        f64::NEG_INFINITY => f64::NAN,
        _ if dtype == DType::F32 => f64::from(<f32 as Element>::from_f64(value).next_down()),
        _ => value.next_down(),
    }
}

impl Node {
    /// A node with the comparisons that remain: `x < t` is `x <= t'` for the number below `t`, and the others swap the children.
    fn new(mode: Mode, feature: i64, threshold: f64, (yes, no): (usize, usize), nan_is_true: bool, dtype: DType) -> Node {
        let (is_equality, is_swapped, threshold) = match mode {
            Mode::AtMost | Mode::Leaf => (false, false, threshold),
            Mode::Below => (false, false, below(threshold, dtype)),
            Mode::AtLeast => (false, true, below(threshold, dtype)),
            Mode::Above => (false, true, threshold),
            Mode::Equal => (true, false, threshold),
            Mode::Unequal => (true, true, threshold),
        };
        // NaN is unequal to every number.
        let nan_is_true = nan_is_true || matches!(mode, Mode::Unequal);
        let (yes, no) = if is_swapped { (no, yes) } else { (yes, no) };
        let nan_goes_on = yes != no && nan_is_true != is_swapped;
        Node { is_leaf: matches!(mode, Mode::Leaf), feature, threshold, is_equality, yes, no, nan_goes_on }
    }
}

impl Forest {
    /// Errors: children that are no nodes, nodes with two parents but for leaves, and too many levels.
    fn new(nodes: Vec<Node>, roots: Vec<usize>, weights: Vec<(usize, usize, f64)>) -> Result<Forest> {
        let mut n_levels = 0usize;
        let mut level: Vec<usize> = roots.clone();
        let mut seen: FxHashSet<usize> = level.iter().copied().collect();
        while !level.is_empty() {
            let inner = level.iter().filter_map(|&at| nodes.get(at).filter(|node| !node.is_leaf));
            let children: Vec<usize> =
                inner.flat_map(|node| [node.yes].into_iter().chain((node.yes != node.no).then_some(node.no))).collect();
            if children.iter().any(|&child| nodes.get(child).is_none_or(|node| !node.is_leaf && !seen.insert(child))) {
                return Err(Refusal::wrong("a node of a tree that is the child of two"));
            }
            n_levels = n_levels.saturating_add(usize::from(!children.is_empty()));
            level = children;
        }
        match roots.is_empty() || n_levels > MAX_LEVELS {
            true => Err(refuse(format!("{} trees of {n_levels} levels; at most {MAX_LEVELS} are written out", roots.len()))),
            false => Ok(Forest { nodes, roots, n_levels: n_levels.max(1), weights }),
        }
    }

    /// The forest of the lists of operator sets 1 and 3.
    fn read(cx: &mut Cx, dtype: DType, of: &'static [&'static str; 4], as_tensor: &'static str) -> Result<Forest> {
        cx.ignore("nodes_hitrates");
        cx.ignore("nodes_hitrates_as_tensor");
        let ids = Ids::read(cx, "nodes_treeids", "nodes_nodeids")?;
        let features = cx.ints("nodes_featureids")?.unwrap_or_default();
        let thresholds = doubles(cx, "nodes_values", "nodes_values_as_tensor")?;
        let (yes, no) = (cx.ints("nodes_truenodeids")?.unwrap_or_default(), cx.ints("nodes_falsenodeids")?.unwrap_or_default());
        let nan_is_true = cx.ints("nodes_missing_value_tracks_true")?.unwrap_or_default();
        let modes = cx.texts("nodes_modes")?.unwrap_or_default();
        let n = ids.list.len();
        let lengths = [features.len(), thresholds.len(), yes.len(), no.len(), modes.len()];
        if lengths.iter().any(|&length| length != n) || ids.of.len() != n {
            return Err(Refusal::wrong(format!("lists of {lengths:?} numbers for {n} nodes, each of which has its own")));
        }
        let mut is_child = vec![false; n];
        let mut nodes = Vec::with_capacity(n);
        for (i, &(tree, _)) in ids.list.iter().enumerate() {
            let mode = mode_of(modes.get(i).map_or("", String::as_str))?;
            let at = |list: &[i64]| list.get(i).copied().unwrap_or(0);
            let children = match mode {
                Mode::Leaf => (i, i),
                _ => (ids.at(tree, at(&yes))?, ids.at(tree, at(&no))?),
            };
            if !matches!(mode, Mode::Leaf) {
                [children.0, children.1]
                    .into_iter()
                    .for_each(|child| is_child.iter_mut().skip(child).take(1).for_each(|is| *is = true));
            }
            let threshold = thresholds.get(i).copied().unwrap_or(0.0);
            nodes.push(Node::new(mode, at(&features), threshold, children, at(&nan_is_true) != 0, dtype));
        }
        let roots: Vec<usize> = is_child.iter().enumerate().filter_map(|(i, is)| (!is).then_some(i)).collect();
        let [of_trees, of_nodes, of_targets, of_weights] = *of;
        let leaves = Ids::read(cx, of_trees, of_nodes)?;
        let targets = cx.ints(of_targets)?.unwrap_or_default();
        let weights = doubles(cx, of_weights, as_tensor)?;
        if targets.len() != leaves.list.len() || weights.len() != leaves.list.len() {
            return Err(Refusal::wrong(format!(
                "{} targets and {} weights of {} leaves",
                targets.len(),
                weights.len(),
                leaves.list.len()
            )));
        }
        let of_leaf = leaves.list.iter().zip(targets).zip(weights);
        let weights = of_leaf.map(|((&(tree, node), target), weight)| Ok((ids.at(tree, node)?, target_of(target)?, weight)));
        let weights: Vec<_> = weights.collect::<Result<_>>()?;
        Forest::new(nodes, roots, weights)
    }

    /// The forest of the tensors of operator set 5, which numbers leaves by themselves; here they follow the nodes.
    fn read_tensors(cx: &mut Cx, dtype: DType) -> Result<Forest> {
        cx.ignore("nodes_hitrates");
        if cx.has("membership_values") {
            return Err(refuse("nodes that ask for a set of numbers (`membership_values`)"));
        }
        let mut list = |name: &'static str| -> Result<Vec<i64>> { Ok(cx.ints(name)?.unwrap_or_default()) };
        let features = list("nodes_featureids")?;
        let (yes, no) = (list("nodes_truenodeids")?, list("nodes_falsenodeids")?);
        let (yes_is_leaf, no_is_leaf) = (list("nodes_trueleafs")?, list("nodes_falseleafs")?);
        let nan_is_true = list("nodes_missing_value_tracks_true")?;
        let (roots, targets) = (list("tree_roots")?, list("leaf_targetids")?);
        let thresholds = cx.tensor("nodes_splits")?.map_or(vec![], |thresholds| thresholds.to_f64s());
        let modes = cx.tensor("nodes_modes")?.map_or(vec![], |modes| modes.to_ints());
        let weights = cx.tensor("leaf_weights")?.map_or(vec![], |weights| weights.to_f64s());
        let n = features.len();
        let lengths = [thresholds.len(), modes.len(), yes.len(), no.len(), yes_is_leaf.len(), no_is_leaf.len()];
        if lengths.iter().any(|&length| length != n) || weights.len() != targets.len() {
            return Err(Refusal::wrong(format!("lists of {lengths:?} numbers for {n} nodes, each of which has its own")));
        }
        let at = |list: &[i64], i: usize| list.get(i).copied().unwrap_or(0);
        let child = |child: i64, is_leaf: i64| {
            let (before, n) = if is_leaf != 0 { (n, targets.len()) } else { (0, n) };
            let child = usize::try_from(child).ok().filter(|&child| child < n);
            child.map(|child| before.saturating_add(child)).ok_or_else(|| Refusal::wrong("a child that is no node of a tree"))
        };
        let mut nodes = Vec::with_capacity(n.saturating_add(targets.len()));
        for (i, (&feature, threshold)) in features.iter().zip(thresholds).enumerate() {
            let mode = match modes.get(i) {
                Some(0) => Mode::AtMost,
                Some(1) => Mode::Below,
                Some(2) => Mode::AtLeast,
                Some(3) => Mode::Above,
                Some(4) => Mode::Equal,
                Some(5) => Mode::Unequal,
                other => return Err(refuse(format!("a node of the mode {}", other.copied().unwrap_or(-1)))),
            };
            let children = (child(at(&yes, i), at(&yes_is_leaf, i))?, child(at(&no, i), at(&no_is_leaf, i))?);
            nodes.push(Node::new(mode, feature, threshold, children, at(&nan_is_true, i) != 0, dtype));
        }
        let leaves = n..n.saturating_add(targets.len());
        nodes.extend(leaves.clone().map(|leaf| Node::new(Mode::Leaf, 0, 0.0, (leaf, leaf), false, dtype)));
        let roots: Vec<usize> = roots.into_iter().map(|root| child(root, 0)).collect::<Result<_>>()?;
        let of_leaf = leaves.zip(targets).zip(weights).map(|((leaf, target), weight)| Ok((leaf, target_of(target)?, weight)));
        Forest::new(nodes, roots, of_leaf.collect::<Result<_>>()?)
    }

    /// A list with a number for each node.
    fn list(&self, cx: &mut Cx, dtype: DType, of: impl Fn(&Node) -> f64) -> Result {
        let n = i64::try_from(self.nodes.len()).unwrap_or(i64::MAX);
        cx.put_numbers(&[n], dtype, |i| self.nodes.get(i).map_or(0.0, &of))
    }

    /// The leaf of each row in each tree.
    fn leaves(&self, cx: &mut Cx, x: Val) -> Result {
        let flat = |cx: &mut Cx, list: Val, at: Val| cx.call("take", &[list, at], &[("mode", AttrValue::str("fast"))]);
        let dtype = cx.dtype(x)?;
        let columns = cx.size(x, 1)?;
        let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        if !self.nodes.iter().all(|node| node.is_leaf || (0..columns).contains(&node.feature)) {
            return Err(Refusal::wrong(format!("a feature beyond the {columns} of the operand")));
        }
        let features = self
            .list(cx, DType::I32, |node| if node.is_leaf { 0.0 } else { i32::try_from(node.feature).map_or(0.0, f64::from) })?;
        let thresholds = self.list(cx, dtype, |node| node.threshold)?;
        let equalities = self.nodes.iter().filter(|node| !node.is_leaf && node.is_equality).count();
        let inner = self.nodes.iter().filter(|node| !node.is_leaf).count();
        let by_equality = self.list(cx, DType::BOOL, |node| f64::from(u8::from(node.is_equality)))?;
        let nan_goes_on = self.list(cx, DType::BOOL, |node| f64::from(u8::from(node.nan_goes_on)))?;
        let n = i64::try_from(self.nodes.len().saturating_mul(2)).unwrap_or(i64::MAX);
        let children = cx.put_numbers(&[n], DType::I32, |i| {
            self.nodes.get(i / 2).map_or(0.0, |node| number(if i % 2 == 1 { node.yes } else { node.no }))
        })?;
        let n_trees = i64::try_from(self.roots.len()).unwrap_or(i64::MAX);
        let mut at = cx.put_numbers(&[n_trees], DType::I32, |i| self.roots.get(i).map_or(0.0, |&root| number(root)))?;
        for level in 0..self.n_levels {
            let feature = flat(cx, features, at)?;
            let found = match level {
                0 => cx.call("take", &[x, feature], &[("axis", AttrValue::int(1)), ("mode", AttrValue::str("fast"))])?,
                _ => cx.call("gather", &[x, feature], &[("axis", AttrValue::int(1))])?,
            };
            let threshold = flat(cx, thresholds, at)?;
            let mut goes_on =
                cx.binary(if inner > 0 && equalities == inner { "equal" } else { "less_equal" }, found, threshold)?;
            if equalities > 0 && equalities < inner {
                let (is_equality, same) = (flat(cx, by_equality, at)?, cx.binary("equal", found, threshold)?);
                goes_on = cx.select(is_equality, same, goes_on)?;
            }
            if self.nodes.iter().any(|node| node.nan_goes_on) {
                let (is_nan, of_nan) = (cx.unary("isnan", found)?, flat(cx, nan_goes_on, at)?);
                goes_on = cx.select(is_nan, of_nan, goes_on)?;
            }
            let (step, two) = (cx.cast(goes_on, DType::I32)?, cx.like(at, 2.0)?);
            let child = cx.b.formula(at, at * two + step)?;
            at = flat(cx, children, child)?;
        }
        Ok(at)
    }

    /// A number for each row and target.
    fn sums(&self, cx: &mut Cx, x: Val, n_targets: usize, aggregate: Aggregate) -> Result {
        let leaves = self.leaves(cx, x)?;
        let dtype = cx.dtype(x)?;
        let mut values: FxHashMap<usize, f64> = FxHashMap::default();
        for &(node, target, weight) in &self.weights {
            if target >= n_targets {
                return Err(Refusal::wrong(format!("target {target} of {n_targets}")));
            }
            let value = values.entry(node.saturating_mul(n_targets).saturating_add(target)).or_insert(0.0);
            *value += weight;
        }
        let is_leaf = |at: &usize| self.nodes.get(*at).is_some_and(|node| node.is_leaf);
        let n_leaves = (0..self.nodes.len()).filter(is_leaf).count();
        if matches!(aggregate, Aggregate::Min | Aggregate::Max) && values.len() != n_leaves.saturating_mul(n_targets) {
            return Err(refuse("the least or greatest number of trees whose leaves have no number for some targets"));
        }
        let shape = [self.nodes.len(), n_targets].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        let values = cx.put_numbers(&shape, dtype, |i| values.get(&i).copied().unwrap_or(0.0))?;
        let all = cx.call("take", &[values, leaves], &[("axis", AttrValue::int(0)), ("mode", AttrValue::str("fast"))])?;
        let name = match aggregate {
            Aggregate::Sum => "sum",
            Aggregate::Average => "mean",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
        };
        cx.reduce(name, all, &[1], false)
    }
}

/// Nodes by tree and number.
struct Ids {
    list: Vec<(i64, i64)>,
    of: FxHashMap<(i64, i64), usize>,
}

impl Ids {
    fn read(cx: &mut Cx, of_trees: &'static str, of_nodes: &'static str) -> Result<Ids> {
        let (trees, nodes) = (cx.ints(of_trees)?.unwrap_or_default(), cx.ints(of_nodes)?.unwrap_or_default());
        if trees.len() != nodes.len() {
            return Err(Refusal::wrong(format!("`{of_trees}` has {} numbers, `{of_nodes}` {}", trees.len(), nodes.len())));
        }
        let list: Vec<(i64, i64)> = trees.into_iter().zip(nodes).collect();
        let of = list.iter().enumerate().map(|(i, &id)| (id, i)).collect();
        Ok(Ids { list, of })
    }

    fn at(&self, tree: i64, node: i64) -> Result<usize> {
        let found = self.of.get(&(tree, node)).copied();
        found.ok_or_else(|| Refusal::wrong(format!("tree {tree} has no node {node}")))
    }
}

fn target_of(target: i64) -> Result<usize> {
    usize::try_from(target).map_err(|_| Refusal::wrong(format!("target {target}")))
}

fn mode_of(name: &str) -> Result<Mode> {
    match name {
        "BRANCH_LEQ" => Ok(Mode::AtMost),
        "BRANCH_LT" => Ok(Mode::Below),
        "BRANCH_GTE" => Ok(Mode::AtLeast),
        "BRANCH_GT" => Ok(Mode::Above),
        "BRANCH_EQ" => Ok(Mode::Equal),
        "BRANCH_NEQ" => Ok(Mode::Unequal),
        "LEAF" => Ok(Mode::Leaf),
        other => Err(refuse(format!("a node of the mode `{other}`"))),
    }
}

/// Numbers of a list, or of a tensor in place of it.
fn doubles(cx: &mut Cx, list: &'static str, tensor: &'static str) -> Result<Vec<f64>> {
    match cx.tensor(tensor)? {
        Some(tensor) => Ok(tensor.to_f64s()),
        None => Ok(cx.floats(list)?.unwrap_or_default()),
    }
}

fn aggregate_of(name: &str) -> Result<Aggregate> {
    match name {
        "SUM" => Ok(Aggregate::Sum),
        "AVERAGE" => Ok(Aggregate::Average),
        "MIN" => Ok(Aggregate::Min),
        "MAX" => Ok(Aggregate::Max),
        other => Err(Refusal::wrong(format!("the aggregate function `{other}`"))),
    }
}

fn regressor(cx: &mut Cx) -> Results {
    let x = rows(cx)?;
    let dtype = cx.dtype(x)?;
    let of = &["target_treeids", "target_nodeids", "target_ids", "target_weights"];
    let forest = Forest::read(cx, dtype, of, "target_weights_as_tensor")?;
    let aggregate = aggregate_of(&cx.text("aggregate_function", "SUM")?)?;
    let (n, after) = (cx.int("n_targets", 1)?, After::read(cx)?);
    let mut y = forest.sums(cx, x, target_of(n)?, aggregate)?;
    let base = doubles(cx, "base_values", "base_values_as_tensor")?;
    if !base.is_empty() {
        let base = numbers(cx, &[n], x, &base)?;
        y = cx.binary("add", y, base)?;
    }
    one(finished(cx, y, if n == 1 { After::Nothing } else { after })?)
}

fn classifier(cx: &mut Cx) -> Results {
    let x = rows(cx)?;
    let dtype = cx.dtype(x)?;
    let of = &["class_treeids", "class_nodeids", "class_ids", "class_weights"];
    let forest = Forest::read(cx, dtype, of, "class_weights_as_tensor")?;
    let (labels, after) = (labels(cx, "classlabels_int64s")?, After::read(cx)?);
    let base = doubles(cx, "base_values", "base_values_as_tensor")?;
    let n = i64::try_from(labels.len()).unwrap_or(i64::MAX);
    if n < 2 {
        return Err(refuse(format!("{n} labels, where two or more are classes")));
    }
    let classes: FxHashSet<usize> = forest.weights.iter().map(|&(_, class, _)| class).collect();
    let is_probability = forest.weights.iter().all(|&(_, _, weight)| weight >= 0.0);
    let limit = if is_probability { 0.5 } else { 0.0 };
    let only = if n == 2 && classes.len() == 1 { classes.iter().next().copied() } else { None };
    match (only, &base[..]) {
        // One score says both classes.
        (Some(0), [] | [_]) => {
            let mut score = forest.sums(cx, x, 1, Aggregate::Sum)?;
            if let [base] = base[..] {
                let base = cx.like(score, base)?;
                score = cx.binary("add", score, base)?;
            }
            let label = second_above(cx, score, limit, &labels)?;
            return Ok(vec![label, of_both(cx, score, if is_probability { 1.0 } else { 0.0 }, after)?]);
        }
        (Some(_), []) => {
            let scores = forest.sums(cx, x, 2, Aggregate::Sum)?;
            let second = cx.slice(scores, 1, 1, 2)?;
            return Ok(vec![second_above(cx, second, limit, &labels)?, finished(cx, scores, after)?]);
        }
        (Some(_), _) => return Err(refuse("scores to begin with (`base_values`) of classes of which one has leaves")),
        (None, _) => {}
    }
    let mut scores = forest.sums(cx, x, labels.len(), Aggregate::Sum)?;
    if !base.is_empty() {
        let base = numbers(cx, &[n], x, &base)?;
        scores = cx.binary("add", scores, base)?;
    }
    Ok(vec![winners(cx, scores, &labels)?, finished(cx, scores, after)?])
}

fn ensemble(cx: &mut Cx) -> Results {
    let x = rows(cx)?;
    let dtype = cx.dtype(x)?;
    let forest = Forest::read_tensors(cx, dtype)?;
    let aggregate = match cx.int("aggregate_function", 1)? {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        other => return Err(Refusal::wrong(format!("the aggregate function {other}"))),
    };
    let after = match cx.int("post_transform", 0)? {
        0 => After::Nothing,
        1 => After::Softmax,
        2 => After::Logistic,
        3 => After::SoftmaxZero,
        other => return Err(refuse(format!("scores after transform {other}"))),
    };
    let n = cx.required_int("n_targets")?;
    let y = forest.sums(cx, x, target_of(n)?, aggregate)?;
    one(transformed(cx, y, if n == 1 { After::Nothing } else { after })?)
}

pub(in super::super) const FAMILY: &[Converter] = &[
    op("ai.onnx.ml.TreeEnsemble", &[5], ensemble)
        .but("trees of more than 256 levels; nodes that ask for a set of numbers; scores after PROBIT"),
    op("ai.onnx.ml.TreeEnsembleClassifier", &[1, 3], classifier)
        .but("trees of more than 256 levels; scores after `PROBIT`; labels that are strings are positions"),
    op("ai.onnx.ml.TreeEnsembleRegressor", &[1, 3], regressor).but("trees of more than 256 levels; scores after `PROBIT`"),
];
