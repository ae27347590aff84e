//! How a text is checked and formatted: as its `relayc.toml` and the settings of the client say.

use relayc_driver::{Dialect, ReadOptions};
use relayc_syntax::fmt::Style;

#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) how: ReadOptions,
    pub(crate) style: Style,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { how: ReadOptions::of(Dialect::Today), style: Style::default() }
    }
}
