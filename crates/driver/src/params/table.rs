//! Prints a listing of weight files as text and as JSON.

use super::{Fit, Listed, Listing, Missing, Row};
use crate::bind::leaves::Leaf;
use relayc_base::text::{count, one_line, thousands};
use relayc_ir::types::{Dim, shape_text};
use serde_json::{Value, json};
use std::fmt::Write;

fn shape_of(shape: &[usize]) -> String {
    let dims: Vec<Dim> = shape.iter().map(|&dim| Dim::known(dim as i64)).collect();
    shape_text(&dims)
}

impl Listing {
    /// One line a tensor: name, shape, dtype, bytes, and its problem.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (i, file) in self.files.iter().enumerate() {
            if self.files.len() > 1 {
                let _ = writeln!(out, "{}{}:", if i > 0 { "\n" } else { "" }, one_line(&file.name));
            }
            out.push_str(&table(&file.rows.iter().map(cells).collect::<Vec<_>>()));
            let _ = writeln!(out, "{}", summary(file));
        }
        if let Some(missing) = self.missing.as_ref().filter(|missing| !missing.is_empty()) {
            let _ = writeln!(out, "\n{} without a value:", count(missing.len(), "parameter"));
            out.push_str(&table(&missing.iter().map(missing_cells).collect::<Vec<_>>()));
        }
        out
    }

    /// `relayc.params/1`.
    pub fn json(&self) -> Value {
        let files: Vec<Value> = self.files.iter().map(file_json).collect();
        let mut value = json!({ "schema": "relayc.params/1", "files": files });
        if let Some(missing) = &self.missing {
            let row = |missing: &Missing| {
                let Missing { leaf, near } = missing;
                json!({ "name": leaf.name, "shape": dims_json(leaf), "dtype": leaf.dtype.to_string(), "near": near })
            };
            value["missing"] = missing.iter().map(row).collect();
        }
        value
    }
}

/// Name, shape, dtype, bytes, remark.
type Cells = [String; 5];

fn cells(row: &Row) -> Cells {
    let head = &row.item.head;
    let remark = match &row.fit {
        Fit::Unknown | Fit::Fits => String::new(),
        Fit::Misshaped(leaf) => format!("mis-shaped: the parameter is {}", leaf.type_text()),
        Fit::Unused { near: Some(near) } => format!("unused; is it `{}`?", one_line(near)),
        Fit::Unused { near: None } => "unused".to_owned(),
    };
    [one_line(&row.item.name), shape_of(&head.shape), head.dtype.to_string(), thousands(head.size as u64), remark]
}

fn missing_cells(missing: &Missing) -> Cells {
    let Missing { leaf, near } = missing;
    let near = near.as_ref().map_or(String::new(), |near| format!("there is `{}`", one_line(near)));
    [one_line(&leaf.name), leaf.shape_text(), leaf.dtype.to_string(), String::new(), near]
}

/// Aligns columns by their widest cells, except for names, which may be very long; bytes are right-aligned.
fn table(rows: &[Cells]) -> String {
    let widest = |i: usize| rows.iter().map(|row| row[i].chars().count()).filter(|&n| n <= 64).max().unwrap_or(0);
    let width: [usize; 4] = std::array::from_fn(widest);
    let mut out = String::new();
    for [name, shape, dtype, bytes, remark] in rows {
        let [a, b, c, d] = width;
        let line = format!("{name:a$}  {shape:b$}  {dtype:c$}  {bytes:>d$}  {remark}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn summary(file: &Listed) -> String {
    let bytes: u64 = file.rows.iter().map(|row| row.item.head.size as u64).sum();
    let mut text = format!("{}, {} bytes", count(file.rows.len(), "tensor"), thousands(bytes));
    if file.rows.iter().any(|row| row.fit != Fit::Unknown) {
        let n = |is: fn(&Fit) -> bool| file.rows.iter().filter(|row| is(&row.fit)).count();
        let parts = [
            (n(|fit| *fit == Fit::Fits), "fit"),
            (n(|fit| matches!(fit, Fit::Misshaped(_))), "mis-shaped"),
            (n(|fit| matches!(fit, Fit::Unused { .. })), "unused"),
        ];
        let parts: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let _ = write!(text, ": {}", parts.join(", "));
    }
    text
}

fn file_json(file: &Listed) -> Value {
    let row = |row: &Row| {
        let head = &row.item.head;
        let mut value = json!({
            "name": row.item.name,
            "shape": head.shape,
            "dtype": head.dtype.to_string(),
            "bytes": head.size,
        });
        match &row.fit {
            Fit::Unknown => {}
            Fit::Fits => value["fit"] = "fits".into(),
            Fit::Misshaped(leaf) => {
                value["fit"] = "mis-shaped".into();
                value["parameter"] = json!({ "shape": dims_json(leaf), "dtype": leaf.dtype.to_string() });
            }
            Fit::Unused { near } => {
                value["fit"] = "unused".into();
                value["near"] = json!(near);
            }
        }
        value
    };
    let rows: Vec<Value> = file.rows.iter().map(row).collect();
    json!({ "file": file.name, "format": file.format, "tensors": rows })
}

/// The dimensions as JSON; `null` is a dynamic dimension.
fn dims_json(leaf: &Leaf) -> Value {
    leaf.dims.iter().map(|dim| json!(dim.value())).collect()
}
