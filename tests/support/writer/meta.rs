//! Writes the metadata section of a module: entries are made when they are mentioned, and written at the end (language 6).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

/// The entries so far: by type key the numbers of their nodes.
#[derive(Default)]
pub struct Meta {
    entries: BTreeMap<&'static str, Vec<usize>>,
    /// The texts of the nodes from number 2 on; 0 is null, 1 the root.
    nodes: Vec<String>,
    tensors: Vec<String>,
}

impl Meta {
    fn node(&mut self, type_key: &str, members: &str) -> usize {
        let comma = if members.is_empty() { "" } else { ", " };
        self.nodes.push(format!("{{\"type_key\": \"{type_key}\"{comma}{members}}}"));
        self.nodes.len() + 1
    }

    fn string(&mut self, text: &str) -> usize {
        self.node("runtime.String", &format!("\"repr_str\": \"{text}\""))
    }

    fn int(&mut self, value: i64) -> usize {
        self.node("IntImm", &format!("\"attrs\": {{\"dtype\": \"int32\", \"span\": \"0\", \"value\": \"{value}\"}}"))
    }

    fn entry(&mut self, type_key: &'static str, node: usize) -> String {
        let nodes = self.entries.entry(type_key).or_default();
        nodes.push(node);
        format!("meta[{type_key}][{}]", nodes.len() - 1)
    }

    /// A mention of an entry there is, or of a new one.
    fn mention(&mut self, type_key: &'static str, again: bool, make: impl FnOnce(&mut Meta) -> usize) -> String {
        match self.entries.get(type_key) {
            Some(nodes) if again => format!("meta[{type_key}][{}]", nodes.len() - 1),
            _ => {
                let node = make(self);
                self.entry(type_key, node)
            }
        }
    }

    /// A constant tensor whose elements are made of `seed`.
    pub fn constant(&mut self, shape: &[i64], dtype: &str, seed: u8) -> String {
        let (code, bits): (u8, u8) = match dtype {
            "bool" => (1, 1),
            "bfloat16" => (4, 16),
            _ => {
                let digits = dtype.trim_start_matches(|c: char| c.is_ascii_alphabetic());
                let code = if dtype.starts_with("int") {
                    0
                } else if dtype.starts_with("uint") {
                    1
                } else {
                    2
                };
                (code, digits.parse().unwrap_or(32))
            }
        };
        let size = usize::from(bits.div_ceil(8));
        let n = shape.iter().product::<i64>() as usize;
        let mut bytes = Vec::new();
        bytes.extend(0xDD5E_40F0_96B4_A13F_u64.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend((shape.len() as u32).to_le_bytes());
        bytes.extend([code, bits, 1, 0]);
        shape.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
        bytes.extend(((n * size) as i64).to_le_bytes());
        for i in 0..n * size {
            // The low bits of a float are zero, so that it is a number and prints with few digits.
            let is_head = code != 2 && code != 4 || i % size == size - 1;
            let byte = if is_head { seed.wrapping_add((i / size) as u8) } else { 0 };
            bytes.push(if bits == 1 { byte & 1 } else { byte & 0x7b });
        }
        let tensor = self.tensors.len();
        self.tensors.push(STANDARD.encode(bytes));
        let node = self.node("relay.Constant", &format!("\"attrs\": {{\"data\": \"{tensor}\", \"span\": \"0\"}}"));
        self.entry("relay.Constant", node)
    }

    /// A dimension that is no number.
    pub fn dimension(&mut self, which: usize) -> String {
        let var = |meta: &mut Meta, type_key: &str, name: &str| {
            let name = meta.string(name);
            meta.node(
                type_key,
                &format!(
                    "\"attrs\": {{\"dtype\": \"int32\", \"name\": \"{name}\", \"span\": \"0\", \"type_annotation\": \"0\"}}"
                ),
            )
        };
        match which {
            0 | 1 => self.mention("tir.Var", which == 0, |meta| var(meta, "tir.Var", "n")),
            2 => self.mention("tir.SizeVar", true, |meta| var(meta, "tir.SizeVar", "size")),
            3 => self.mention("tir.Any", true, |meta| meta.node("tir.Any", "\"attrs\": {\"dtype\": \"int32\", \"span\": \"0\"}")),
            4 => self.mention("IntImm", true, |meta| meta.int(3)),
            _ => self.mention("tir.Mul", true, |meta| {
                let (a, b) = (var(meta, "tir.Var", "m"), meta.int(2));
                meta.node(
                    "tir.Mul",
                    &format!("\"attrs\": {{\"a\": \"{a}\", \"b\": \"{b}\", \"dtype\": \"int32\", \"span\": \"0\"}}"),
                )
            }),
        }
    }

    /// A device.
    pub fn device(&mut self) -> String {
        self.mention("VirtualDevice", true, |meta| {
            let scope = meta.string("global");
            meta.node(
                "VirtualDevice",
                &format!("\"attrs\": {{\"device_type_int\": \"1\", \"memory_scope\": \"{scope}\", \"target\": \"0\", \"virtual_device_id\": \"0\"}}"),
            )
        })
    }

    /// An object that is the value of a function's attribute.
    pub fn object(&mut self, which: usize) -> String {
        match which {
            0 => self.device(),
            1 => self.mention("Map", false, |meta| {
                let (one, two) = (meta.int(7), meta.string("value"));
                meta.node("Map", &format!("\"keys\": [\"alpha\", \"beta\"], \"data\": [{one}, {two}]"))
            }),
            2 => self.mention("Map", true, |meta| {
                let one = meta.string("x");
                meta.node("Map", &format!("\"keys\": [\"key\"], \"data\": [{one}]"))
            }),
            _ => self.mention("VirtualDevice", false, |meta| {
                let scope = meta.string("");
                meta.node(
                    "VirtualDevice",
                    &format!("\"attrs\": {{\"device_type_int\": \"2\", \"memory_scope\": \"{scope}\", \"target\": \"0\", \"virtual_device_id\": \"1\"}}"),
                )
            }),
        }
    }

    /// The attributes of `annotation.compiler_begin` as one object.
    pub fn compiler(&mut self) -> String {
        self.mention("relay.attrs.CompilerAttrs", true, |meta| {
            meta.node("relay.attrs.CompilerAttrs", "\"attrs\": {\"compiler\": \"dnnl\"}")
        })
    }

    /// The section, where something is in it.
    pub fn section(mut self, text: &mut String) {
        if self.entries.is_empty() {
            return;
        }
        let entries = std::mem::take(&mut self.entries);
        let keys: Vec<String> = entries.keys().map(|key| format!("\"{key}\"")).collect();
        let arrays: Vec<String> =
            entries.values().map(|nodes| self.node("Array", &format!("\"data\": {nodes:?}")).to_string()).collect();
        let root = format!("{{\"type_key\": \"Map\", \"keys\": [{}], \"data\": [{}]}}", keys.join(", "), arrays.join(", "));
        let tensors: Vec<String> = self.tensors.iter().map(|tensor| format!("\"{tensor}\"")).collect();
        text.push_str("#[metadata]\n{\"root\": 1, \"nodes\": [\n  {\"type_key\": \"\"},\n  ");
        text.push_str(&root);
        for node in &self.nodes {
            text.push_str(",\n  ");
            text.push_str(node);
        }
        text.push_str(&format!("\n], \"b64ndarrays\": [{}]}}\n", tensors.join(", ")));
    }
}
