#!/usr/bin/env bash
# Trains the weights `freqlf-plus-small`. ROOT is the folder of the HCI benchmark, RUN a folder for checkpoints.
set -euo pipefail
ROOT=$1
RUN=$2
freqlf train --preset freqlf-plus-small --recipe cpu --steps 3200 --threads 1 --data "$ROOT" --out "$RUN"
freqlf pack "$RUN/last.pt" --out "freqlf-plus-small.safetensors"
