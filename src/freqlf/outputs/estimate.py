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
from freqlf.io.camera import camera_of_distances
from freqlf.io.parameters import Parameters
from freqlf.lightfield import LightField
from freqlf.outputs.pointcloud import (
    STANDARD_LIMITS,
    PointCloud,
    PointFilter,
    build_point_cloud,
    compute_depth_mm,
    find_span_px,
)
from freqlf.weights.calibration import Calibration

Map = NDArray[np.float32]

# The chance that the true disparity lies between the two ends of the interval that an estimate reports.
INTERVAL = 0.9

_NO_UNIT = (1.0, 2.0)  # distances of the nearest and farthest things, where nobody knows them
_LEAST_SPAN_PX = 0.5  # of disparities, even of a flat scene


@dataclass(frozen=True, repr=False, eq=False)
class Estimate:
    """What is known about the central view's disparity, maps (H, W) in pixels per view step, positive is nearer.

    Attributes:
        disparity_px: the model's reading of its mixture: commits to a surface, keeps sub-pixel precision.
        mean_px: the mixture's mean, the paper's estimate; it hedges where two surfaces compete.
        deviation_px: the mixture's standard deviation; None if the model knows none.
        lower_px, upper_px: bounds of an interval that holds the true disparity with a chance of 90 %; None likewise.
            Where there is no evidence, it reaches over the scene's range.
        no_evidence: 1 where the views themselves say nothing about the disparity, as on plain surfaces, whatever the
            model says; 0 where they do.
        range_px: between which disparities the scene lies, as far as can be told.
        model: name of the weights.
        seconds: time for the network, without reading the views.
        light_field: what was estimated, its views in order.
        tile_px: side of the tiles it was computed in; None if in one piece.
        memory_bytes: what the process was allowed to hold; None if the tiles were given.
        calibration: what made the interval, which is then around `disparity_px`; None if it is the central 90 % of the
            mixture, as predicted.
        parameters: the camera, where it is known.
        camera_source: who said so: the light field's files, a file of its own, options, or two distances.
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
    no_evidence: Map | None = None
    range_px: tuple[float, float] | None = None
    tile_px: int | None = None
    memory_bytes: int | None = None
    calibration: Calibration | None = None
    parameters: Parameters | None = None
    camera_source: str | None = None
    shear_px: float = 0.0
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def no_evidence_share(self) -> float:
        """The share of the pixels about which the views say nothing."""
        return 0.0 if self.no_evidence is None else float(np.mean(self.no_evidence >= 0.5))

    @property
    def depth_mm(self) -> Map:
        """Depth (H, W) along the optical axis in mm, infinite from the disparity of infinity on; needs a camera."""
        if self.parameters is None:
            raise FreqLFError(
                "depth needs the camera, which this light field's file does not describe; give --camera FILE, or "
                "--near-m and --far-m (the distances of the nearest and farthest things)"
            )
        return compute_depth_mm(self.disparity_px, self.parameters)

    def points(self, limits: PointFilter = STANDARD_LIMITS) -> PointCloud:
        """Coloured points in the central camera's frame, in mm; without a camera they have no unit.

        Those are placed as a usual lens would see them, between distances of 1000 and 2000.
        """
        disparity_px, camera = self.disparity_px, self.parameters
        if camera is None:
            disparity_px, camera = self._guess_depth()
        width_px = None if self.lower_px is None or self.upper_px is None else self.upper_px - self.lower_px
        cloud = build_point_cloud(
            disparity_px,
            self.light_field.centre_view(),
            camera,
            self.deviation_px,
            limits,
            interval_px=width_px,
            no_evidence=self.no_evidence,
        )
        return replace(cloud, has_unit=self.parameters is not None)

    def save(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        refocus_px: float | None = None,
        all_in_focus: bool = False,
        poses: bool = False,
        max_interval: float | None = PointFilter.max_interval,
    ) -> dict[Path, str]:
        """Write all maps, pictures, points and a record of the run; returns the files with what they hold.

        overwrite: replace an earlier result; other files in the folder stay.
        refocus_px: also write a picture refocused at this disparity.
        all_in_focus: also write a picture in which everything is sharp.
        poses: also write the views with where they were taken from, for nerfstudio and LLFF; needs a camera.
        max_interval: the widest interval of a point, as a share of the scene's range of disparities; None for any.
        """
        from freqlf.outputs.folder import OutputOptions, write_estimate  # imports matplotlib

        limits = PointFilter(max_interval=max_interval)
        options = OutputOptions(points=limits, refocus_px=refocus_px, all_in_focus=all_in_focus, poses=poses)
        return write_estimate(Path(folder), self, options, overwrite=overwrite)

    def show(self) -> None:
        """Open the disparity map in a window, or below the cell of a notebook."""
        import matplotlib.pyplot as plt

        from freqlf.outputs.previews import preview_disparity

        preview_disparity(self.disparity_px, Path(self.model).name, plt.figure, self.no_evidence)
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
            range_px=self.range_px and (self.range_px[0] + by_px, self.range_px[1] + by_px),
        )

    def __repr__(self) -> str:
        height, width = self.disparity_px.shape
        low, high = find_span_px(self.disparity_px)
        warned = f", {len(self.warnings)} warning{'s' * (len(self.warnings) > 1)}" if self.warnings else ""
        span = f"{low:.2f} to {high:.2f} px per view"
        return f"Estimate({width} x {height} px, {span}, {Path(self.model).name}, {self.seconds:.1f} s{warned})"

    def _repr_html_(self) -> str:
        """For notebooks: the disparity in colours below its description."""
        from freqlf.outputs.previews import preview_disparity

        content = BytesIO()
        figure = preview_disparity(self.disparity_px, Path(self.model).name, no_evidence=self.no_evidence)
        figure.savefig(content, format="png", dpi=80)
        picture = base64.b64encode(content.getvalue()).decode()
        lines = [repr(self), *(f"warning: {warning}" for warning in self.warnings)]
        text = "<br>".join(map(html.escape, lines))
        return f'<p>{text}</p><img alt="disparity" src="data:image/png;base64,{picture}">'

    def _guess_depth(self) -> tuple[Map, Parameters]:
        """Disparities from 0 on, and a camera with which the scene looks right, though nobody knows how large it is."""
        low_px, high_px = find_span_px(self.disparity_px, self.no_evidence)
        span_px = max(high_px - low_px, _LEAST_SPAN_PX)
        views = self.light_field.rows, self.light_field.columns
        size_px = self.disparity_px.shape[0], self.disparity_px.shape[1]
        return self.disparity_px - np.float32(low_px), camera_of_distances(size_px, views, (0.0, span_px), _NO_UNIT)
