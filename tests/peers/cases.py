"""The cases, a generator for each kind of operator."""
import itertools
import math

import numpy as np
import onnx

import images
import indices
from case import Case, Onnx, chain, draw, node, special

FLOATS = ["float32", "float64"]
INTS = ["int32", "int64"]
SHAPES = [(), (1,), (7,), (3, 1), (2, 3, 4), (0, 3), (2, 1, 3, 2, 2)]
# Pairs of shapes that broadcast.
PAIRS = [((2, 3), (2, 3)), ((2, 3), ()), ((3,), (2, 3)), ((4, 1, 3), (2, 1)), ((1,), (0, 3)), ((2, 1, 1, 5), (3, 4, 1))]


def all_cases(rng):
    for generate in [unary, binary, compare, logic, bits, reduce, arg, shapes, join, slices, index, products, conv,
                     conv_of_other_ranks, pool, pool_of_other_ranks, norm,
                     softmax, pad, *images.GENERATORS, *indices.GENERATORS]:
        yield from generate(rng)


# Relay's name, ONNX's, the interval of ordinary values.
UNARY = [
    ("abs", "Abs", -4, 4), ("negative", "Neg", -4, 4), ("exp", "Exp", -4, 4), ("log", "Log", 0.1, 9), ("sqrt", "Sqrt", 0, 9),
    ("ceil", "Ceil", -4, 4), ("floor", "Floor", -4, 4), ("round", "Round", -4, 4), ("sign", "Sign", -4, 4), ("sin", "Sin", -4, 4),
    ("cos", "Cos", -4, 4), ("tan", "Tan", -1, 1), ("asin", "Asin", -1, 1), ("acos", "Acos", -1, 1), ("atan", "Atan", -4, 4),
    ("sinh", "Sinh", -4, 4), ("cosh", "Cosh", -4, 4), ("asinh", "Asinh", -4, 4), ("acosh", "Acosh", 1, 4),
    ("atanh", "Atanh", -0.9, 0.9), ("erf", "Erf", -2, 2), ("sigmoid", "Sigmoid", -4, 4), ("tanh", "Tanh", -4, 4),
    ("nn.relu", "Relu", -4, 4),
]


