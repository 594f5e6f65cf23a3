"""What studies report, and what their tables call it."""

# Point estimate to title.
ESTIMATES = {
    "mean": "estimate: the mixture's mean, as in the paper",
    "tempered_mean": "estimate: the tempered mean",
}
# Metric to heading and digits after the point.
METRICS = {"mse_100": ("MSE x100", 3), "badpix_007": ("BadPix(0.07) %", 2)}
