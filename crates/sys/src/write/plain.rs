//! The plain form: the owner is whoever writes.

use std::fs::{File, Metadata};

pub(super) fn keep_owner(_: &File, _: &Metadata) {}
