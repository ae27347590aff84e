"""Where relayc differs from its peers on purpose: the operator, which of its cases, why.

TVM v0.14.0 is the reference for what an operator means; where that is nothing useful, a rule of our own holds for all engines.
"""


def special(case):
    return case.about.get("special", False)


DEVIATIONS = [
    ("round", lambda case: True, "ties go away from zero, as in TVM; ONNX's go to the even neighbour"),
]
