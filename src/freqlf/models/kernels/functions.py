"""Functions as polynomials that loops can compute for eight numbers at once."""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from freqlf.models.kernels.running import LOOP

_f32, _i32 = np.float32, np.int32


@intrinsic
def bits_of(typing_context: Any, value: Any) -> Any:
    """The bits of a float32 as an int32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int32))

    return types.int32(types.float32), generate


@intrinsic
def float_of(typing_context: Any, bits: Any) -> Any:
    """The float32 of these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), generate


@njit(**LOOP)
def log(value: float) -> float:
    """Natural logarithm of a positive, normal float32, to its precision; the polynomial is that of Cephes (logf)."""
    # value = mantissa * 2^exponent with a mantissa from sqrt(1/2) to sqrt(2)
    bits = _i32(bits_of(_f32(value)) - _i32(0x3F3504F3))
    exponent = _i32(bits >> _i32(23))
    x = float_of(_i32((bits & _i32(0x007FFFFF)) + _i32(0x3F3504F3))) - _f32(1)
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


@njit(**LOOP)
def exp(value: float) -> float:
    """Exponential of a float32 between -80 and 80, to its precision; the polynomial is that of Cephes (expf)."""
    # exp(rest) * 2^whole with a rest of at most log(2) / 2
    scaled = _f32(value) * _f32(1.4426950408889634)
    whole = _i32(scaled + (_f32(0.5) if scaled > _f32(0) else _f32(-0.5)))
    rest = _f32(value) - _f32(whole) * _f32(0.693359375) + _f32(whole) * _f32(2.12194440e-4)
    y = _f32(1.9875691500e-4)
    y = y * rest + _f32(1.3981999507e-3)
    y = y * rest + _f32(8.3334519073e-3)
    y = y * rest + _f32(4.1665795894e-2)
    y = y * rest + _f32(1.6666665459e-1)
    y = y * rest + _f32(5.0000001201e-1)
    return (y * rest * rest + rest + _f32(1)) * float_of(_i32((whole + _i32(127)) << _i32(23)))


@njit(**LOOP)
def tanh(value: float) -> float:
    """Hyperbolic tangent of a float32, to within 3e-7."""
    size = abs(_f32(value))
    size = size if size < _f32(9) else _f32(9)  # it is 1 from there on
    result = _f32(1) - _f32(2) / (exp(_f32(2) * size) + _f32(1))
    return result if value > _f32(0) else -result


@njit(**LOOP)
def erf(value: float) -> Any:
    """Error function of a float32, to within 5e-7: the quotient of polynomials that Eigen and XLA use."""
    x = _f32(value)
    x = x if x < _f32(3.8325068) else _f32(3.8325068)  # it is 1 from there on
    x = x if x > _f32(-3.8325068) else _f32(-3.8325068)
    square = x * x
    above = _f32(-2.72614225801306e-10)
    above = above * square + _f32(2.77068142495902e-08)
    above = above * square + _f32(-2.10102402082508e-06)
    above = above * square + _f32(-5.69250639462346e-05)
    above = above * square + _f32(-7.34990630326855e-04)
    above = above * square + _f32(-2.95459980854025e-03)
    above = above * square + _f32(-1.60960333262415e-02)
    below = _f32(-1.45660718464996e-05)
    below = below * square + _f32(-2.13374055278905e-04)
    below = below * square + _f32(-1.68282697438203e-03)
    below = below * square + _f32(-7.37332916720468e-03)
    below = below * square + _f32(-1.42647390514189e-02)
    return _f32(x * above / below)


@njit(**LOOP)
def differentiate_gelu(value: float) -> Any:
    """The derivative of GELU at a float32, to within 1e-6: its erf and its density share one exponential.

    erf(x) = 1 - (a1 t + ... + a5 t^5) exp(-x^2) with t = 1 / (1 + p x), Abramowitz and Stegun, 7.1.26.
    """
    size = abs(_f32(value))
    size = size if size < _f32(12) else _f32(12)  # it is 0 or 1 from there on
    bell = exp(_f32(-0.5) * size * size)
    t = _f32(1) / (_f32(1) + _f32(0.3275911 * 0.7071067811865476) * size)
    y = _f32(1.061405429)
    y = y * t + _f32(-1.453152027)
    y = y * t + _f32(1.421413741)
    y = y * t + _f32(-0.284496736)
    y = y * t + _f32(0.254829592)
    tail = _f32(0.5) * y * t * bell  # of the normal distribution beyond the size
    share = _f32(1) - tail if value > _f32(0) else tail
    return _f32(share + _f32(value) * _f32(0.3989422804014327) * bell)
