"""Disparity and depth from 4D light fields.

>>> import freqlf
>>> result = freqlf.estimate("my_capture")
>>> result.disparity_px  # (H, W), pixels per view step, positive nearer than the focus plane
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freqlf.errors import FreqLFError
    from freqlf.inference.estimate import estimate, load_estimator
    from freqlf.inference.opening import open_light_field
    from freqlf.lightfield import LightField
    from freqlf.outputs.estimate import Estimate

__version__ = "0.2.0"
__all__ = ["Estimate", "FreqLFError", "LightField", "estimate", "load_estimator", "open_light_field"]

# Imported when first asked for: torch takes seconds.
_HOMES = {
    "Estimate": "freqlf.outputs.estimate",
    "FreqLFError": "freqlf.errors",
    "LightField": "freqlf.lightfield",
    "estimate": "freqlf.inference.estimate",
    "load_estimator": "freqlf.inference.estimate",
    "open_light_field": "freqlf.inference.opening",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'freqlf' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
