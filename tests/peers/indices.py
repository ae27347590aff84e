"""Cases of sorting, scanning, scattering and quantizing."""
import itertools

import numpy as np

from case import Case, Onnx, draw, node


def scatter(rng):
    x = draw(rng, "float32", (4, 3))
    for axis, (reduction, onnx_reduction) in itertools.product(
            [0, 1, -1], [("update", "none"), ("add", "add"), ("mul", "mul"), ("min", "min"), ("max", "max")]):
        # Positions that differ, where the order of updates would count.
        at = np.stack([rng.permutation(x.shape[axis])[:2] for _ in range(x.shape[1 - axis % 2])], axis % 2)
        u = draw(rng, "float32", at.shape)
        yield Case("scatter_elements", f'scatter_elements({{x}}, {{i}}, {{u}}, axis={axis}, reduction="{reduction}", '
                   'attrs_type_key="relay.attrs.ScatterElementsAttrs")', {"x": x, "i": at, "u": u},
                   node("ScatterElements", axis=axis, reduction=onnx_reduction))
    for n, (mode, onnx_mode) in itertools.product([1, 2], [("update", "none"), ("add", "add"), ("mul", "mul"), ("min", "min"), ("max", "max")]):
        where = rng.permutation(12)[:5] if n == 2 else rng.permutation(4)[:3]
        at = np.stack([where // 3, where % 3]) if n == 2 else where[None]
        u = draw(rng, "float32", at.shape[1:] + x.shape[n:])
        # ONNX has the indices of an element last, Relay first.
        steps = [("Transpose", ["i"], ["t"], {"perm": [1, 0]}), ("ScatterND", ["x", "t", "u"], ["out"], {"reduction": onnx_mode})]
        yield Case("scatter_nd", f'scatter_nd({{x}}, {{i}}, {{u}}, mode="{mode}", attrs_type_key="relay.attrs.ScatterNDAttrs")',
                   {"x": x, "i": at, "u": u}, Onnx(steps, ["out"]))


def order(rng):
    x = rng.permutation(60).reshape(3, 4, 5).astype("float32")
    for axis, ascending in itertools.product([0, 1, -1], [False, True]):
        yield Case("topk", f'topk({{x}}, k=3, axis={axis}, is_ascend={ascending}, dtype="int64")', {"x": x},
                   node("TopK", np.array([3]), axis=axis, largest=int(not ascending), outputs=2))
        def sort(x, axis=axis, ascending=ascending):
            return np.sort(x, axis) if ascending else np.flip(np.sort(x, axis), axis)
        yield Case("sort", f"sort({{x}}, axis={axis}, is_ascend={ascending})", {"x": x}, None, sort)
        yield Case("argsort", f'argsort({{x}}, axis={axis}, is_ascend={ascending}, dtype="int64")', {"x": x}, None,
                   lambda x, axis=axis, ascending=ascending: np.argsort(x if ascending else -x, axis, kind="stable"))
    line, values = np.sort(draw(rng, "float32", (9,))), draw(rng, "float32", (2, 5))
    for right in [False, True]:
        yield Case("searchsorted", f'searchsorted({{x}}, {{v}}, right={right}, dtype="int64")', {"x": line, "v": values}, None,
                   lambda x, v, right=right: np.searchsorted(x, v, "right" if right else "left").astype("int64"))
    yield Case("argwhere", "argwhere({x})", {"x": draw(rng, "int32", (3, 4)) // 30}, None,
               lambda x: np.argwhere(x).astype("int32"), adjust=lambda got, want: ([got[0].astype("int32")], want))


def scan(rng):
    for axis, exclusive in itertools.product([0, 1, -1], [0, 1]):
        x = draw(rng, "float32", (3, 4, 2))
        words = f'axis={axis}, exclusive={bool(exclusive)}, attrs_type_key="relay.attrs.ScanopAttrs"'
        yield Case("cumsum", f"cumsum({{x}}, {words})", {"x": x}, node("CumSum", np.array(axis), exclusive=exclusive))
        if not exclusive:
            yield Case("cumprod", f"cumprod({{x}}, {words})", {"x": x}, None, lambda x, axis=axis: np.cumprod(x, axis))
    x = draw(rng, "float32", (2, 3, 4))
    for upper, k in itertools.product([0, 1], [-2, 0, 1, 9]):
        yield Case("trilu", f'trilu({{x}}, {k}, upper={bool(upper)}, attrs_type_key="relay.attrs.TriluAttrs")', {"x": x},
                   node("Trilu", np.array(k), upper=upper))
    x, n = draw(rng, "float32", (4, 5, 2)), np.array([1, 3, 5, 2])
    yield Case("reverse_sequence", "reverse_sequence({x}, {n}, seq_axis=1, batch_axis=0)", {"x": x, "n": n},
               node("ReverseSequence", time_axis=1, batch_axis=0))


def quantize(rng):
    # Far from the middle of two steps, where the two round differently.
    x = (rng.integers(-400, 400, (50,)) * 0.25 + rng.uniform(-0.1, 0.1, (50,))).astype("float32")
    for dtype, zero in [("int8", -3), ("uint8", 128)]:
        scale, at = np.array(0.25, "float32"), np.array(zero, dtype)
        yield Case("qnn.quantize", f'qnn.quantize({{x}}, 0.25f, {zero}, out_dtype="{dtype}")', {"x": x},
                   node("QuantizeLinear", scale, at))
        q = draw(rng, dtype, (20,))
        yield Case("qnn.dequantize", f'qnn.dequantize({{q}}, 0.25f, {zero}, out_dtype="float32")', {"q": q},
                   node("DequantizeLinear", scale, at))


GENERATORS = [scatter, order, scan, quantize]
