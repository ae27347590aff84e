//! Operators whose attributes name layouts: convolutions, pooling, resizing, regions.

use super::{Asked, Layouts, Rule};
use relayc_ir::AttrValue;

pub(super) const RULES: &[(&str, Rule)] = &[
    ("nn.conv1d", conv),
    ("nn.conv2d", conv),
    ("nn.conv3d", conv),
    ("nn.conv1d_transpose", conv),
    ("nn.conv2d_transpose", conv),
    ("nn.conv3d_transpose", conv),
    ("nn.conv2d_backward_weight", |_| None),
    ("nn.deformable_conv2d", deformable),
    ("qnn.conv2d", |asked| with_channels(asked, conv(asked)?, 4)),
    ("qnn.conv2d_transpose", |asked| with_channels(asked, conv(asked)?, 4)),
    ("qnn.avg_pool2d", |_| None),
    ("nn.max_pool1d", pool),
    ("nn.max_pool2d", pool),
    ("nn.max_pool3d", pool),
    ("nn.avg_pool1d", pool),
    ("nn.avg_pool2d", pool),
    ("nn.avg_pool3d", pool),
    ("nn.global_max_pool2d", pool),
    ("nn.global_avg_pool2d", pool),
    ("nn.adaptive_max_pool1d", pool),
    ("nn.adaptive_max_pool2d", pool),
    ("nn.adaptive_max_pool3d", pool),
    ("nn.adaptive_avg_pool1d", pool),
    ("nn.adaptive_avg_pool2d", pool),
    ("nn.adaptive_avg_pool3d", pool),
    ("nn.upsampling", upsampling),
    ("nn.upsampling3d", upsampling),
    ("image.resize1d", resize),
    ("image.resize2d", resize),
    ("vision.roi_align", regions),
    ("vision.roi_pool", regions),
];

/// A layout without blocks.
fn whole(layout: String) -> Option<String> {
    layout.chars().all(|letter| letter.is_ascii_uppercase()).then_some(layout)
}

fn result_layout(asked: &Asked, data: &str) -> Option<String> {
    let out = asked.text("out_layout")?;
    if out.is_empty() { Some(data.to_owned()) } else { whole(out) }
}

fn conv(asked: &Asked) -> Option<Layouts> {
    let (data, kernel) = (whole(asked.text("data_layout")?)?, whole(asked.text("kernel_layout")?)?);
    let out = result_layout(asked, &data)?;
    asked.answer(vec![data, kernel], vec![out])
}

fn deformable(asked: &Asked) -> Option<Layouts> {
    let (data, kernel) = (whole(asked.text("data_layout")?)?, whole(asked.text("kernel_layout")?)?);
    let out = result_layout(asked, &data)?;
    asked.answer(vec![data.clone(), data, kernel], vec![out])
}

/// The layouts of a quantized operator: its scales and zero points are lists of channels.
pub(super) fn with_channels(asked: &Asked, mut layouts: Layouts, n: usize) -> Option<Layouts> {
    layouts.inputs.extend(vec!["C".to_owned(); n]);
    (layouts.inputs.len() == asked.old.len()).then_some(layouts)
}

/// Pooling works in the layout of its data, unless it names that of its result.
fn pool(asked: &Asked) -> Option<Layouts> {
    let layout = whole(asked.text("layout")?)?;
    let new = asked.new.and_then(|new| new.first().cloned());
    match new.filter(|_| asked.text("out_layout").is_none_or(|out| out.is_empty())) {
        Some(new) => in_layout(asked, new),
        None => in_layout(asked, layout),
    }
}

fn in_layout(asked: &Asked, layout: String) -> Option<Layouts> {
    let attrs = asked.with(&[("layout", AttrValue::str(&layout))])?;
    let rest = asked.old.len().checked_sub(1)?;
    (rest == 0).then(|| Layouts { inputs: vec![layout.clone()], outputs: vec![layout], attrs })
}

/// Upsampling follows its data only where the spatial axes stay.
fn upsampling(asked: &Asked) -> Option<Layouts> {
    let layout = whole(asked.text("layout")?)?;
    let stays = |new: &&String| "DHW".chars().all(|letter| new.find(letter) == layout.find(letter));
    let new = asked.new.and_then(<[String]>::first).filter(stays).cloned();
    in_layout(asked, new.unwrap_or(layout))
}

