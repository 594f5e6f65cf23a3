"""What an estimator returns: maps of the central view, and all that can be made of them."""

import base64
import html
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.parameters import Parameters
from freqlf.lightfield import LightField
from freqlf.outputs.pointcloud import STANDARD_LIMITS, PointCloud, PointFilter, build_point_cloud, compute_depth_mm
from freqlf.weights.calibration import Calibration

Map = NDArray[np.float32]

# The chance that the true disparity lies between the two ends of the interval that an estimate reports.
INTERVAL = 0.9


@dataclass(frozen=True, repr=False, eq=False)
class Estimate:
    """What is known about the central view's disparity, maps (H, W) in pixels per view step, positive is nearer.

    Attributes:
        disparity_px: the tempered mean of the mixture: commits to a surface, keeps sub-pixel precision.
        mean_px: the mixture's mean, the paper's estimate; it hedges where two surfaces compete.
        deviation_px: the mixture's standard deviation; None if the model knows none.
        lower_px, upper_px: bounds of an interval that holds the true disparity with a chance of 90 %; None likewise.
        model: name of the weights.
        seconds: time for the network, without reading the views.
        light_field: what was estimated, its views in order.
        tile_px: side of the tiles it was computed in; None if in one piece.
        memory_bytes: what the process was allowed to hold; None if the tiles were given.
        calibration: what made the interval, which is then around `disparity_px`; None if it is the central 90 % of the
            mixture, as predicted.
        parameters: the camera, where it is known.
        shear_px: pixels per view step that the light field was sheared by for the model; the maps are as if it was not.
        notes: how the light field was read, and what about its order is known or assumed.
        warnings: why the estimate is poor.
        facts: about the run, for the record that `save` writes.
    """

    disparity_px: Map
    mean_px: Map
    deviation_px: Map | None
    lower_px: Map | None
    upper_px: Map | None
    model: str
    seconds: float
    light_field: LightField
    tile_px: int | None = None
    memory_bytes: int | None = None
    calibration: Calibration | None = None
    parameters: Parameters | None = None
    shear_px: float = 0.0
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def depth_mm(self) -> Map:
        """Depth (H, W) along the optical axis in mm, infinite from the disparity of infinity on; needs a camera."""
        return compute_depth_mm(self.disparity_px, self._camera())

    def points(self, limits: PointFilter = STANDARD_LIMITS) -> PointCloud:
        """Coloured points in the central camera's frame, in mm; needs a camera."""
        view = self.light_field.centre_view()
        return build_point_cloud(self.disparity_px, view, self._camera(), self.deviation_px, limits)

    def save(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        refocus_px: float | None = None,
        all_in_focus: bool = False,
    ) -> dict[Path, str]:
        """Write all maps, pictures, points and a record of the run; returns the files with what they hold.

        overwrite: replace an earlier result; other files in the folder stay.
        refocus_px: also write a picture refocused at this disparity.
        all_in_focus: also write a picture in which everything is sharp.
        """
        from freqlf.outputs.folder import OutputOptions, write_estimate  # imports matplotlib

        options = OutputOptions(refocus_px=refocus_px, all_in_focus=all_in_focus)
        return write_estimate(Path(folder), self, options, overwrite=overwrite)

    def show(self) -> None:
        """Open the disparity map in a window, or below the cell of a notebook."""
        import matplotlib.pyplot as plt

        from freqlf.outputs.previews import preview_disparity

        preview_disparity(self.disparity_px, Path(self.model).name, plt.figure)
        plt.show()

    def shifted(self, by_px: float) -> "Estimate":
        """The estimate of the light field sheared by as much: all disparities move, deviations stay."""

        def shift(values: Map | None) -> Map | None:
            return None if values is None else values + np.float32(by_px)

        return replace(
            self,
            disparity_px=self.disparity_px + np.float32(by_px),
            mean_px=self.mean_px + np.float32(by_px),
            lower_px=shift(self.lower_px),
            upper_px=shift(self.upper_px),
        )

    def __repr__(self) -> str:
        height, width = self.disparity_px.shape
        low, high = np.nanmin(self.disparity_px), np.nanmax(self.disparity_px)
        warned = f", {len(self.warnings)} warning{'s' * (len(self.warnings) > 1)}" if self.warnings else ""
        span = f"{low:.2f} to {high:.2f} px per view"
        return f"Estimate({width} x {height} px, {span}, {Path(self.model).name}, {self.seconds:.1f} s{warned})"

    def _repr_html_(self) -> str:
        """For notebooks: the disparity in colours below its description."""
        from freqlf.outputs.previews import preview_disparity

        content = BytesIO()
        preview_disparity(self.disparity_px, Path(self.model).name).savefig(content, format="png", dpi=80)
        picture = base64.b64encode(content.getvalue()).decode()
        lines = [repr(self), *(f"warning: {warning}" for warning in self.warnings)]
        text = "<br>".join(map(html.escape, lines))
        return f'<p>{text}</p><img alt="disparity" src="data:image/png;base64,{picture}">'

    def _camera(self) -> Parameters:
        if self.parameters is None:
            raise FreqLFError(
                "depth and points need the camera, which this light field's file does not describe; "
                "give the option parameters, see freqlf.io.parameters"
            )
        return self.parameters
