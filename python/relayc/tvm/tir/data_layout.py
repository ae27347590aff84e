"""Layouts by name, such as `NCHW16c`: an upper case letter is a dimension, a number and a
lower case letter the blocks that a dimension is split into.

Same rules as `tir::Layout` of TVM. An unknown layout is `None`, as that of the empty name.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .._ffi import register_object
from ..runtime.object import Object

__all__ = ["BijectiveLayout", "Layout", "bijective_layout", "layout"]

_AXES = re.compile(r"(\d*)([A-Za-z])")


@register_object("tir.Layout")
class Layout(Object):
    """A layout: its axes as letters, and the factors of the lower case ones.

    Raises `ValueError` for a lower case letter without a factor or without its dimension,
    and for a dimension that is there twice.
    """

    def __init__(self, name: str) -> None:
        self.axes: List[Tuple[str, int]]
        self._set([])
        for factor, letter in _AXES.findall(name):
            if letter.islower() and not factor:
                raise ValueError(f"layout {name}: the factor of {letter} is missing")
            if letter.isupper() and any(axis == letter for axis, _ in self.axes):
                raise ValueError(f"layout {name}: {letter} is there twice")
            self.axes.append((letter, int(factor) if letter.islower() else 0))
        self._set(self.axes)

    def _set(self, axes: List[Tuple[str, int]]) -> None:
        self.axes = axes
        self.name = "".join(f"{f}{a}" if a.islower() else a for a, f in axes)

    @staticmethod
    def of(axes: List[Tuple[str, int]]) -> "Layout":
        """The layout of these letters and factors; dimensions of blocks may be missing."""
        result = Layout("")
        result._set(axes)
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __len__(self) -> int:
        return len(self.axes)

    def __getitem__(self, index: int) -> str:
        """The letter of an axis."""
        return self.axes[index][0]

    @property
    def n_primal(self) -> int:
        """The number of dimensions."""
        return sum(letter.isupper() for letter, _ in self.axes)

    def __contains__(self, letter: str) -> bool:
        return self.index_of(letter) >= 0

    def index_of(self, letter: str) -> int:
        """The position of a letter, or -1."""
        return next((i for i, (axis, _) in enumerate(self.axes) if axis == letter), -1)

    def factor_of(self, letter: str) -> int:
        """The size of the blocks of a dimension, or -1 if it is not split."""
        factors = [factor for axis, factor in self.axes if axis == letter.lower()]
        if not factors:
            return -1
        size = 1
        for factor in factors:
            size *= factor
        return size

    def part(self, start: int, length: int) -> "Layout":
        """The layout of axes in a row; dimensions of blocks may be missing in it."""
        return Layout.of(self.axes[start : start + length])

    def expanded(self, wanted: "Layout") -> "Layout":
        """The layout with the dimensions that only `wanted` has in front."""
        missing = [a for a, _ in wanted.axes if a.isupper() and self.index_of(a) < 0]
        return Layout("".join(missing) + self.name)

    def converts_to(self, other: "Layout") -> bool:
        """Whether both have the same dimensions."""
        letters = [{a.upper() for a, _ in layout.axes} for layout in (self, other)]
        return letters[0] == letters[1]

    def like(self, old: "Layout", new: "Layout") -> Optional["Layout"]:
        """This layout changed as `old` is to `new`; `None` if it is not like the end of `old`.

        `NHW` changes as `NCHW` to `NCHW4c` to `NHW` with its own letters, for example.
        """
        if not _compatible(self, old):
            return None
        if not self.axes:
            return self
        letters: Dict[str, str] = {}
        for (own, _), (theirs, _) in zip(reversed(self.axes), reversed(old.axes)):
            letters[theirs.upper()] = own.upper()
        free = [chr(c) for c in range(ord("A"), ord("Z") + 1) if chr(c) not in letters.values()]
        for theirs, _ in reversed(old.axes):
            if theirs.upper() not in letters:
                chosen = theirs.upper() if theirs.upper() in free else free[0]
                free.remove(chosen)
                letters[theirs.upper()] = chosen
        renamed = "".join(
            (letters[c.upper()] if c.isupper() else letters[c.upper()].lower()) if c.isalpha() else c
            for c in new.name
        )
        return Layout(renamed)

    def broadcast(self, old: "Layout", shape: Tuple[int, ...]) -> "Layout":
        """This layout with blocks of 1 for dimensions that have the size 1, or are missing,
        in a tensor of that shape and layout."""
        name = ""
        for letter, factor in self.axes:
            if letter.islower():
                at = old.index_of(letter.upper())
                # A dimension of 1 is broadcast unless it was split before.
                single = at < 0 or (shape[at] == 1 and old.index_of(letter) < 0)
                name += "1" if single else str(self.factor_of(letter.upper()))
            name += letter
        return Layout(name)


def _compatible(a: Layout, b: Layout) -> bool:
    """Whether the shorter is like the end of the longer up to letters, and has none of the rest."""
    large, small = (b, a) if len(b) > len(a) else (a, b)
    end = large.part(len(large) - len(small), len(small))
    rest = large.part(0, len(large) - len(small))
    if any(end.index_of(x.upper()) >= 0 or end.index_of(x.lower()) >= 0 for x, _ in rest.axes):
        return False
    there: Dict[str, str] = {}
    back: Dict[str, str] = {}
    for (x, factor), (y, other) in zip(end.axes, small.axes):
        if x.isupper() != y.isupper() or there.setdefault(x, y) != y or back.setdefault(y, x) != x:
            return False
        if x.islower() and factor != other:
            return False
    return True


@register_object("tir.BijectiveLayout")
class BijectiveLayout(Object):
    """The conversion between two layouts of the same dimensions.

    Sizes may be unknown (`Any`). Raises `ValueError` if the dimensions differ.
    """

    def __init__(self, src: Layout, dst: Layout) -> None:
        if not src.converts_to(dst):
            raise ValueError(f"layouts {src} and {dst} have different dimensions")
        self.src_layout, self.dst_layout = src, dst

    def forward_shape(self, shape: Sequence[Any]) -> Sequence[Any]:
        """The shape in the second layout of a shape in the first."""
        return _shape(self.src_layout, self.dst_layout, shape)

    def backward_shape(self, shape: Sequence[Any]) -> Sequence[Any]:
        """The shape in the first layout of a shape in the second."""
        return _shape(self.dst_layout, self.src_layout, shape)

    def forward_index(self, index: Sequence[Any]) -> Sequence[Any]:
        """The position in the second layout of a position in the first."""
        return _index(self.src_layout, self.dst_layout, index)

    def backward_index(self, index: Sequence[Any]) -> Sequence[Any]:
        """The position in the first layout of a position in the second."""
        return _index(self.dst_layout, self.src_layout, index)


def _times(size: Any, factor: int) -> Any:
    return size if _is_any(size) else int(size) * factor


def _is_any(size: Any) -> bool:
    return type(size).__name__ == "Any"


def _shape(src: Layout, dst: Layout, shape: Sequence[Any]) -> Sequence[Any]:
    """Sizes of whole dimensions are rounded up to whole blocks."""
    from ..runtime import convert

    if len(shape) != len(src):
        raise ValueError(f"a shape of {len(shape)} sizes has no layout {src}")
    whole = {a: _times(shape[i], max(src.factor_of(a), 1)) for i, (a, _) in enumerate(src.axes) if a.isupper()}
    sizes = []
    for letter, factor in dst.axes:
        size = factor if letter.islower() else whole[letter]
        if letter.isupper() and not _is_any(size):
            size = -(-int(size) // max(dst.factor_of(letter), 1))
        sizes.append(size)
    return convert(sizes)  # type: ignore[no-any-return]


def _index(src: Layout, dst: Layout, index: Sequence[Any]) -> Sequence[Any]:
    from ..runtime import convert

    if len(index) != len(src):
        raise ValueError(f"a position of {len(index)} numbers has no layout {src}")
    whole: Dict[str, Any] = {}
    for (letter, factor), at in zip(src.axes, index):
        upper = letter.upper()
        scale = max(src.factor_of(letter), 1) if letter.isupper() else 1
        whole[upper] = at * scale + whole.get(upper, 0)
    found = []
    for letter, _ in dst.axes:
        factor = dst.factor_of(letter)
        at = whole[letter.upper()]
        found.append(at % factor if letter.islower() else at // max(factor, 1))
    return convert(found)  # type: ignore[no-any-return]


def layout(layout_str: str, dtype: str = "int32") -> Optional[Layout]:
    """The layout of a name; `None` for the empty one."""
    return Layout(layout_str) if layout_str else None


def bijective_layout(src_layout: Any, dst_layout: Any) -> BijectiveLayout:
    """The conversion between two layouts, or their names."""
    as_layout = lambda x: x if isinstance(x, Layout) else Layout(x)  # noqa: E731
    return BijectiveLayout(as_layout(src_layout), as_layout(dst_layout))
