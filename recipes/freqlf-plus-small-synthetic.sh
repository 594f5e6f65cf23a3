#!/usr/bin/env bash
# Trains and calibrates the weights `freqlf-plus-small-synthetic`. ROOT is the folder of the HCI benchmark, RUN a folder for what it leaves.
set -euo pipefail
ROOT=$1
RUN=$2
freqlf data synth SCENES --scenes 48 --size 384 --seed 1000 --blur 0 0.5
freqlf train --preset freqlf-plus-small --recipe cpu --steps 1200 --threads 1 --train-split none --synthetic-data SCENES --data "$ROOT" --out "$RUN"
freqlf data synth "$RUN/calibration-scenes" --scenes 8 --size 384 --seed 5000 --blur 0 0.5
freqlf evaluate --model "$RUN/last.pt" --data "$RUN/calibration-scenes" --split all --out "$RUN/evaluation"
freqlf calibrate --from "$RUN/evaluation/maps" --data "$RUN/calibration-scenes" --split all --out "$RUN/calibration.json"
freqlf pack "$RUN/last.pt" --calibration "$RUN/calibration.json" --out "freqlf-plus-small-synthetic.safetensors"
