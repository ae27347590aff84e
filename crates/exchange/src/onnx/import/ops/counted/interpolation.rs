//! How a resized axis is interpolated, as the attributes of `Resize` say it.

use super::building_blocks::*;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Nearest,
    Linear,
    Cubic,
}

/// How new positions map to coordinates, and coordinates to weights.
pub(super) struct How {
    pub(super) mode: Mode,
    /// `coordinate_transformation_mode`.
    pub(super) coordinates: String,
    /// `nearest_mode`.
    pub(super) nearest: String,
    pub(super) cubic_a: f64,
    pub(super) exclude_outside: bool,
    pub(super) antialias: bool,
    pub(super) extrapolation: f64,
}

/// The mode of this name.
pub(super) fn mode(name: &str) -> Result<Mode> {
    match name {
        "nearest" => Ok(Mode::Nearest),
        // `bilinear` is how some old models of operator set 7 have it.
        "linear" | "bilinear" => Ok(Mode::Linear),
        "cubic" => Ok(Mode::Cubic),
        other => Err(refuse(format!("the mode `{other}`"))),
    }
}

impl How {
    /// Without an attribute that a node may have.
    pub(super) fn plain() -> How {
        How {
            mode: Mode::Nearest,
            coordinates: String::new(),
            nearest: String::new(),
            cubic_a: -0.75,
            exclude_outside: false,
            antialias: false,
            extrapolation: 0.0,
        }
    }
}

/// Refuses unsupported modes.
pub(super) fn known_words(how: &How) -> Result<()> {
    const COORDINATES: [&str; 7] = [
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    ];
    const NEAREST: [&str; 4] = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"];
    if !COORDINATES.contains(&&*how.coordinates) {
        return Err(refuse(format!("the coordinates `{}`", how.coordinates)));
    }
    if !NEAREST.contains(&&*how.nearest) {
        return Err(refuse(format!("the rounding `{}`", how.nearest)));
    }
    Ok(())
}
