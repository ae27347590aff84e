//! Signature help: the operands and attributes of the call that is being written.

use super::{Cx, completion};
use crate::cursor::{Callee, Cursor};
use crate::words;
use lsp_types::{Documentation, ParameterInformation, ParameterLabel, SignatureHelp, SignatureHelpParams, SignatureInformation};
use relayc_ir::types::Ty;

pub(super) fn help(cx: &mut Cx, params: SignatureHelpParams) -> Option<SignatureHelp> {
    let at = cx.offset(params.text_document_position_params.position);
    let cursor = Cursor::at(&cx.checked.text.text, &cx.checked.analysis.lexed, at);
    let call = cursor.call.as_ref()?;
    let (name, labels, keys, documentation) = match &call.callee {
        Callee::Name(name) => match completion::operator(name) {
            Some(def) => {
                let keys = def.written_fields().iter().map(|field| field.name.to_owned()).collect();
                (def.name.to_owned(), def.signature_parts(), keys, Some(def.summary().to_owned()))
            }
            None => constructor(cx, name)?,
        },
        Callee::Global(name) => function(cx, name)?,
    };
    let n_operands = labels.len() - keys.len();
    let active = match &call.attr {
        Some(attr) => keys.iter().position(|key| key == attr).map(|index| n_operands + index),
        None => Some(call.index).filter(|&index| index < n_operands),
    };
    let mut label = format!("{name}(");
    let mut parameters = vec![];
    for (index, text) in labels.iter().enumerate() {
        if index > 0 {
            label.push_str(", ");
        }
        // Labels are places in the signature, counted in UTF-16.
        let start = label.encode_utf16().count() as u32;
        label.push_str(text);
        let end = label.encode_utf16().count() as u32;
        let label = match cx.client.label_offsets {
            true => ParameterLabel::LabelOffsets([start, end]),
            false => ParameterLabel::Simple(text.clone()),
        };
        parameters.push(ParameterInformation { label, documentation: None });
    }
    label.push(')');
    let signature = SignatureInformation {
        label,
        documentation: documentation.map(Documentation::String),
        parameters: Some(parameters),
        active_parameter: active.map(|active| active as u32),
    };
    Some(SignatureHelp {
        signatures: vec![signature],
        active_signature: Some(0),
        active_parameter: active.map(|active| active as u32),
    })
}

/// Name, labels of parameters, names of attributes, documentation.
type Parts = (String, Vec<String>, Vec<String>, Option<String>);

fn function(cx: &Cx, name: &str) -> Option<Parts> {
    let module = cx.checked.module();
    let global = module.globals.iter().find(|global| *global.name == *name)?;
    let params = module.funcs[global.func].params.iter().map(|&var| {
        let var = &module.vars[var];
        let ty = var.checked_ty.or(var.ty).filter(|&ty| ty != Ty::ERROR);
        let ty = ty.map_or("_".to_owned(), |ty| words::short(cx.checked, ty, 80));
        format!("%{}: {ty}", var.name)
    });
    Some((format!("@{name}"), params.collect(), vec![], None))
}

fn constructor(cx: &Cx, name: &str) -> Option<Parts> {
    let module = cx.checked.module();
    let ctor = module.ctors.iter().find(|ctor| *ctor.name == *name)?;
    let inputs = ctor.inputs.iter().map(|&ty| words::short(cx.checked, ty, 80)).collect();
    Some((name.to_owned(), inputs, vec![], Some(format!("a constructor of `{}`", module.adts[ctor.adt].name))))
}
