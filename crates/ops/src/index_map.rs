//! Layouts that TVM's meta-schedule finds: a map from indices to indices, kept as an object of the metadata section.

use super::attrs::{IndexMap, ObjectOf};
use crate::prelude::*;
use relayc_base::IndexVec;
use relayc_ir::object::{FieldValue, Object, ObjectId};
use rustc_hash::FxHashMap;

attrs! {
    "relay.attrs.MetaScheduleLayoutTransformAttrs" =>
    pub(crate) struct MetaScheduleLayoutTransformAttrs {
        /// The map from each index of `data` to an index of the result.
        pub(crate) index_map: ObjectOf<IndexMap>;
    }
}

pub(crate) const META_SCHEDULE_LAYOUT_TRANSFORM: OpDef = OpDef {
    name: "meta_schedule_layout_transform",
    doc: "`data` in the layout that the meta-schedule chose for a kernel; its passes insert the call. Each axis of the result is \
          as long as the indices that `index_map` leads to (`src/relay/op/tensor/transform.cc`, `src/tir/ir/index_map.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(MetaScheduleLayoutTransformAttrs::SCHEMA),
    rules: &["C1: index_map has an initial index for each axis of data"],
    rel: meta_schedule_layout_transform_rel,
    fuse: Some(Fuse::Injective),
    internal: true,
    ..OpDef::BASE
};

fn meta_schedule_layout_transform_rel(cx: &mut RelCx) -> RelResult {
    let attrs = MetaScheduleLayoutTransformAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    let map = cx.objects.zip(attrs.index_map.0).and_then(|(objects, id)| Map::read(objects, id));
    let n_indices = map.as_ref().map(|map| map.initial.len());
    cx.require("C1", n_indices == Some(data.rank()), || {
        let found = n_indices.map_or("no map".to_owned(), |n| format!("{n}"));
        Fault::attr("index_map", format!("expected {} initial indices, found {found}", data.rank())).at(data.place(), "")
    })?;
    let wide = data.shape.iter().any(|dim| dim.is_wide());
    let extents = map.map(|map| map.extents(&data.shape)).unwrap_or_default();
    let dim = |extent: Option<i64>| extent.map_or(Dim::Any, |value| Dim::number(value, wide));
    let shape: Shape = extents.into_iter().map(|extent| SDim::new(dim(extent), DimOrigin::Attr("index_map"))).collect();
    cx.set_out(shape, data.dtype)
}

/// An index map that has been read.
struct Map<'a> {
    objects: &'a IndexVec<ObjectId, Object>,
    initial: &'a [Option<ObjectId>],
    last: &'a [Option<ObjectId>],
}

impl<'a> Map<'a> {
    fn read(objects: &'a IndexVec<ObjectId, Object>, id: ObjectId) -> Option<Map<'a>> {
        let Object::Record { fields, .. } = &objects[id] else { return None };
        let array = |at: usize| match fields.get(at) {
            Some(FieldValue::Object(Some(id))) => match &objects[*id] {
                Object::Array(items) => Some(&**items),
                _ => None,
            },
            _ => None,
        };
        Some(Map { objects, initial: array(0)?, last: array(1)? })
    }

    /// How many values each final index takes, for indices of a shape; `None` where that is not known. As TVM counts them,
    /// a remainder takes all values below its divisor, and a sum as many as its largest term.
    fn extents(&self, shape: &[Dim]) -> Vec<Option<i64>> {
        let mut extents: FxHashMap<ObjectId, Option<i64>> = FxHashMap::default();
        for (&index, dim) in self.initial.iter().zip(shape) {
            extents.extend(index.map(|index| (index, dim.value())));
        }
        // Parts before what they are parts of.
        let mut left: Vec<(ObjectId, bool)> = self.last.iter().flatten().map(|&id| (id, false)).collect();
        while let Some((id, visited)) = left.pop() {
            if extents.contains_key(&id) {
                continue;
            }
            let Some((operation, a, b)) = self.operation(id) else {
                extents.insert(id, self.number(id).map(|_| 1));
                continue;
            };
            if !visited {
                left.extend([(id, true), (a, false), (b, false)]);
                continue;
            }
            let of = |part: ObjectId| extents.get(&part).copied().flatten();
            let extent = match (operation, self.number(b)) {
                ("tir.Add" | "tir.Sub", _) => of(a).zip(of(b)).map(|(a, b)| a.max(b)),
                ("tir.Mul", Some(factor)) => of(a).and_then(|a| a.checked_mul(factor)),
                ("tir.FloorDiv", Some(1..)) => {
                    of(a).zip(self.number(b)).map(|(a, divisor)| (a.max(0) as u64).div_ceil(divisor as u64) as i64)
                }
                ("tir.FloorMod", Some(divisor)) => Some(divisor),
                _ => None,
            };
            extents.insert(id, extent.filter(|&extent| extent >= 0));
        }
        self.last.iter().map(|id| id.and_then(|id| extents.get(&id).copied().flatten())).collect()
    }

    fn operation(&self, id: ObjectId) -> Option<(&'static str, ObjectId, ObjectId)> {
        let Object::Record { record, fields } = &self.objects[id] else { return None };
        match &**fields {
            [_, FieldValue::Object(Some(a)), FieldValue::Object(Some(b)), _] if record.fields[1].0 == "a" => {
                Some((record.type_key, *a, *b))
            }
            _ => None,
        }
    }

    fn number(&self, id: ObjectId) -> Option<i64> {
        match &self.objects[id] {
            Object::Record { record, fields } if record.type_key == "IntImm" => match fields.get(1) {
                Some(FieldValue::Text(text)) => text.parse().ok(),
                _ => None,
            },
            _ => None,
        }
    }
}

pub(crate) const FAMILY: &[OpDef] = &[META_SCHEDULE_LAYOUT_TRANSFORM];
