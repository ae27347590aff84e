"""Pictures as inputs of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _given, _relayc


def read_image(path: _given.Path, preset: str, like: Any) -> np.ndarray:
    """A PNG or JPEG as an array for an input.

    preset: `imagenet` (RGB, less the mean and divided by the deviation of ImageNet), `unit` (0 to 1), `letterbox` (0 to 1, in its
    proportions, with grey around it) or `grey28` (28x28, 0 to 1): those of `-i NAME=@FILE:PRESET` on the command line.
    like: the input, `net.inputs[0]`, or an array: anything with the `shape` and the `dtype` that the result has.

    Errors: RelayError for a file that cannot be read, an unknown preset, and a shape that no picture has; TypeError for `like` without
    a shape, or with an open one.
    """
    try:
        shape, dtype = [int(size) for size in like.shape], str(like.dtype)
    except (AttributeError, TypeError, ValueError) as error:
        words = "expected an input with known sizes, such as net.inputs[0], or an array"
        raise TypeError(f"`like` is {like!r}: {words}") from error
    return _relayc.read_image(_given.path(path), preset, shape, dtype)
