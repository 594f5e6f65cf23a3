"""Procedural light fields with exact ground truth.

`scene` renders them; `layouts` say what stands where, made of `objects` that a `stage` turns into `surfaces` with
outlines from `shapes` and colours from `textures`.
"""

from freqlf.data.synthetic.layouts import LAYOUTS
from freqlf.data.synthetic.scene import SceneOptions, SyntheticScene, render_disparity, render_scene

__all__ = ["LAYOUTS", "SceneOptions", "SyntheticScene", "render_disparity", "render_scene"]
