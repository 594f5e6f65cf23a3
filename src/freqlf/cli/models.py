"""`freqlf models`: the presets and what they cost."""

from rich.table import Table

from freqlf.cli.terminal import print_table
from freqlf.weights.registry import WEIGHTS

SIZE_PX = 128


def run() -> None:
    """List the packaged weights with their scores, and the model presets with what they cost.

    Multiply-adds are counted on a field of 128 x 128 pixels with 9 x 9 views; convolutions and matrix products only.
    """
    from freqlf.models.build import build_model
    from freqlf.models.complexity import count_multiply_adds, count_parameters, measure_local_reach_px
    from freqlf.models.presets import PRESETS
    from freqlf.models.views import read_stacks
    from freqlf.studies.cost.measurement import random_light_field

    table = Table()
    table.add_column("preset")
    for heading in ("parameters", "multiply-adds / px", "local field [px]"):
        table.add_column(heading, justify="right")
    for heading in ("views used", "enumerates disparities"):
        table.add_column(heading)
    for name, config in PRESETS.items():
        model = build_model(config)
        multiply_adds = count_multiply_adds(model, read_stacks(random_light_field(model.lines, SIZE_PX), model.lines))
        reach_px = measure_local_reach_px(model)
        table.add_row(
            name,
            f"{count_parameters(model):,}",
            f"{multiply_adds / SIZE_PX**2:,.0f}",
            f"{reach_px} x {reach_px}",
            ", ".join(model.lines),
            "yes" if config.enumerates_disparities else "no",
        )
    print_table(table)
    print("The Fourier branch and channel reweighting see the whole field.")
    print_table(list_weights())


def list_weights() -> Table:
    """The packaged weights, as a table."""
    headings = ("weights", "trained on", "protocol", "MSE x100", "BadPix(0.07) %", "intervals", "CPU hours", "licence")
    table = Table(*headings)
    for name, entry in WEIGHTS.items():
        mse_100, badpix_007 = entry.scores["mean"]
        fitted = entry.calibration
        intervals = f"calibrated on {', '.join(fitted.scenes)}; ECE {fitted.held_out_ece:.3f} on a scene left out"
        table.add_row(
            *(name, entry.data, entry.protocol, f"{mse_100:.2f}", f"{badpix_007:.2f}", intervals),
            *(f"{entry.cpu_hours:.1f}", entry.licence),
        )
    return table
