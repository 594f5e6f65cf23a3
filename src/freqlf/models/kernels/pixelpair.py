"""The colours of two pixels in one register of eight floats, as a type of Numba's.

Numba turns loops over arrays into vector instructions, but not a warp: there every pixel is read at a place of its
own. Colours lie side by side in memory, though, so one load of four floats gets a pixel; the fourth is the next
pixel's first colour and must not be used. Memory has to reach as far beyond the last pixel; no bounds are checked.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, overload, register_model

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_PIXEL, _PAIR, _BITS = ir.VectorType(_FLOAT, 4), ir.VectorType(_FLOAT, 8), ir.VectorType(_INT, 8)
_APART = 4  # pixels between those of a pair: four pairs in a row are eight pixels in order
_MAGNITUDE = 0x7FFFFFFF  # all bits but the sign's


class _PixelPairType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="PixelPair")


PixelPair = _PixelPairType()


@register_model(_PixelPairType)
class _PixelPairModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, _PAIR)


@intrinsic
def gather_pair(typing_context: Any, values: Any, shift: Any, starts: Any, x: Any) -> Any:
    """The pixels of `values` that start at its numbers shift + starts[x] and shift + starts[x + 4]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, places = (_data(context, builder, signature, arguments, index) for index in (0, 2))
        _, shift, _, x = arguments
        starts = (builder.load(builder.gep(places, [_add(builder, x, further)])) for further in (0, _APART))
        return _load(builder, data, [builder.add(shift, builder.sext(start, shift.type)) for start in starts])

    return PixelPair(values, types.intp, starts, types.intp), generate


@intrinsic
def load_pair(typing_context: Any, values: Any, first: Any) -> Any:
    """The pixel of `values` that starts at this number, and the fourth after it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, signature, arguments, 0)
        return _load(builder, data, [_add(builder, arguments[1], further) for further in (0, 3 * _APART)])

    return PixelPair(values, types.intp), generate


@intrinsic
def fill_pair(typing_context: Any, values: Any, x: Any) -> Any:
    """All colours of the one pixel equal to values[x], those of the other to values[x + 4]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, signature, arguments, 0)
        vector = ir.Constant(_PIXEL, ir.Undefined)
        for lane, further in enumerate((0, _APART)):
            value = builder.load(builder.gep(data, [_add(builder, arguments[1], further)]))
            vector = builder.insert_element(vector, value, _INT(lane))
        return builder.shuffle_vector(vector, vector, _mask(0, 0, 0, 0, 1, 1, 1, 1))

    return PixelPair(values, types.intp), generate


@intrinsic
def load_eight(typing_context: Any, values: Any, first: Any) -> Any:
    """Eight numbers of `values` as they lie in memory, one for each of eight pixels; for `spread_0` to `spread_3`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, signature, arguments, 0)
        return builder.load(_at(builder, data, arguments[1], _PAIR), align=4)

    return PixelPair(values, types.intp), generate


def _make_spread(lane: int) -> Any:
    @intrinsic
    def spread(typing_context: Any, eight: Any) -> Any:
        """All colours of a pair equal to this number of each half of eight: `fill_pair` without a load."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.shuffle_vector(arguments[0], arguments[0], _mask(*4 * [lane], *4 * [lane + _APART]))

        return PixelPair(PixelPair), generate

    return spread


spread_0, spread_1, spread_2, spread_3 = map(_make_spread, range(_APART))


@intrinsic
def splat(typing_context: Any, value: Any) -> Any:
    """All colours of both pixels equal to a float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = builder.insert_element(ir.Constant(_PIXEL, ir.Undefined), arguments[0], _INT(0))
        return builder.shuffle_vector(vector, vector, _mask(*8 * [0]))

    return PixelPair(types.float32), generate


@intrinsic
def store_pair(typing_context: Any, values: Any, x: Any, pair: Any) -> Any:
    """The pair as pixels x and x + 4 of `values`, in which pixels take four numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, pair = _data(context, builder, signature, arguments, 0), arguments[2]
        first = builder.mul(arguments[1], arguments[1].type(4))
        for lanes, further in ((range(4), 0), (range(4, 8), 4 * _APART)):
            pixel = builder.shuffle_vector(pair, pair, _mask(*lanes))
            builder.store(pixel, _at(builder, data, _add(builder, first, further), _PIXEL), align=4)
        return context.get_dummy_value()

    return types.void(values, types.intp, PixelPair), generate


@intrinsic
def magnitudes(typing_context: Any, pair: Any) -> Any:
    """Absolute values of the colours, and zero for what is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kept = ir.Constant(_BITS, 2 * [_MAGNITUDE, _MAGNITUDE, _MAGNITUDE, 0])
        return builder.bitcast(builder.and_(builder.bitcast(arguments[0], _BITS), kept), _PAIR)

    return PixelPair(PixelPair), generate


@intrinsic
def store_sums(typing_context: Any, sums: Any, first: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """sums[first : first + 8] over the colours of the pixels a0, b0, c0, d0, a1, b1, c1, d1; a fourth one is zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def add(left: Any, right: Any) -> Any:
            """Neighbours, within each half of the register."""
            even = builder.shuffle_vector(left, right, _mask(0, 2, 8, 10, 4, 6, 12, 14))
            odd = builder.shuffle_vector(left, right, _mask(1, 3, 9, 11, 5, 7, 13, 15))
            return builder.fadd(even, odd)

        a, b, c, d = arguments[2:]
        data = _data(context, builder, signature, arguments, 0)
        builder.store(add(add(a, b), add(c, d)), _at(builder, data, arguments[1], _PAIR), align=4)
        return context.get_dummy_value()

    return types.void(sums, types.intp, *4 * [PixelPair]), generate


def _overload(operation: Callable[[Any, Any], Any], instruction: str) -> None:
    """Let `operation` of two pairs be this instruction."""

    @intrinsic
    def compute(typing_context: Any, first: Any, second: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*arguments, flags=("contract",))

        return PixelPair(PixelPair, PixelPair), generate

    @overload(operation, strict=False)
    def choose(first: Any, second: Any) -> Any:
        if first is PixelPair and second is PixelPair:
            return lambda first, second: compute(first, second)
        return None


_overload(operator.add, "fadd")
_overload(operator.sub, "fsub")
_overload(operator.mul, "fmul")
_overload(operator.truediv, "fdiv")


def _data(context: Any, builder: Any, signature: Any, arguments: Any, index: int) -> Any:
    return context.make_array(signature.args[index])(context, builder, arguments[index]).data


def _load(builder: Any, data: Any, starts: list[Any]) -> Any:
    pixels = (builder.load(_at(builder, data, start, _PIXEL), align=4) for start in starts)
    return builder.shuffle_vector(*pixels, _mask(*range(8)))


def _at(builder: Any, data: Any, index: Any, kind: ir.VectorType) -> Any:
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _add(builder: Any, index: Any, further: int) -> Any:
    return builder.add(index, index.type(further))


def _mask(*lanes: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(_INT, len(lanes)), list(lanes))
