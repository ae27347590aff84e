"""Optimizations that change weights together with the program that uses them."""

from __future__ import annotations

from . import bsr_conv2d, bsr_dense, simplify_fc_transpose

__all__ = ["bsr_conv2d", "bsr_dense", "simplify_fc_transpose"]
