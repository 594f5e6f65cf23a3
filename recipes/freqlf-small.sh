#!/usr/bin/env bash
# Trains and calibrates the weights `freqlf-small`. ROOT is the folder of the HCI benchmark, RUN a folder for what it leaves.
set -euo pipefail
ROOT=$1
RUN=$2
freqlf train --preset freqlf-small --recipe cpu --steps 2600 --threads 1 --data "$ROOT" --out "$RUN"/first \
  && freqlf train --preset freqlf-small --recipe cpu --weights "$RUN"/first/last.pt --seed 1 --learning-rate 0.0015 --steps 1150 --threads 1 --data "$ROOT" --out "$RUN"
freqlf evaluate --model "$RUN/last.pt" --data "$ROOT" --split training --out "$RUN/evaluation"
freqlf calibrate --from "$RUN/evaluation/maps" --data "$ROOT" --split training --out "$RUN/calibration.json"
freqlf pack "$RUN/last.pt" --calibration "$RUN/calibration.json" --out "freqlf-small.safetensors"
