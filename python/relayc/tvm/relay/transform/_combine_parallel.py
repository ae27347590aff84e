"""`CombineParallelConv2D`, `…Dense`, `…BatchMatmul`: one operator for several with the same input.

A branch is the operator with the elementwise operators behind it that alone use it.
Branches of one input that fit each other become one, and what follows takes its part.
Rules of TVM: `src/relay/transforms/combine_parallel_*.cc`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

from ...ir import Op, structural_equal
from ..analysis._walk import post_order
from ..dataflow_pattern.graph import _parts
from ..expr import Call, TupleGetItem
from ..expr import Tuple as RelayTuple
from ._layout_rules import changed

__all__ = ["combine_batch_matmul", "combine_conv2d", "combine_dense"]

_Branch = List[Any]
#: The highest `TOpPattern` of operators that a branch may have: elementwise and broadcast.
_BROADCAST = 1


def _sizes(expr: Any) -> List[int]:
    return [int(dim) for dim in expr.checked_type.shape]


def _dtype(expr: Any) -> str:
    return str(expr.checked_type.dtype)


def _joined(parts: Sequence[Any], axis: int) -> Any:
    from ..op import concatenate

    return concatenate(RelayTuple(list(parts)), axis)


def _cut(data: Any, rank: int, axis: int, start: int, size: int) -> Any:
    """The part of the data along an axis, the other axes whole up to `rank`."""
    from ..op import strided_slice

    begin, end = [0] * rank, [-1] * rank
    begin[axis], end[axis] = start, size
    return strided_slice(data, begin, end, [1] * rank, slice_mode="size")


class _Combiner:
    """What one kind of operator needs; the base has what most share."""

    op_name = ""

    def supports(self, call: Any) -> bool:
        """Whether a call may be combined at all."""
        return True

    def fits(self, a: Any, b: Any) -> bool:
        """Whether two calls can be one."""
        raise NotImplementedError

    def combined(self, branches: Sequence[_Branch]) -> Any:
        """The call in the place of the first calls of all branches."""
        raise NotImplementedError

    def argument_fits(self, a: Any, b: Any, index: int) -> bool:
        """Whether the arguments with that number of two following calls can be one."""
        raise NotImplementedError

    def argument(self, branches: Sequence[_Branch], depth: int, parent: int, index: int) -> Any:
        """The argument that is those of all branches."""
        raise NotImplementedError

    def outputs(self, data: Any, branches: Sequence[_Branch], depth: int) -> List[Any]:
        """The part of each branch in the combined value."""
        raise NotImplementedError

    def run(self, func: Any, min_num_branches: int) -> Any:
        """The function with combined branches."""
        substitutes: Dict[int, Any] = {}
        for group in self._groups(func):
            if len(group) >= min_num_branches:
                self._combine(group, substitutes)
        return _substituted(func, substitutes) if substitutes else func

    def _groups(self, func: Any) -> List[List[_Branch]]:
        op = Op.get(self.op_name)
        users: Dict[int, List[Any]] = {}
        roots: Dict[int, Any] = {}
        for node in post_order(func):
            if not isinstance(node, Call):
                continue
            if node.op is op and self.supports(node):
                roots.setdefault(id(node.args[0]), node.args[0])
                users.setdefault(id(node.args[0]), []).append(node)
            else:
                for arg in node.args:
                    users.setdefault(id(arg), []).append(node)
        groups: List[List[_Branch]] = []
        for root in roots:
            own: List[List[_Branch]] = []
            for call in users[root]:
                if call.op is not op:
                    continue
                fitting = (group for group in own if self.fits(call, group[0][0]))
                group = next(fitting, None)
                if group is None:
                    own.append(group := [])
                group.append(_branch(call, users))
            groups += own
        return groups

    def _combine(self, branches: Sequence[_Branch], substitutes: Dict[int, Any]) -> None:
        combined = self.combined(branches)
        depth = 1
        while depth < min(map(len, branches)):
            first = branches[0][depth]
            above = branches[0][depth - 1]
            parent = next(i for i, arg in enumerate(first.args) if arg is above)
            if not all(self._level_fits(first, branch, depth, parent) for branch in branches[1:]):
                break
            args = [
                combined if i == parent else self.argument(branches, depth, parent, i)
                for i in range(len(first.args))
            ]
            combined = Call(first.op, args, first.attrs)
            depth += 1
        for branch, output in zip(branches, self.outputs(combined, branches, depth - 1)):
            substitutes[id(branch[depth - 1])] = output

    def _level_fits(self, first: Any, branch: _Branch, depth: int, parent: int) -> bool:
        call = branch[depth]
        return (
            call.op is first.op
            and len(call.args) == len(first.args)
            and structural_equal(call.attrs, first.attrs)
            and call.args[parent] is branch[depth - 1]
            and all(self.argument_fits(first, call, i) for i in range(len(call.args)) if i != parent)
        )


def _branch(call: Any, users: Dict[int, List[Any]]) -> _Branch:
    branch = [call]
    while len(users.get(id(branch[-1]), ())) == 1:
        (user,) = users[id(branch[-1])]
        pattern = user.op.get_attr("TOpPattern") if isinstance(user.op, Op) else None
        if pattern is None or int(pattern) > _BROADCAST:
            break
        branch.append(user)
    return branch


def _substituted(func: Any, substitutes: Dict[int, Any]) -> Any:
    """The function with substitutes, in which others may occur again."""

    def parts(expr: Any) -> Any:
        substitute = substitutes.get(id(expr), expr)
        return tuple(_parts(substitute)[0](substitute))

    memo: Dict[int, Any] = {}
    for node in post_order(func, parts):
        target = substitutes.get(id(node), node)
        of, rebuild = _parts(target)
        old = of(target)
        new = [memo[id(part)] for part in old]
        same = all(a is b for a, b in zip(old, new))
        memo[id(node)] = target if same else rebuild(target, new)
    return memo[id(func)]


class _Conv2d(_Combiner):
    """Convolutions without groups: weights are joined along the output channels."""

    op_name = "nn.conv2d"
    _SAME = ("strides", "padding", "dilation", "data_layout", "kernel_layout", "out_dtype", "out_layout")

    def supports(self, call: Any) -> bool:
        return int(call.attrs.groups) == 1

    def _axis(self, call: Any) -> int:
        return str(call.attrs.out_layout or call.attrs.data_layout).index("C")

    def _channels(self, call: Any) -> int:
        return _sizes(call.args[1])[str(call.attrs.kernel_layout).index("O")]

    def _window(self, call: Any) -> List[int]:
        layout = str(call.attrs.kernel_layout)
        return [_sizes(call.args[1])[layout.index(axis)] for axis in "HW"]

    def fits(self, a: Any, b: Any) -> bool:
        same = all(structural_equal(a.attrs[n], b.attrs[n]) for n in self._SAME)
        return same and self._window(a) == self._window(b)

    def combined(self, branches: Sequence[_Branch]) -> Any:
        first = branches[0][0]
        axis = str(first.attrs.kernel_layout).index("O")
        weight = _joined([branch[0].args[1] for branch in branches], axis)
        channels = sum(self._channels(branch[0]) for branch in branches)
        return Call(first.op, [first.args[0], weight], changed(first.attrs, channels=channels))

    def argument_fits(self, a: Any, b: Any, index: int) -> bool:
        one, two = a.args[index], b.args[index]
        if _dtype(one) != _dtype(two) or len(_sizes(one)) != len(_sizes(two)):
            return False
        channel = self.axis - len(_sizes(a)) + len(_sizes(one))
        if channel < 0:
            return False
        for call, arg in ((a, one), (b, two)):
            if _sizes(arg)[channel] != _sizes(call)[self.axis]:
                return False
        return all(x == y for i, (x, y) in enumerate(zip(_sizes(one), _sizes(two))) if i != channel)

    def argument(self, branches: Sequence[_Branch], depth: int, parent: int, index: int) -> Any:
        first = branches[0][depth]
        axis = self.axis - len(_sizes(first)) + len(_sizes(first.args[index]))
        return _joined([branch[depth].args[index] for branch in branches], axis)

    def outputs(self, data: Any, branches: Sequence[_Branch], depth: int) -> List[Any]:
        start, parts = 0, []
        for branch in branches:
            channels = self._channels(branch[0])
            parts.append(_cut(data, self.axis + 1, self.axis, start, channels))
            start += channels
        return parts

    def _combine(self, branches: Sequence[_Branch], substitutes: Dict[int, Any]) -> None:
        self.axis = self._axis(branches[0][0])
        super()._combine(branches, substitutes)


class _DenseToBatch(_Combiner):
    """Dense layers of one size, as one batched product."""

    op_name = "nn.dense"

    def fits(self, a: Any, b: Any) -> bool:
        same = str(a.attrs.out_dtype) == str(b.attrs.out_dtype)
        return same and _sizes(a.args[1]) == _sizes(b.args[1])

    def combined(self, branches: Sequence[_Branch]) -> Any:
        from ..op import nn, stack

        data, weight = (stack(RelayTuple([b[0].args[i] for b in branches]), 0) for i in (0, 1))
        out_dtype = branches[0][0].attrs.out_dtype
        return nn.batch_matmul(data, weight, out_dtype, transpose_a=False, transpose_b=True)

    def argument_fits(self, a: Any, b: Any, index: int) -> bool:
        one, two = a.args[index], b.args[index]
        return _dtype(one) == _dtype(two) and _sizes(one) == _sizes(two)

    def argument(self, branches: Sequence[_Branch], depth: int, parent: int, index: int) -> Any:
        from ..op import expand_dims, stack

        args = [branch[depth].args[index] for branch in branches]
        # Vectors and scalars are broadcast to each product.
        ranks = [len(_sizes(arg)) for arg in args]
        args = [expand_dims(a, 0, 2 - n) if n < 2 else a for a, n in zip(args, ranks)]
        return stack(RelayTuple(args), 0)

    def outputs(self, data: Any, branches: Sequence[_Branch], depth: int) -> List[Any]:
        from ..op import split, squeeze

        parts = split(data, len(branches), 0)
        whole = getattr(parts, "tuple_value", parts)
        return [squeeze(TupleGetItem(whole, i), [0]) for i in range(len(branches))]


class _DenseToDense(_Combiner):
    """Dense layers, as one with the outputs of all."""

    op_name = "nn.dense"

    def fits(self, a: Any, b: Any) -> bool:
        same = str(a.attrs.out_dtype) == str(b.attrs.out_dtype)
        return same and _sizes(a.args[1])[1] == _sizes(b.args[1])[1]

    def combined(self, branches: Sequence[_Branch]) -> Any:
        from ..op import nn

        weight = _joined([branch[0].args[1] for branch in branches], 0)
        units = sum(_sizes(branch[0].args[1])[0] for branch in branches)
        first = branches[0][0]
        return nn.dense(first.args[0], weight, units=units, out_dtype=first.attrs.out_dtype)

    def argument_fits(self, a: Any, b: Any, index: int) -> bool:
        one, two = a.args[index], b.args[index]
        if _dtype(one) != _dtype(two) or len(_sizes(one)) != len(_sizes(two)):
            return False
        if len(_sizes(one)) > min(len(_sizes(a)), len(_sizes(b))):
            return False
        return _sizes(one)[:-1] == _sizes(two)[:-1]

    def argument(self, branches: Sequence[_Branch], depth: int, parent: int, index: int) -> Any:
        from ..op import expand_dims, repeat

        rank = len(_sizes(branches[0][depth].args[index]))
        axis = max(rank - 1, 0)
        parts = []
        for branch in branches:
            arg = branch[depth].args[index]
            wanted = _sizes(branch[depth].args[parent])[-1]
            if rank == 0:
                parts.append(repeat(expand_dims(arg, -1, 1), wanted, axis))
            elif wanted > 1 and _sizes(arg)[-1] == 1:
                parts.append(repeat(arg, wanted, axis))
            else:
                parts.append(arg)
        return _joined(parts, axis)

    def outputs(self, data: Any, branches: Sequence[_Branch], depth: int) -> List[Any]:
        start, parts = 0, []
        for branch in branches:
            units, sizes = _sizes(branch[0])[1], _sizes(branch[depth])
            # Operators behind may have moved the axis of the outputs.
            axis = max(i for i, size in enumerate(sizes) if size == units)
            parts.append(_cut(data, len(sizes), axis, start, units))
            start += units
        return parts


class _BatchMatmul(_Combiner):
    """Batched products with the same first operand: the second ones are joined."""

    op_name = "nn.batch_matmul"

    def fits(self, a: Any, b: Any) -> bool:
        for call in (a, b):
            if bool(call.attrs.transpose_a) or not bool(call.attrs.transpose_b):
                return False
        one, two = a.args[1], b.args[1]
        return (
            _dtype(one) == _dtype(two)
            and _dtype(a) == _dtype(b)
            and len(_sizes(one)) == len(_sizes(two)) == 3
            and _sizes(one)[0] == _sizes(two)[0]
            and str(a.attrs.out_dtype) == str(b.attrs.out_dtype)
        )

    def combined(self, branches: Sequence[_Branch]) -> Any:
        from ..op import nn

        first = branches[0][0]
        weight = _joined([branch[0].args[1] for branch in branches], 1)
        out_dtype = first.attrs.out_dtype
        return nn.batch_matmul(first.args[0], weight, out_dtype, transpose_a=False, transpose_b=True)

    def argument_fits(self, a: Any, b: Any, index: int) -> bool:
        return True

    def argument(self, branches: Sequence[_Branch], depth: int, parent: int, index: int) -> Any:
        return _joined([branch[depth].args[index] for branch in branches], -1)

    def outputs(self, data: Any, branches: Sequence[_Branch], depth: int) -> List[Any]:
        start, parts = 0, []
        for branch in branches:
            features = _sizes(branch[0].args[1])[1]
            parts.append(_cut(data, 3, 2, start, features))
            start += features
        return parts


_Pass = Callable[[Any, Any, Any], Any]


def combine_conv2d(min_num_branches: int) -> _Pass:
    """The function that combines convolutions."""
    return lambda func, mod, ctx: _Conv2d().run(func, min_num_branches)


def combine_dense(min_num_branches: int, to_batch: bool) -> _Pass:
    """The function that combines dense layers."""
    kind = _DenseToBatch if to_batch else _DenseToDense
    return lambda func, mod, ctx: kind().run(func, min_num_branches)


def combine_batch_matmul(min_num_branches: int) -> _Pass:
    """The function that combines batched products."""
    return lambda func, mod, ctx: _BatchMatmul().run(func, min_num_branches)