def unary(rng):
    for (op, kind, low, high), dtype in itertools.product(UNARY, FLOATS):
        in_numpy = {"abs": np.abs, "negative": np.negative, "ceil": np.ceil, "floor": np.floor, "sign": np.sign, "exp": np.exp,
                    "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
                    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
                    "acosh": np.arccosh, "atanh": np.arctanh, "tanh": np.tanh, "round": np.rint,
                    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": np.vectorize(math.erf, otypes=[dtype]), "nn.relu": lambda x: np.maximum(x, 0)}.get(op)
        for shape in SHAPES:
            yield Case(op, op + "({x})", {"x": draw(rng, dtype, shape, low, high)}, node(kind), in_numpy, each=True)
        yield Case(op, op + "({x})", {"x": special(dtype)}, node(kind), in_numpy, each=True, about={"special": True})
    for op, in_numpy in [("log2", np.log2), ("log10", np.log10), ("rsqrt", lambda x: 1 / np.sqrt(x)), ("trunc", np.trunc)]:
        for dtype in FLOATS:
            yield Case(op, op + "({x})", {"x": draw(rng, dtype, (3, 50), 0.1, 9)}, None, in_numpy, each=True)
            yield Case(op, op + "({x})", {"x": special(dtype)}, None, in_numpy, each=True, about={"special": True})
    for op, kind, in_numpy in [("isnan", "IsNaN", np.isnan), ("isinf", "IsInf", np.isinf), ("isfinite", None, np.isfinite)]:
        for dtype in FLOATS:
            yield Case(op, op + "({x})", {"x": special(dtype)}, kind and node(kind), in_numpy)
    for dtype in FLOATS + INTS + ["int8", "uint8"]:
        x = draw(rng, dtype, (4, 5))
        yield Case("clip", "clip({x}, a_min=-2f, a_max=3f)" if dtype != "uint8" else "clip({x}, a_min=2f, a_max=3f)", {"x": x},
                   node("Clip", np.array(2 if dtype == "uint8" else -2, dtype), np.array(3, dtype)))
        for to in FLOATS + INTS + ["bool", "int8", "uint8", "float16"]:
            kind = onnx_dtype(to)
            fits = draw(rng, dtype, (9,)) if not (dtype.startswith(("float", "int")) and to == "uint8") else np.abs(x)
            yield Case("cast", f'cast({{x}}, dtype="{to}")', {"x": fits}, node("Cast", to=kind))
    for alpha in [0.0, 0.25, 1.0]:
        x = draw(rng, "float32", (3, 5))
        yield Case("nn.leaky_relu", f"nn.leaky_relu({{x}}, alpha={alpha}f)", {"x": x}, node("LeakyRelu", alpha=alpha))


def onnx_dtype(dtype):
    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def binary(rng):
    ops = [("add", "Add"), ("subtract", "Sub"), ("multiply", "Mul"), ("divide", "Div"), ("maximum", "Max"), ("minimum", "Min"),
           ("power", "Pow")]
    for (op, kind), dtype in itertools.product(ops, FLOATS + INTS):
        if op == "power" and dtype in INTS:
            continue
        for a, b in PAIRS:
            x, y = draw(rng, dtype, a), draw(rng, dtype, b)
            if op == "divide" and dtype in INTS:
                y = np.where(y == 0, 3, y).astype(dtype)
            if op == "power":
                x = np.abs(x) + x.dtype.type(0.1)
            yield Case(op, op + "({x}, {y})", {"x": x, "y": y}, node(kind), each=True, about={"dtype": dtype})
        if dtype in FLOATS:
            x, y = (grid.ravel() for grid in np.meshgrid(special(dtype), special(dtype)))
            yield Case(op, op + "({x}, {y})", {"x": x, "y": y}, node(kind), each=True, about={"special": True})
    for dtype in FLOATS + INTS:
        x, y = draw(rng, dtype, (3, 4)), draw(rng, dtype, (4,))
        y = np.where(np.abs(y) < 1, 3, y).astype(dtype)
        yield Case("mod", "mod({x}, {y})", {"x": x, "y": y}, node("Mod", fmod=1), each=True)
        yield Case("floor_mod", "floor_mod({x}, {y})", {"x": x, "y": y}, node("Mod") if dtype in INTS else None, np.mod, each=True)
        yield Case("floor_divide", "floor_divide({x}, {y})", {"x": x, "y": y}, None, np.floor_divide, each=True)
    for a, b in PAIRS:
        condition = draw(rng, "bool", a)
        x, y = draw(rng, "float32", b), draw(rng, "float32", a)
        yield Case("where", "where({c}, {x}, {y})", {"c": condition, "x": x, "y": y}, node("Where"))


def compare(rng):
    ops = [("equal", node("Equal")), ("not_equal", chain("Equal", "Not")), ("less", node("Less")), ("greater", node("Greater")),
           ("less_equal", node("LessOrEqual")), ("greater_equal", node("GreaterOrEqual"))]
    for (op, onnx), dtype in itertools.product(ops, FLOATS + INTS):
        x, y = (grid.ravel() for grid in np.meshgrid(special(dtype), special(dtype)))
        yield Case(op, op + "({x}, {y})", {"x": x, "y": y}, onnx)
        yield Case(op, op + "({x}, {y})", {"x": draw(rng, dtype, (2, 1, 3)), "y": draw(rng, dtype, (4, 1))}, onnx)


def logic(rng):
    for op, kind in [("logical_and", "And"), ("logical_or", "Or"), ("logical_xor", "Xor")]:
        for a, b in PAIRS:
            yield Case(op, op + "({x}, {y})", {"x": draw(rng, "bool", a), "y": draw(rng, "bool", b)}, node(kind))
    yield Case("logical_not", "logical_not({x})", {"x": draw(rng, "bool", (5,))}, node("Not"))


def bits(rng):
    ops = [("bitwise_and", "BitwiseAnd"), ("bitwise_or", "BitwiseOr"), ("bitwise_xor", "BitwiseXor")]
    for (op, kind), dtype in itertools.product(ops, ["int8", "uint8", "int32", "int64"]):
        x, y = (grid.ravel() for grid in np.meshgrid(special(dtype), special(dtype)))
        yield Case(op, op + "({x}, {y})", {"x": x, "y": y}, node(kind))
    for dtype in ["int8", "uint8", "int32", "int64"]:
        yield Case("bitwise_not", "bitwise_not({x})", {"x": special(dtype)}, node("BitwiseNot"))
    for dtype in ["uint8", "uint32", "uint64"]:
        y = np.arange(8, dtype=dtype)
        x = draw(rng, dtype, (8,))
        yield Case("left_shift", "left_shift({x}, {y})", {"x": x, "y": y}, node("BitShift", direction="LEFT"), np.left_shift)
        yield Case("right_shift", "right_shift({x}, {y})", {"x": x, "y": y}, node("BitShift", direction="RIGHT"), np.right_shift)


def reduce(rng):
    ops = [("sum", "ReduceSum", np.sum), ("mean", "ReduceMean", np.mean), ("max", "ReduceMax", np.max), ("min", "ReduceMin", np.min),
           ("prod", "ReduceProd", np.prod)]
    axes = [((5,), [0]), ((2, 3, 4), [1]), ((2, 3, 4), [-1, 0]), ((2, 3, 4), [0, 1, 2]), ((1, 7, 1), [1]), ((2, 3, 4, 5), [3, 1])]
    for (op, kind, in_numpy), dtype in itertools.product(ops, FLOATS + INTS):
        for shape, axis in axes:
            for keep in [False, True]:
                x = draw(rng, dtype, shape, -2, 2)
                if op == "prod" and dtype in INTS:
                    # ONNX Runtime does not wrap.
                    x = x % 3
                if op == "mean" and dtype in INTS:
                    # Both divide towards zero only above it.
                    x = np.abs(x)
                def plain(x, axis=tuple(axis), keep=keep, in_numpy=in_numpy):
                    return np.asarray(in_numpy(x, axis=axis, keepdims=keep)).astype(x.dtype)
                yield Case(op, f"{op}({{x}}, axis={axis}, keepdims={keep})", {"x": x},
                           node(kind, np.array(axis), keepdims=int(keep)), plain)
        if op not in ("max", "min"):
            yield Case(op, f"{op}({{x}}, axis=[0])", {"x": np.zeros((0, 3), dtype)}, None if op == "mean" and dtype in INTS else
                       node(kind, np.array([0]), keepdims=0), lambda x, in_numpy=in_numpy: in_numpy(x, axis=0).astype(x.dtype),
                       about={"empty": True, "dtype": dtype})
    for dtype in FLOATS:
        x = draw(rng, dtype, (3, 4, 5))
        yield Case("variance", "variance({x}, mean({x}, axis=[1], keepdims=True), axis=[1])", {"x": x}, None, lambda x: x.var(axis=1))
    x = draw(rng, "bool", (3, 4))
    yield Case("all", "all({x}, axis=[1])", {"x": x}, None, lambda x: x.all(axis=1))
    yield Case("any", "any({x}, axis=[0])", {"x": x}, None, lambda x: x.any(axis=0))


def arg(rng):
    for (op, kind), dtype in itertools.product([("argmax", "ArgMax"), ("argmin", "ArgMin")], FLOATS + ["int32"]):
        for shape, axis in [((5,), 0), ((2, 3, 4), 1), ((2, 3, 4), -1)]:
            for keep, last in itertools.product([False, True], [False, True]):
                x = draw(rng, "int32", shape).astype(dtype) // 20
                yield Case(op, f'{op}({{x}}, axis=[{axis}], keepdims={keep}, select_last_index={last}, dtype="int64")'
                           .replace(', dtype="int64"', ""), {"x": x},
                           node(kind, axis=axis, keepdims=int(keep), select_last_index=int(last)),
                           lambda x, axis=axis, keep=keep, op=op, last=last: arg_in_numpy(op, x, axis, keep, last),
                           adjust=as_int64)


def arg_in_numpy(op, x, axis, keep, last):
    x = np.flip(x, axis) if last else x
    at = (np.argmax if op == "argmax" else np.argmin)(x, axis=axis, keepdims=keep)
    return x.shape[axis] - 1 - at if last else at


def as_int64(got, want):
    """TVM counts positions in int32."""
    return [array.astype(np.int64) for array in got], [np.asarray(array).astype(np.int64) for array in want]


def shapes(rng):
    x = draw(rng, "float32", (2, 3, 4))
    i = draw(rng, "int64", (2, 3, 4))
    for data in [x, i]:
        for new in [(4, 6), (24,), (2, -1), (0, 12), (1, 2, 3, 4)]:
            yield Case("reshape", f"reshape({{x}}, newshape={list(new)})", {"x": data}, node("Reshape", np.array(new)))
        for axes in itertools.permutations(range(3)):
            yield Case("transpose", f"transpose({{x}}, axes={list(axes)})", {"x": data}, node("Transpose", perm=axes))
        for shape in [(2, 3, 4), (5, 2, 3, 4)]:
            yield Case("broadcast_to", f"broadcast_to({{x}}, shape={list(shape)})", {"x": data}, node("Expand", np.array(shape)))
        for reps in [(1, 2, 1), (2, 1, 3)]:
            yield Case("tile", f"tile({{x}}, reps={list(reps)})", {"x": data}, node("Tile", np.array(reps)))
        yield Case("repeat", "repeat({x}, repeats=3, axis=1)", {"x": data}, None, lambda x: np.repeat(x, 3, axis=1))
        yield Case("reverse", "reverse({x}, axis=1)", {"x": data}, None, lambda x: np.flip(x, 1))
        for axis in [0, 2, 3, -1]:
            at = axis if axis >= 0 else 4 + axis
            yield Case("expand_dims", f"expand_dims({{x}}, axis={axis})", {"x": data}, node("Unsqueeze", np.array([at])))
        yield Case("shape_of", 'shape_of({x}, dtype="int64")', {"x": data}, node("Shape"))
        yield Case("ndarray_size", 'ndarray_size({x}, dtype="int64")', {"x": data}, node("Size"))
    one = draw(rng, "float32", (1, 3, 1, 2))
    yield Case("squeeze", "squeeze({x}, axis=[0, 2])", {"x": one}, node("Squeeze", np.array([0, 2])))
    yield Case("squeeze", "squeeze({x})", {"x": one}, node("Squeeze"))
    yield Case("nn.batch_flatten", "nn.batch_flatten({x})", {"x": x}, node("Flatten", axis=1))


def join(rng):
    for axis in [0, 1, -1]:
        parts = {name: draw(rng, "float32", tuple(n if i == axis % 3 else d for i, d in enumerate((2, 3, 4))))
                 for name, n in [("a", 1), ("b", 3), ("c", 2)]}
        yield Case("concatenate", f"concatenate(({{a}}, {{b}}, {{c}}), axis={axis})", parts, node("Concat", axis=axis))
    parts = {name: draw(rng, "int32", (2, 3)) for name in "ab"}
    for axis in [0, 2, -1]:
        yield Case("stack", f"stack(({{a}}, {{b}}), axis={axis})", parts, None, lambda a, b, axis=axis: np.stack([a, b], axis))
    x = draw(rng, "float32", (6, 4))
    yield Case("split", "split({x}, indices_or_sections=3)", {"x": x}, node("Split", num_outputs=3, axis=0, outputs=3))
    yield Case("split", "split({x}, indices_or_sections=[1, 3], axis=1)", {"x": x},
               node("Split", np.array([1, 2, 1]), axis=1, outputs=3))


def slices(rng):
    x = draw(rng, "float32", (5, 6))
    cases = [([0], [3], [1], [0]), ([1, 2], [5, 6], [2, 3], [0, 1]), ([-3], [9], [1], [1]), ([4], [-9], [-2], [0]), ([2], [2], [1], [0])]
    for begin, end, strides, axes in cases:
        yield Case("strided_slice", f"strided_slice({{x}}, begin={begin}, end={end}, strides={strides}, axes={axes})", {"x": x},
                   node("Slice", np.array(begin), np.array(end), np.array(axes), np.array(strides)),
                   about={"stride": min(strides)})


def index(rng):
    x = draw(rng, "float32", (4, 3, 5))
    for axis in [0, 1, -1]:
        at = rng.integers(0, x.shape[axis], (2, 2))
        yield Case("take", f"take({{x}}, {{i}}, axis={axis})", {"x": x, "i": at}, node("Gather", axis=axis))
        at = rng.integers(0, x.shape[axis], tuple(2 if i == axis % 3 else d for i, d in enumerate(x.shape)))
        yield Case("gather", f"gather({{x}}, {{i}}, axis={axis})", {"x": x, "i": at}, node("GatherElements", axis=axis))
    for n in [1, 2, 3]:
        at = np.stack([rng.integers(0, x.shape[i], (6,)) for i in range(n)])
        # ONNX has the indices of an element last, Relay first.
        steps = [("Transpose", ["i"], ["t"], {"perm": [1, 0]}), ("GatherND", ["x", "t"], ["out"], {})]
        yield Case("gather_nd", "gather_nd({x}, {i})", {"x": x, "i": at}, Onnx(steps, ["out"]))
    for axis in [-1, 0, 1]:
        at = rng.integers(0, 5, (2, 3))
        steps = [("OneHot", ["i", "depth", "values"], ["out"], {"axis": axis})]
        constants = {"depth": np.array(5), "values": np.array([-1, 2], "float32")}
        yield Case("one_hot", f'one_hot({{i}}, 2f, -1f, depth=5, axis={axis}, dtype="float32")', {"i": at},
                   Onnx(steps, ["out"], constants))


def products(rng):
    for n, k, m in [(1, 1, 1), (2, 3, 4), (5, 17, 3), (1, 64, 9), (3, 0, 2)]:
        x, w = draw(rng, "float32", (n, k)), draw(rng, "float32", (m, k))
        yield Case("nn.dense", f"nn.dense({{x}}, {{w}}, units={m})", {"x": x, "w": w}, node("Gemm", transB=1),
                   lambda x, w: x @ w.T)
        y = draw(rng, "float32", (k, m))
        yield Case("nn.matmul", "nn.matmul({x}, {y}, units=None)", {"x": x, "y": y}, node("MatMul"), np.matmul)
        a, b = draw(rng, "float32", (2, n, k)), draw(rng, "float32", (2, k, m))
        yield Case("nn.batch_matmul", "nn.batch_matmul({a}, {b}, transpose_b=False)", {"a": a, "b": b}, node("MatMul"), np.matmul)
    x, b = draw(rng, "float32", (2, 3, 4)), draw(rng, "float32", (3,))
    yield Case("nn.bias_add", "nn.bias_add({x}, {b}, axis=1)", {"x": x, "b": b}, None, lambda x, b: x + b[:, None])


def conv(rng):
    for kernel, strides, pads, dilation, groups in [
        ((1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1), ((3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1), ((3, 2), (2, 1), (1, 0, 2, 1), (1, 1), 1),
        ((3, 3), (1, 2), (2, 2, 2, 2), (2, 2), 1), ((3, 3), (1, 1), (0, 1, 0, 1), (1, 1), 2), ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 4),
    ]:
        for size in [(7, 8), (9, 5)]:
            x, w = draw(rng, "float32", (2, 4, *size)), draw(rng, "float32", (8, 4 // groups, *kernel))
            yield Case("nn.conv2d", f"nn.conv2d({{x}}, {{w}}, strides={list(strides)}, padding={list(pads)}, "
                       f"dilation={list(dilation)}, groups={groups}, channels=8, kernel_size={list(kernel)})", {"x": x, "w": w},
                       node("Conv", strides=strides, pads=pads, dilations=dilation, group=groups))


def conv_of_other_ranks(rng):
    for op, size, letters in [("nn.conv1d", (9,), "W"), ("nn.conv3d", (5, 4, 6), "DHW")]:
        for stride, pad, dilation, groups in [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 1)]:
            n = len(size)
            x, w = draw(rng, "float32", (2, 4, *size)), draw(rng, "float32", (6, 4 // groups, *[2] * n))
            yield Case(op, f"{op}({{x}}, {{w}}, strides={[stride] * n}, padding={[pad] * 2 * n}, dilation={[dilation] * n}, "
                       f"groups={groups}, channels=6, kernel_size={[2] * n})", {"x": x, "w": w},
                       node("Conv", strides=[stride] * n, pads=[pad] * 2 * n, dilations=[dilation] * n, group=groups))
    for op, size in [("nn.conv1d_transpose", (5,)), ("nn.conv2d_transpose", (4, 5)), ("nn.conv3d_transpose", (3, 4, 2))]:
        for stride, pad, more in [(1, 0, 0), (2, 1, 0), (2, 0, 1)]:
            n = len(size)
            x, w = draw(rng, "float32", (1, 3, *size)), draw(rng, "float32", (3, 2, *[3] * n))
            yield Case(op, f"{op}({{x}}, {{w}}, strides={[stride] * n}, padding={[pad] * 2 * n}, output_padding={[more] * n}, "
                       f"channels=2, kernel_size={[3] * n})", {"x": x, "w": w},
                       node("ConvTranspose", strides=[stride] * n, pads=[pad] * 2 * n, output_padding=[more] * n))


def pool_of_other_ranks(rng):
    for n, size in [(1, (9,)), (3, (5, 6, 7))]:
        for window, stride, pad, ceil in [(2, 2, 0, 0), (3, 2, 1, 0), (3, 2, 0, 1)]:
            x = draw(rng, "float32", (2, 3, *size))
            words = f"pool_size={[window] * n}, strides={[stride] * n}, padding={[pad] * 2 * n}, ceil_mode={bool(ceil)}"
            attrs = {"kernel_shape": [window] * n, "strides": [stride] * n, "pads": [pad] * 2 * n, "ceil_mode": ceil}
            yield Case(f"nn.max_pool{n}d", f"nn.max_pool{n}d({{x}}, {words})", {"x": x}, node("MaxPool", **attrs))
            for include in [0, 1]:
                yield Case(f"nn.avg_pool{n}d", f"nn.avg_pool{n}d({{x}}, {words}, count_include_pad={bool(include)})", {"x": x},
                           node("AveragePool", **attrs, count_include_pad=include))


def pool(rng):
    windows = [((2, 2), (2, 2), (0, 0, 0, 0), (1, 1)), ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)), ((3, 2), (1, 2), (0, 1, 2, 0), (1, 1)),
               ((2, 2), (1, 1), (0, 0, 0, 0), (2, 2))]
    for (size, strides, pads, dilation), ceil, shape in itertools.product(windows, [0, 1], [(1, 2, 7, 8), (2, 1, 6, 6)]):
        x = draw(rng, "float32", shape)
        words = f"pool_size={list(size)}, strides={list(strides)}, padding={list(pads)}, dilation={list(dilation)}, ceil_mode={bool(ceil)}"
        about = {"ceil": ceil}
        yield Case("nn.max_pool2d", f"nn.max_pool2d({{x}}, {words})", {"x": x},
                   node("MaxPool", kernel_shape=size, strides=strides, pads=pads, dilations=dilation, ceil_mode=ceil), about=about)
        for include in [0, 1]:
            yield Case("nn.avg_pool2d", f"nn.avg_pool2d({{x}}, {words}, count_include_pad={bool(include)})", {"x": x},
                       node("AveragePool", kernel_shape=size, strides=strides, pads=pads, dilations=dilation, ceil_mode=ceil,
                            count_include_pad=include), about=about)
    for op, kind in [("nn.global_max_pool2d", "GlobalMaxPool"), ("nn.global_avg_pool2d", "GlobalAveragePool")]:
        yield Case(op, op + "({x})", {"x": draw(rng, "float32", (2, 3, 5, 4))}, node(kind))


def norm(rng):
    x = draw(rng, "float32", (2, 3, 4, 5))
    stats = {name: draw(rng, "float32", (3,), 0.5, 2) for name in ["g", "b", "m", "v"]}
    yield Case("nn.batch_norm", "(nn.batch_norm({x}, {g}, {b}, {m}, {v}, epsilon=0.001f)).0", {"x": x, **stats},
               node("BatchNormalization", epsilon=0.001))
    last = {name: draw(rng, "float32", (5,)) for name in "gb"}
    yield Case("nn.layer_norm", "nn.layer_norm({x}, {g}, {b}, axis=-1, epsilon=0.001f)", {"x": x, **last},
               node("LayerNormalization", axis=-1, epsilon=0.001), tolerance={"float32": 1e-4})
    each = {name: draw(rng, "float32", (3,)) for name in "gb"}
    yield Case("nn.instance_norm", "nn.instance_norm({x}, {g}, {b}, axis=1, epsilon=0.001f)", {"x": x, **each},
               node("InstanceNormalization", epsilon=0.001), tolerance={"float32": 1e-4})
    even, four = draw(rng, "float32", (2, 4, 3, 5)), {name: draw(rng, "float32", (4,)) for name in "gb"}
    yield Case("nn.group_norm", "nn.group_norm({x}, {g}, {b}, num_groups=2, axis=1, epsilon=0.001f)", {"x": even, **four},
               node("GroupNormalization", num_groups=2, epsilon=0.001), tolerance={"float32": 1e-4})
    for axis in [0, 1, -1]:
        yield Case("nn.l2_normalize", f"nn.l2_normalize({{x}}, eps=1e-30f, axis=[{axis % 4}])", {"x": x},
                   node("LpNormalization", axis=axis, p=2))
    slope = draw(rng, "float32", (3,))
    yield Case("nn.prelu", "nn.prelu({x}, {a}, axis=1)", {"x": x, "a": slope}, None,
               lambda x, a: np.where(x > 0, x, x * a[:, None, None]))
    yield Case("hardswish", "hardswish({x})", {"x": draw(rng, "float32", (40,), -6, 6)}, node("HardSwish"))
    for equation, a, b in [("ij,jk->ik", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("i,j->ij", (3,), (4,)),
                           ("ij,ij->", (3, 4), (3, 4)), ("ijk,kj->i", (2, 3, 4), (4, 3))]:
        operands = {"a": draw(rng, "float32", a), "b": draw(rng, "float32", b)}
        yield Case("einsum", f'einsum(({{a}}, {{b}}), equation="{equation}")', operands, node("Einsum", equation=equation))
    for size in [1, 3, 5]:
        yield Case("nn.lrn", f"nn.lrn({{x}}, size={size}, axis=1, bias=2f, alpha=0.01f, beta=0.75f)", {"x": x},
                   node("LRN", size=size, bias=2.0, alpha=0.01, beta=0.75))


def softmax(rng):
    for (op, kind), shape in itertools.product([("nn.softmax", "Softmax"), ("nn.log_softmax", "LogSoftmax")], [(3, 5), (2, 3, 4)]):
        for axis in range(-1, len(shape)):
            yield Case(op, f"{op}({{x}}, axis={axis})", {"x": draw(rng, "float32", shape, -30, 30)}, node(kind, axis=axis))


def pad(rng):
    x = draw(rng, "float32", (3, 4))
    for mode, onnx_mode in [("constant", "constant"), ("edge", "edge"), ("reflect", "reflect")]:
        value = np.array(7, "float32") if mode == "constant" else None
        yield Case("nn.pad", f'nn.pad({{x}}, {7 if mode == "constant" else 0}f, pad_width=[[1, 2], [0, 3]], pad_mode="{mode}")', {"x": x},
                   node("Pad", np.array([1, 0, 2, 3]), value, mode=onnx_mode))
