"""The logarithm as a polynomial that loops can compute for eight numbers at once."""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from freqlf.models.kernels.running import LOOP

_f32, _i32 = np.float32, np.int32


@intrinsic
def _bits_of(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int32))

    return types.int32(types.float32), generate


@intrinsic
def _float_of(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), generate


@njit(**LOOP)
def log(value: float) -> float:
    """Natural logarithm of a positive, normal float32, to its precision; the polynomial is that of Cephes (logf)."""
    # value = mantissa * 2^exponent with a mantissa from sqrt(1/2) to sqrt(2)
    bits = _i32(_bits_of(_f32(value)) - _i32(0x3F3504F3))
    exponent = _i32(bits >> _i32(23))
    x = _float_of(_i32((bits & _i32(0x007FFFFF)) + _i32(0x3F3504F3))) - _f32(1)
    y = _f32(7.0376836292e-2)
    y = y * x + _f32(-1.1514610310e-1)
    y = y * x + _f32(1.1676998740e-1)
    y = y * x + _f32(-1.2420140846e-1)
    y = y * x + _f32(1.4249322787e-1)
    y = y * x + _f32(-1.6668057665e-1)
    y = y * x + _f32(2.0000714765e-1)
    y = y * x + _f32(-2.4999993993e-1)
    y = y * x + _f32(3.3333331174e-1)
    square = x * x
    return _f32(exponent) * _f32(0.6931471805599453) + (x + (y * x * square - _f32(0.5) * square))