fn resize(asked: &Asked) -> Option<Layouts> {
    let layout = whole(asked.text("layout")?)?;
    let old = asked.old.first().cloned().flatten();
    let new = asked.new.and_then(|new| new.first().cloned());
    let follows = new.filter(|new| old.as_ref() == Some(&layout) && new.len() == layout.len());
    let layout = follows.unwrap_or(layout);
    let attrs = asked.with(&[("layout", AttrValue::str(&layout))])?;
    let mut inputs = vec![layout.clone()];
    inputs.extend(asked.ranks.iter().skip(1).map(|&rank| "N".repeat(rank.min(1))));
    Some(Layouts { inputs, outputs: vec![layout], attrs })
}

fn regions(asked: &Asked) -> Option<Layouts> {
    let layout = whole(asked.text("layout")?)?;
    asked.answer(vec![layout.clone(), "NR".to_owned()], vec![layout])
}

/// The attributes of a call that works in desired layouts, first that of the data: TVM's `FTVMConvertOpLayout`. `None` for an operator
/// without a choice. Errors, in words: a number of layouts, or a layout, that the operator does not take.
pub fn desired(asked: &Asked, layouts: &[&str]) -> Option<Result<Vec<AttrValue>, String>> {
    let name = asked.def.name;
    let kernels: &[(&str, &str)] = match name {
        "nn.conv2d" | "qnn.conv2d" => &[("NCHW", "OIHW"), ("NHWC", "HWIO"), ("HWNC", "HWOI")],
        "nn.deformable_conv2d" => &[("NCHW", "OIHW"), ("NHWC", "HWIO")],
        "nn.conv2d_transpose" | "qnn.conv2d_transpose" => &[("NCHW", "IOHW"), ("NHWC", "HWIO")],
        "nn.conv3d" => &[("NCDHW", "OIDHW"), ("NDHWC", "DHWIO")],
        "nn.conv3d_transpose" => &[("NCDHW", "IODHW"), ("NDHWC", "DHWOI")],
        "nn.max_pool2d"
        | "nn.avg_pool2d"
        | "nn.global_max_pool2d"
        | "nn.global_avg_pool2d"
        | "image.resize1d"
        | "image.resize2d"
        | "vision.roi_align"
        | "vision.roi_pool" => &[],
        _ => return None,
    };
    let n = if kernels.is_empty() && !name.starts_with("vision.") { 1 } else { 2 };
    if layouts.len() != n {
        return Some(Err(format!("`{name}` takes {n} layouts, found {}", layouts.len())));
    }
    if layouts[0] == "default" || layouts.iter().any(|&layout| layout != "default" && whole(layout.to_owned()).is_none()) {
        return Some(Err(format!("`{name}` takes no layout `{}`", layouts.join(", "))));
    }
    let text = AttrValue::str;
    let changes = if kernels.is_empty() {
        let mut changes = vec![("layout", text(layouts[0]))];
        changes
            .extend(asked.position("out_layout").filter(|_| name.starts_with("nn.")).map(|_| ("out_layout", text(layouts[0]))));
        changes
    } else {
        let known = kernels.iter().find(|(data, _)| *data == layouts[0]).map(|(_, kernel)| *kernel);
        let depthwise = name.ends_with("conv2d") && layouts[0] == "NHWC" && is_depthwise(asked) == Some(true);
        let kernel = match layouts[1] {
            "default" if depthwise => Some("HWOI"),
            "default" => known,
            given => Some(given),
        };
        let Some(kernel) = kernel else { return Some(Err(format!("`{name}` takes no layout `{}`", layouts[0]))) };
        vec![("data_layout", text(layouts[0])), ("kernel_layout", text(kernel))]
    };
    asked.with(&changes).map(Ok)
}

/// Whether each channel has a group of its own, and one result.
fn is_depthwise(asked: &Asked) -> Option<bool> {
    let size = |layout: String, at: usize, letter: char| Some(*asked.shapes.get(at)?.as_ref()?.get(layout.find(letter)?)?);
    let groups = asked.attr("groups")?.as_int()?;
    let channels = size(asked.text("data_layout")?, 0, 'C')?;
    let results = size(asked.text("kernel_layout")?, 1, 'O')?;
    let multiplier = size(asked.text("kernel_layout")?, 1, 'I')?;
    Some(groups > 1 && channels == groups && (results == groups || multiplier == groups))
}
