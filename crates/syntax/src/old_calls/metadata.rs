//! The attributes that stand in the metadata section: TVM prints those there whose type is not registered with the operator.
//!
//! Crate `check` reads the section, and reports what is wrong with it. Here an entry that is not understood is absent.

use serde_json::Value;
use std::collections::BTreeMap;

pub(super) struct Metadata {
    root: usize,
    nodes: Vec<Value>,
}

impl Metadata {
    pub(super) fn read(text: &str) -> Option<Metadata> {
        let mut all: Value = serde_json::from_str(text).ok()?;
        let root = number(all.get("root")?)?;
        match all.get_mut("nodes")?.take() {
            Value::Array(nodes) => Some(Metadata { root, nodes }),
            _ => None,
        }
    }

    /// The attributes of `meta[key][index]`, as text.
    pub(super) fn attrs(&self, key: &str, index: usize) -> Option<BTreeMap<String, String>> {
        let root = self.nodes.get(self.root)?;
        let keys = root.get("keys")?.as_array()?;
        let place = keys.iter().position(|found| found.as_str() == Some(key))?;
        let entries = self.nodes.get(number(root.get("data")?.get(place)?)?)?;
        let entry = self.nodes.get(number(entries.get("data")?.get(index)?)?)?;
        let attrs = entry.get("attrs")?.as_object()?;
        Some(attrs.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect())
    }
}

fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}
