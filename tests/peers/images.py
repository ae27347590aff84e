"""Cases of pictures and boxes."""
import itertools

import numpy as np

from case import Case, Onnx, draw, node

MODES = {"half_pixel": "half_pixel", "align_corners": "align_corners", "asymmetric": "asymmetric",
         "pytorch_half_pixel": "pytorch_half_pixel"}
ROUNDINGS = ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]


def resize(rng):
    for op, shape, sizes in [("image.resize1d", (1, 2, 5), [(8,), (10,), (3,), (1,)]),
                             ("image.resize2d", (2, 3, 5, 4), [(7, 9), (10, 8), (3, 2), (1, 5)]),
                             ("image.resize3d", (1, 2, 3, 4, 5), [(4, 5, 7), (2, 3, 2)])]:
        for size, (mode, onnx_mode) in itertools.product(sizes, MODES.items()):
            x = draw(rng, "float32", shape)
            roi = ", ".join(["0f"] * 2 * len(size))
            words = f'size={list(size)}, roi=[{roi}], coordinate_transformation_mode="{mode}"'
            about = {"mode": mode, "size": size, "shape": shape}
            goal = np.array([*shape[:2], *size])
            yield Case(op, f'{op}({{x}}, {words}, method="linear")', {"x": x},
                       node("Resize", None, None, goal, mode="linear", coordinate_transformation_mode=onnx_mode), about=about)
            for rounding in ROUNDINGS:
                yield Case(op, f'{op}({{x}}, {words}, method="nearest_neighbor", rounding_method="{rounding}")', {"x": x},
                           node("Resize", None, None, goal, mode="nearest", coordinate_transformation_mode=onnx_mode,
                                nearest_mode=rounding), about={**about, "rounding": rounding})
            if op == "image.resize2d":
                for exclude in [0, 1]:
                    yield Case(op, f'{op}({{x}}, {words}, method="cubic", cubic_alpha=-0.75f, cubic_exclude={exclude})', {"x": x},
                               node("Resize", None, None, goal, mode="cubic", coordinate_transformation_mode=onnx_mode,
                                    cubic_coeff_a=-0.75, exclude_outside=exclude), about=about)


def grid_sample(rng):
    for n_axes, padding, corners in itertools.product([2, 3], ["zeros", "border", "reflection"], [0, 1]):
        methods = [("nearest", "nearest"), ("bilinear", "linear")] + ([("bicubic", "cubic")] if n_axes == 2 else [])
        for method, onnx_method in methods:
            x = draw(rng, "float32", (2, 3, *(5, 4, 3)[:n_axes]))
            g = draw(rng, "float32", (2, n_axes, *(3, 6, 2)[:n_axes]), -1.8, 1.8)
            layout = "NCHW" if n_axes == 2 else "NCDHW"
            # ONNX has the coordinates of a point last.
            turn = [0, *range(2, n_axes + 2), 1]
            steps = [("Transpose", ["g"], ["t"], {"perm": turn}),
                     ("GridSample", ["x", "t"], ["out"], {"mode": onnx_method, "padding_mode": padding, "align_corners": corners})]
            yield Case("image.grid_sample", f'image.grid_sample({{x}}, {{g}}, method="{method}", layout="{layout}", '
                       f'padding_mode="{padding}", align_corners={bool(corners)})', {"x": x, "g": g}, Onnx(steps, ["out"]),
                       tolerance={"float32": 1e-4}, about={"method": method})


def roi_align(rng):
    for mode, ratio, scale in itertools.product(["avg", "max"], [-1, 1, 2], [1.0, 0.5]):
        x = draw(rng, "float32", (2, 3, 8, 9))
        corners = np.sort(rng.uniform(-1, 12, (4, 2, 2)), axis=1).reshape(4, 4).astype("float32")
        images = rng.integers(0, 2, (4,))
        rois = np.concatenate([images[:, None].astype("float32"), corners], axis=1)
        steps = [("Slice", ["r", "zero", "one", "last"], ["first"], {}), ("Squeeze", ["first", "last"], ["flat"], {}),
                 ("Cast", ["flat"], ["images"], {"to": 7}), ("Slice", ["r", "one", "five", "last"], ["boxes"], {}),
                 ("RoiAlign", ["x", "boxes", "images"], ["out"],
                  {"mode": mode, "output_height": 3, "output_width": 2, "sampling_ratio": max(ratio, 0), "spatial_scale": scale,
                   "coordinate_transformation_mode": "output_half_pixel"})]
        constants = {name: np.array([value]) for name, value in [("zero", 0), ("one", 1), ("five", 5), ("last", 1)]}
        yield Case("vision.roi_align", f'vision.roi_align({{x}}, {{r}}, pooled_size=[3, 2], spatial_scale={scale}f, '
                   f'sample_ratio={ratio}, mode="{mode}", attrs_type_key="relay.attrs.ROIAlignAttrs")', {"x": x, "r": rois},
                   Onnx(steps, ["out"], constants), about={"mode": mode})


def suppression(rng):
    for n_boxes, most, iou, least in itertools.product([1, 6, 20], [2, 9], [0.3, 0.7], [0.0, 0.5]):
        boxes = rng.uniform(0, 4, (2, n_boxes, 4)).astype("float32")
        scores = rng.uniform(0.01, 1, (2, 3, n_boxes)).astype("float32")
        limits = [np.array([most]), np.array([iou], "float32"), np.array([least], "float32")]
        yield Case("vision.all_class_non_max_suppression",
                   f"vision.all_class_non_max_suppression({{b}}, {{s}}, {most}i64, {iou}f, {least}f, "
                   'attrs_type_key="relay.attrs.AllClassNonMaximumSuppressionAttrs")', {"b": boxes, "s": scores},
                   node("NonMaxSuppression", *limits), adjust=chosen_rows)


def chosen_rows(got, want):
    """Relay's rows have a fixed number, of which the first count."""
    return [got[0][: int(got[1][0])]], want


def moves(rng):
    x = draw(rng, "float32", (2, 8, 4, 6))
    for mode, onnx_mode in [("DCR", "DCR"), ("CDR", "CRD")]:
        yield Case("nn.depth_to_space", f'nn.depth_to_space({{x}}, block_size=2, mode="{mode}")', {"x": x},
                   node("DepthToSpace", blocksize=2, mode=onnx_mode))
    yield Case("nn.space_to_depth", "nn.space_to_depth({x}, block_size=2)", {"x": x}, node("SpaceToDepth", blocksize=2))


GENERATORS = [resize, grid_sample, roi_align, suppression, moves]
