"""`freqlf pack`: from a training run to a weight file."""

from pathlib import Path
from typing import Annotated

import tyro


def run(
    checkpoints: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="CHECKPOINT...")],
    out: Path,
    calibration: Path | None = None,
    half: bool = True,
) -> None:
    """Turn a training checkpoint into a small weight file (safetensors) with the model's configuration inside.

    A weight file can be packed again, to give it another calibration. Of several, which must be runs of one model that
    began with the same weights, the mean is packed.

    Args:
        checkpoints: last.pt or best.pt of a run, whose averaged weights are taken; or a weight file.
        out: The weight file to write, *.safetensors.
        calibration: JSON that `freqlf calibrate` fitted to this model's maps: estimates give calibrated intervals then.
        half: Store 16-bit floats, which halves the file.
    """
    from freqlf.errors import FreqLFError
    from freqlf.weights.calibration import read_calibration
    from freqlf.weights.files import write_weights
    from freqlf.weights.load import average_weights

    if out.suffix != ".safetensors":
        raise FreqLFError(f"weight files are called *.safetensors, not {out.name}")
    weights = average_weights(checkpoints)
    fitted = weights.calibration if calibration is None else read_calibration(calibration)
    if fitted is not None and fitted.held_out_ece is None:
        raise FreqLFError(f"{calibration} was not fitted on any scenes; make it with `freqlf calibrate`")
    write_weights(out, weights.config, weights.state, weights.facts, fitted, half=half)
    runs = weights.facts.get("averaged", [weights.facts])
    steps = " and ".join(str(facts.get("step", "?")) for facts in runs)
    what = f"{weights.facts.get('preset', 'a model')} after step {steps}"
    print(f"wrote {out}, {out.stat().st_size / 1e6:.1f} MB: {what}")
    if fitted is None:
        print("its intervals are not calibrated; see `freqlf calibrate`")
    else:
        print(
            f"its intervals are calibrated on {', '.join(fitted.scenes)}; "
            f"coverage ECE on scenes left out: {fitted.held_out_ece:.3f}"
        )
