"""Where relayc differs from its peers on purpose: the operator, which of its cases, why.

TVM v0.14.0 is the reference for what an operator means; where that is nothing useful, a rule of our own holds for all engines.
"""


def special(case):
    """Whether its operands are corner values."""
    return case.about.get("special", False)


def whole_ratio(case):
    """Whether a resize by `asymmetric` multiplies a size."""
    sizes = zip(case.about["size"], case.about["shape"][2:])
    return case.about["mode"] == "asymmetric" and any(to % size == 0 for to, size in sizes)


DEVIATIONS = [
    ("round", lambda case: True, "ties go away from zero, as in TVM; ONNX's go to the even neighbour"),
    ("sign", special, "that of NaN is 0, as in TVM"),
    ("mean", lambda case: case.about.get("empty"), "of no floats it is NaN, of no integers it traps; ONNX Runtime says 0"),
    ("image.resize2d", lambda case: whole_ratio(case) and case.about.get("rounding") in ("ceil", "round_prefer_ceil"),
     "where one size is a whole multiple of the other, TVM divides positions as integers, whatever the rounding"),
    ("vision.roi_align", lambda case: case.about["mode"] == "max",
     "the largest of interpolated points; ONNX Runtime takes the largest of weighted neighbours, and warns that this is wrong"),
]
