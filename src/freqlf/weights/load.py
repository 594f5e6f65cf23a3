"""From a name or a file to a network that can be used."""

from pathlib import Path

from freqlf.checkpoint import load_checkpoint
from freqlf.config import config_from_dict
from freqlf.errors import FreqLFError
from freqlf.nn.aligned import AlignedFreqLF
from freqlf.nn.build import build_model
from freqlf.nn.model import FreqLF
from freqlf.weights.files import read_weights
from freqlf.weights.registry import WEIGHTS

# The learning-free estimate has no weights; its name is understood wherever a model is asked for.
SLOPE = "slope"


def load_model(model: str | Path) -> AlignedFreqLF | FreqLF:
    """A network with packaged weights (by name), a weight file (.safetensors) or a training checkpoint (.pt)."""
    if str(model) in WEIGHTS:
        path = WEIGHTS[str(model)].path
    else:
        path = Path(model)
        if path.suffix not in (".safetensors", ".pt"):
            known = ", ".join([SLOPE, *WEIGHTS])
            raise FreqLFError(f"unknown model {str(model)!r}: choose {known}, or give a .safetensors or .pt file")
    if path.suffix == ".pt":
        checkpoint = load_checkpoint(path)
        config, state = config_from_dict(checkpoint.model_config), checkpoint.ema
    else:
        config, state, _ = read_weights(path)
    network = build_model(config)
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise FreqLFError(f"{path} does not fit the model that it describes; it is damaged") from error
    return network.eval()
