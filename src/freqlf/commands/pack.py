"""`freqlf pack`: from a training run to a weight file."""

from pathlib import Path
from typing import Annotated

import tyro


def run(
    checkpoint: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="CHECKPOINT")],
    out: Path,
    half: bool = True,
) -> None:
    """Turn a training checkpoint into a small weight file (safetensors) with the model's configuration inside.

    Args:
        checkpoint: last.pt or best.pt of a run; its averaged weights are taken.
        out: The weight file to write, *.safetensors.
        half: Store 16-bit floats, which halves the file.
    """
    from freqlf.checkpoint import load_checkpoint
    from freqlf.config import config_from_dict
    from freqlf.errors import FreqLFError
    from freqlf.weights.files import write_weights

    if out.suffix != ".safetensors":
        raise FreqLFError(f"weight files are called *.safetensors, not {out.name}")
    content = load_checkpoint(checkpoint)
    facts = {
        "preset": content.preset,
        "recipe": content.recipe,
        "scenes": content.scenes,
        "step": content.step,
        "training_seconds": content.seconds,
        "validation": content.best,
        "freqlf_version": content.freqlf_version,
    }
    write_weights(out, config_from_dict(content.model_config), content.ema, facts, half=half)
    print(f"wrote {out}, {out.stat().st_size / 1e6:.1f} MB: {content.preset} after step {content.step}")
