"""Training batches, cut from scenes in memory.

Every sample is a function of the seed and its number alone. A run can therefore be resumed at any step, or its batches
divided among any number of processes, without any state of random generators.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

import torch
from torch import Tensor

from freqlf.data import augment
from freqlf.data.occluders import occlude
from freqlf.data.reliefs import list_steps, render_relief
from freqlf.data.samples import Sample
from freqlf.data.sampling import Augmentation, Cropping, Reliefs
from freqlf.errors import FreqLFError

_MOST_TRIES = 10  # for a crop with enough valid pixels
_CANDIDATES = 4  # for one with many edges, or many errors
_RELIEF_PX = 512  # side of reliefs if neither crops nor scenes have a size
_EDGE_JUMP_PX = 0.1  # a change of disparity between neighbours that counts as an edge
_ERROR_PX = 0.07  # of what frozen passes believe


@dataclass(frozen=True)
class Batch:
    """What a model is trained on in one step.

    Attributes:
        stacks: line name to (B, A, 3, H, W), float32.
        disparity_px: (B, 1, H, W), in px per view step.
        valid: (B, 1, H, W), bool: pixels that have a loss.
        beliefs: (B, maps, H, W), of the model's frozen passes, if they were asked about whole scenes.
    """

    stacks: dict[str, Tensor]
    disparity_px: Tensor
    valid: Tensor
    beliefs: Tensor | None = None

    def to(self, device: torch.device) -> "Batch":
        """The batch on another device."""
        if device.type == "cpu":
            return self
        stacks = {line: stack.pin_memory().to(device, non_blocking=True) for line, stack in self.stacks.items()}
        beliefs = None if self.beliefs is None else self.beliefs.to(device)
        return Batch(stacks, self.disparity_px.to(device), self.valid.to(device), beliefs)


class BatchRecipe(Protocol):
    """What a training recipe says about its batches; see `freqlf.training.recipe.Recipe`."""

    @property
    def batch_size(self) -> int: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def loss_border_px(self) -> int: ...  # noqa: D102
    @property
    def cropping(self) -> Cropping: ...  # noqa: D102
    @property
    def augmentation(self) -> Augmentation: ...  # noqa: D102
    @property
    def reliefs(self) -> Reliefs: ...  # noqa: D102


class BatchSource:
    """Cuts the batches of a recipe from scenes; `generated` ones, if any, make up `synthetic_share` of the samples.

    A recipe may have reliefs generated as well, or instead, which need no scenes: then light fields have 9 x 9 views.

    believe: what the frozen passes of a model make of a scene of float views, (maps, H, W). It is asked about whole
        scenes, if the recipe varies those: passes that do not learn are most of the time of a step.
    """

    believe: Callable[[Sample], Tensor] | None = None

    def __init__(
        self, recipe: BatchRecipe, lines: Iterable[str], scenes: Sequence[Sample], generated: Sequence[Sample] = ()
    ) -> None:
        self.recipe = recipe
        self.lines = tuple(lines)
        self.scenes, self.generated = tuple(scenes), tuple(generated)
        favoured = [name for name in recipe.cropping.favoured.split(",") if name]
        unknown = sorted(set(favoured) - {scene.name for scene in self.scenes})
        if unknown:
            raise FreqLFError(f"--favoured names {unknown[0]}, which is no scene in training; leave it out")
        self._pool = (*self.scenes, *(scene for scene in self.scenes if scene.name in favoured))
        self._varied: dict[str, tuple[int, Sample]] = {}  # the newest variation of a scene and its number
        everything = (*self.scenes, *self.generated)
        if not everything and not recipe.reliefs.are_used:
            raise FreqLFError("there is no scene to train on; name a split or a number of generated scenes")
        self.relief_views = everything[0].steps if everything else list_steps(self.lines)
        grids = {len(sample.steps): sample.name for sample in everything}
        if len(grids) > 1:
            described = " and ".join(f"{name} has {views}" for views, name in grids.items())
            raise FreqLFError(f"scenes in training need the same number of views, but {described}")
        size_px = recipe.cropping.crop_size_px
        sides = [side for sample in everything for side in (sample.height, sample.width)]
        self.shorter_side_px = min(sides, default=size_px or _RELIEF_PX)
        sizes = {(sample.height, sample.width) for sample in everything}
        self.full_size = sizes.pop() if len(sizes) == 1 else (self.shorter_side_px, self.shorter_side_px)
        smallest_px = self.shorter_side_px
        if recipe.cropping.epochs_per_variation:
            smallest_px = int(smallest_px / recipe.augmentation.scale)  # whole scenes shrink
        if size_px > smallest_px:
            raise FreqLFError(f"crops of {size_px} px do not fit into scenes of {smallest_px} px; set --crop-size-px")

    @property
    def scene_count(self) -> int:
        """Scenes that an epoch goes through."""
        return len(self.scenes) or len(self.generated) or 1

    def batch(self, step: int, rank: int = 0, processes: int = 1) -> Batch:
        """The part of the batch number `step` that belongs to process `rank`."""
        share = self.recipe.batch_size // processes
        first = step * self.recipe.batch_size + rank * share
        height, width = self.draw_size(step)
        samples = [self.sample(number, height, width) for number in range(first, first + share)]
        beliefs = [sample.beliefs for sample in samples if sample.beliefs is not None]
        return Batch(
            {line: torch.stack([sample.stack(line) for sample in samples]) for line in self.lines},
            torch.stack([sample.disparity_px for sample in samples]).unsqueeze(1),
            torch.stack([sample.valid for sample in samples]).unsqueeze(1),
            torch.stack(beliefs) if beliefs else None,
        )

    def draw_size(self, step: int) -> tuple[int, int]:
        """Height and width of all crops of a step: they have to fit into one tensor."""
        cropping = self.recipe.cropping
        if cropping.crop_size_px:
            return cropping.crop_size_px, cropping.crop_size_px
        rng = Random(f"size {self.recipe.seed} {step}")
        longest = self.shorter_side_px
        middle = int(0.7 * longest)
        strategy = rng.random()
        if strategy < cropping.full_share:
            return self.full_size
        if strategy < cropping.full_share + cropping.large_share:
            low, high = middle, longest
        else:
            low, high = min(cropping.smallest_crop_px, middle), middle
        return rng.randint(low, high), rng.randint(low, high)

    def sample(self, number: int, height: int, width: int) -> Sample:
        """The sample of this number over the whole run, with pixels of floats."""
        rng = Random(f"sample {self.recipe.seed} {number}")
        if self.recipe.cropping.epochs_per_variation:
            return self._cut_varied(number, height, width, rng)
        options = self.recipe.augmentation
        scene = self._draw_relief(number, height, width) or self._draw_scene(number, rng)[0]
        fits_turned = height <= scene.width and width <= scene.height
        turned = options.flips and fits_turned and rng.random() < 0.5
        size = (width, height) if turned else (height, width)
        geometry = augment.draw_geometry(options, len(scene.steps), rng)
        if geometry.is_identity:
            y, x = self._draw_place(scene, *size, rng)
            sample = augment.vary_colours(scene.cut(y, x, *size), options, rng)
        else:
            sample = self._cut_resampled(scene, geometry, *size, rng)
        # Random numbers of its own, so that samples without an occluder stay as they were.
        occluding = Random(f"occluder {self.recipe.seed} {number}")
        if occluding.random() < options.occluder_share:
            sample = occlude(sample, occluding)
        if options.flips:
            sample = augment.flip_randomly(sample.transposed() if turned else sample, rng)
        sample = augment.add_noise(augment.vary_exposure(sample, options, rng), options, rng)
        return _without_border(sample, self.recipe.loss_border_px)

    def _draw_relief(self, number: int, height: int, width: int) -> Sample | None:
        """A relief, if it is time for one. Its random numbers are its own, so that others stay as they are.

        Reliefs come in pairs, the second seen by the views in reverse: the same pixels with disparities of the opposite
        sign. In such a batch a constant gains nothing, only the order of views tells.
        """
        reliefs, pair = self.recipe.reliefs, number // 2
        step = 2 * pair // self.recipe.batch_size
        rng = Random(f"relief {self.recipe.seed} {pair}")
        has_scenes = bool(self.scenes or self.generated)
        if has_scenes and step >= reliefs.relief_steps and rng.random() >= reliefs.relief_share:
            return None
        relief = render_relief(
            rng, self.relief_views, height, width, reliefs.range_px(step), variety=reliefs.variety(step)
        )
        return relief.reversed() if number % 2 else relief

    def _cut_varied(self, number: int, height: int, width: int, rng: Random) -> Sample:
        """A crop of a scene that was varied as a whole."""
        options = self.recipe.augmentation
        scene, epoch = self._draw_scene(number, rng)
        scene = self._vary(scene, epoch // self.recipe.cropping.epochs_per_variation)
        turned = options.flips and rng.random() < 0.5
        size = (width, height) if turned else (height, width)
        y, x = self._draw_place(scene, *size, rng)
        sample = scene.cut(y, x, *size)
        sample = replace(sample, views=sample.views.float() / 255)
        if options.flips:
            sample = augment.flip_randomly(sample.transposed() if turned else sample, rng)
        return _without_border(sample, self.recipe.loss_border_px)

    def _vary(self, scene: Sample, variation: int) -> Sample:
        """The scene with other colours, geometry, exposure, noise and perhaps an occluder, in 8 bits as files are."""
        known = self._varied.get(scene.name)
        if known is not None and known[0] == variation:
            return known[1]
        options, rng = self.recipe.augmentation, Random(f"variation {self.recipe.seed} {scene.name} {variation}")
        geometry = augment.draw_geometry(options, len(scene.steps), rng)
        varied = augment.vary_colours(scene, options, rng)
        if not geometry.is_identity:
            # No larger than the scene, of which a part is seen then.
            height, width = (min(side, round(side * geometry.scale)) for side in (scene.height, scene.width))
            y = rng.randint(0, max(0, scene.height - round(height / geometry.scale)))
            x = rng.randint(0, max(0, scene.width - round(width / geometry.scale)))
            varied = augment.resample(varied, geometry, y, x, height, width)
        if rng.random() < options.occluder_share:
            varied = occlude(varied, rng)
        varied = augment.add_noise(augment.vary_exposure(varied, options, rng), options, rng)
        varied = replace(varied, views=varied.views.clamp(0, 1).mul_(255).round_())
        beliefs = None if self.believe is None else self.believe(replace(varied, views=varied.views / 255))
        varied = replace(varied, views=varied.views.byte(), beliefs=beliefs)
        self._varied[scene.name] = variation, varied
        return varied

    def _draw_scene(self, number: int, rng: Random) -> tuple[Sample, int]:
        """Every scene once per epoch, favoured ones twice, in random order; and the epoch."""
        use_generated = not self.scenes or rng.random() < self.recipe.cropping.synthetic_share
        pool = self.generated if self.generated and use_generated else self._pool
        epoch, place = divmod(number, len(pool))
        order = list(range(len(pool)))
        Random(f"order {self.recipe.seed} {epoch}").shuffle(order)
        return pool[order[place]], epoch

    def _draw_place(self, scene: Sample, height: int, width: int, rng: Random, margin: int = 0) -> tuple[int, int]:
        """Top left pixel of a crop."""
        cropping = self.recipe.cropping
        best, most = (0, 0), -1.0
        draw = rng.random()
        measure = _edge_share if draw < cropping.edge_bias else None
        if scene.beliefs is not None and cropping.edge_bias <= draw < cropping.edge_bias + cropping.hard_bias:
            measure = _error_share
        wanted = 1 if measure is None else _CANDIDATES
        for _ in range(_MOST_TRIES):
            y = _draw_start(rng, scene.height, height, margin)
            x = _draw_start(rng, scene.width, width, margin)
            window = scene.cut(y, x, height, width)
            if cropping.valid_share > 0 and window.valid.float().mean() < cropping.valid_share:
                if most < 0:
                    best = y, x
                continue
            share = 0.0 if measure is None else measure(window)
            if share > most:
                best, most = (y, x), share
            wanted -= 1
            if wanted <= 0:
                break
        return best

    def _cut_resampled(self, scene: Sample, geometry: augment.Geometry, height: int, width: int, rng: Random) -> Sample:
        """A crop of the transformed scene, from a window of the source with a margin for the views."""
        reach = max(max(abs(u), abs(v)) for u, v in scene.steps)
        margin = geometry.margin_px(reach)
        # What the crop covers of the source; a scene that is too small for that is extended without ground truth.
        covered_height = min(round(height / geometry.scale), scene.height)
        covered_width = min(round(width / geometry.scale), scene.width)
        y, x = self._draw_place(scene, covered_height, covered_width, rng, margin)
        top, left = max(0, y - margin), max(0, x - margin)
        bottom, right = min(scene.height, y + covered_height + margin), min(scene.width, x + covered_width + margin)
        source = scene.cut(top, left, bottom - top, right - left)
        source = augment.vary_colours(source, self.recipe.augmentation, rng)
        return augment.resample(source, geometry, y - top, x - left, height, width)


def _draw_start(rng: Random, length: int, size: int, margin: int) -> int:
    """Where a crop begins, with the margin around it inside the scene if there is room."""
    margin = min(margin, (length - size) // 2)
    return rng.randint(margin, length - size - margin)


def _edge_share(window: Sample) -> float:
    """Share of the pixels where the disparity jumps."""
    jump_x = window.disparity_px.diff(dim=1).abs() > _EDGE_JUMP_PX
    jump_y = window.disparity_px.diff(dim=0).abs() > _EDGE_JUMP_PX
    return float(jump_x.float().mean() + jump_y.float().mean())


def _error_share(window: Sample) -> float:
    """Share of the pixels where the first of the beliefs, the estimate, is wrong."""
    assert window.beliefs is not None
    return float((((window.beliefs[0] - window.disparity_px).abs() > _ERROR_PX) & window.valid).float().mean())


def _without_border(sample: Sample, border_px: int) -> Sample:
    """No loss along the edge: the other views see these pixels outside of the crop."""
    if border_px == 0:
        return sample
    inside = torch.zeros_like(sample.valid)
    inside[border_px:-border_px, border_px:-border_px] = True
    return replace(sample, valid=sample.valid & inside)


def prefetch(
    source: BatchSource, steps: Iterable[int], rank: int = 0, processes: int = 1, loaders: int = 0
) -> Generator[Batch]:
    """The batches of `steps`, prepared by as many threads in the background; 0 prepares each when it is asked for."""
    if loaders == 0:
        yield from (source.batch(step, rank, processes) for step in steps)
        return
    pending: list[Future[Batch]] = []
    with ThreadPoolExecutor(loaders) as pool:
        try:
            for step in steps:
                pending.append(pool.submit(source.batch, step, rank, processes))
                if len(pending) > 2 * loaders:
                    yield pending.pop(0).result()
            while pending:
                yield pending.pop(0).result()
        finally:
            for future in pending:
                future.cancel()
