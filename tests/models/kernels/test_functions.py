import numpy as np
from scipy import special

from freqlf.models.kernels.functions import erf, exp, log, tanh


def test_logarithm_has_the_precision_of_its_numbers() -> None:
    values = np.concatenate([np.geomspace(1e-30, 1e30, 999), 1 + np.linspace(-1e-3, 1e-3, 99)]).astype(np.float32)
    computed = np.array([log(value) for value in values])
    np.testing.assert_allclose(computed, np.log(values.astype(np.float64)), rtol=2e-7, atol=1e-10)


def test_hyperbolic_tangent() -> None:
    values = np.concatenate([np.linspace(-12, 12, 999), np.linspace(-1e-3, 1e-3, 99)]).astype(np.float32)
    computed = np.array([tanh(value) for value in values])
    np.testing.assert_allclose(computed, np.tanh(values.astype(np.float64)), rtol=0, atol=3e-7)


def test_exponential_and_error_function() -> None:
    values = np.concatenate([np.linspace(-80, 80, 999), np.linspace(-1e-3, 1e-3, 99)]).astype(np.float32)
    exact = np.exp(values.astype(np.float64))
    np.testing.assert_allclose(np.array([exp(value) for value in values]), exact, rtol=3e-7)
    values = np.linspace(-6, 6, 999, dtype=np.float32)
    computed = np.array([erf(value) for value in values])
    np.testing.assert_allclose(computed, special.erf(values.astype(np.float64)), rtol=0, atol=5e-7)
