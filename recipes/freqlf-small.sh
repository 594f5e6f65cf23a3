#!/usr/bin/env bash
# Trains the weights `freqlf-small`. ROOT is the folder of the HCI benchmark, RUN a folder for checkpoints.
set -euo pipefail
ROOT=$1
RUN=$2
freqlf train --preset freqlf-small --recipe cpu --steps 4000 --threads 1 --data "$ROOT" --out "$RUN"
freqlf pack "$RUN/last.pt" --out "freqlf-small.safetensors"
