//! Tests of the rules: each example, and what stays as it is.

use super::*;
use crate::fmt;
use relayc_base::FileId;

/// Entries for the examples: scales of a sum, a threshold, suppression with and without positions.
const METADATA: &str = r#"#[metadata]
{"root": 1, "nodes": [{"type_key": ""},
  {"type_key": "Map", "keys": ["relay.attrs.QnnBinaryOpAttrs", "relay.attrs.GetValidCountsAttrs",
    "relay.attrs.NonMaximumSuppressionAttrs", "relay.attrs.OnDeviceAttrs"], "data": [2, 4, 6, 9]},
  {"type_key": "Array", "data": [3]},
  {"type_key": "relay.attrs.QnnBinaryOpAttrs", "attrs": {"lhs_scale": "0.5", "lhs_zero_point": "1", "rhs_scale": "0.25",
    "rhs_zero_point": "2", "output_scale": "0.125", "output_zero_point": "3"}},
  {"type_key": "Array", "data": [5]},
  {"type_key": "relay.attrs.GetValidCountsAttrs", "attrs": {"id_index": "0", "score_index": "1", "score_threshold": "0.25"}},
  {"type_key": "Array", "data": [7, 8]},
  {"type_key": "relay.attrs.NonMaximumSuppressionAttrs", "attrs": {"coord_start": "2", "force_suppress": "0", "id_index": "0",
    "invalid_to_bottom": "0", "iou_threshold": "0.5", "max_output_size": "-1", "return_indices": "1", "score_index": "1",
    "top_k": "-1"}},
  {"type_key": "relay.attrs.NonMaximumSuppressionAttrs", "attrs": {"coord_start": "2", "force_suppress": "0", "id_index": "0",
    "invalid_to_bottom": "0", "iou_threshold": "0.5", "max_output_size": "-1", "return_indices": "0", "score_index": "1",
    "top_k": "-1"}},
  {"type_key": "Array", "data": [10]},
  {"type_key": "relay.attrs.OnDeviceAttrs", "attrs": {"device_type": "1"}}]}
"#;

const PARAMS: &str = "%x, %y, %i, %n, %m, %v, %t, %f";

/// A call as a text that TVM 0.6 printed, or a later one.
fn text(call: &str, old: bool) -> String {
    let header = if old { "v0.0.4" } else { "#[version = \"0.0.5\"]" };
    format!("{header}\ndef @main({PARAMS}) {{\n  {call}\n}}\n{METADATA}")
}

/// The call of a text, in one line.
fn call(text: &str) -> String {
    let body = text.split_once("{\n").map_or("", |(_, rest)| rest);
    let body = body.split_once("\n}\n").map_or("", |(body, _)| body);
    body.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("( ", "(")
        .replace(", )", ")")
        .replace(",)", ")")
        .replace(") )", "))")
}

#[test]
fn every_rule_makes_its_example_todays() {
    for rule in rules::RULES {
        let is_gone = rule.gone().is_some();
        assert_eq!(is_gone, rule.today.is_empty(), "{}", rule.old);
        let old = text(rule.old, rule.until == 6 || rule.is_ambiguous());
        let new = fmt::upgrade(FileId(0), &old).unwrap_or_else(|report| panic!("{}: {report:?}", rule.old));
        let expected = if is_gone { rule.old } else { rule.today };
        assert_eq!(call(&new), expected.replace(",)", ")"), "{}", rule.old);
        if !is_gone {
            assert_eq!(fmt::upgrade(FileId(0), &new).as_deref(), Ok(&*new), "{}", rule.old);
        }
    }
}

#[test]
fn rules_are_in_order() {
    assert!(rules::RULES.is_sorted_by_key(|rule| rule.operator));
}

#[test]
fn a_call_that_is_right_today_is_left_as_it_is() {
    for rule in rules::RULES.iter().filter(|rule| rule.is_ambiguous() && rule.operator != "image.resize") {
        let today = text(rule.old, false);
        let new = fmt::upgrade(FileId(0), &today).unwrap_or_default();
        assert_eq!(call(&new), rule.old);
    }
}

#[test]
fn one_old_call_tells_the_age_of_the_others() {
    let body = "let %a = nn.pad(%x, pad_width=[[0, 1]]);\n  nn.batch_matmul(%a, %y)";
    let new = fmt::upgrade(FileId(0), &text(body, false)).unwrap_or_default();
    assert_eq!(call(&new), "let %a = nn.pad(%x, 0f, pad_width=[[0, 1]]); nn.batch_matmul(%a, %y, transpose_b=True)");
}

#[test]
fn comments_stay_where_an_attribute_goes() {
    let body = "reshape(%x, /* two */ newshape=[2], /* no */ reverse=False /* it is gone */)";
    let new = fmt::upgrade(FileId(0), &text(body, false)).unwrap_or_default();
    for comment in ["/* two */", "/* no */", "/* it is gone */"] {
        assert!(new.contains(comment), "{new}");
    }
    assert!(!new.contains("reverse"), "{new}");
}

#[test]
fn calls_inside_each_other_are_rewritten_together() {
    let body = "nn.pad(nn.pad(%x, pad_width=[[0, 1]], pad_value=1f), pad_width=[[1, 0]])";
    let new = fmt::upgrade(FileId(0), &text(body, false)).unwrap_or_default();
    assert_eq!(call(&new), "nn.pad(nn.pad(%x, 1f, pad_width=[[0, 1]]), 0f, pad_width=[[1, 0]])");
}

#[test]
fn comments_inside_of_what_is_replaced_stay() {
    let body = "image.resize(%x, size=[ /* c */ 4, 4], method /* d */ = // e\n \"nearest_neighbor\")";
    let new = fmt::upgrade(FileId(0), &text(body, false)).unwrap_or_default();
    for comment in ["/* c */", "/* d */", "// e"] {
        assert_eq!(new.matches(comment).count(), 1, "{new}");
    }
    assert!(new.contains("image.resize2d") && new.contains("roi"), "{new}");
    let body = "nn.pad(%x, pad_value /* f */ = /* g */ 2f /* h */, pad_width=[[0, 1]])";
    let new = fmt::upgrade(FileId(0), &text(body, false)).unwrap_or_default();
    for comment in ["/* f */", "/* g */", "/* h */"] {
        assert_eq!(new.matches(comment).count(), 1, "{new}");
    }
    assert!(!new.contains("pad_value"), "{new}");
}
