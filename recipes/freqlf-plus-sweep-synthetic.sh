#!/usr/bin/env bash
# Trains and calibrates the weights `freqlf-plus-sweep-synthetic`. ROOT is the folder of the HCI benchmark, whose scenes are only validated on, RUN a
# folder for what it leaves. Of the first stage only pass 1 is used; the packaged one was trained on the first 48 of the scenes.
set -euo pipefail
ROOT=$1
RUN=$2
freqlf data synth SCENES --scenes 152 --size 384 --seed 1000 --blur 0 0.5
freqlf train --preset freqlf-plus-small --recipe cpu --steps 1200 --threads 1 --train-split none --synthetic-data SCENES --data "$ROOT" \
  --out "$RUN"/first \
  && freqlf train --preset freqlf-plus-sweep --recipe cpu --optimizer muon --train-split none --synthetic-data SCENES \
  --weights "$RUN"/first/last.pt --weights-part passes.0 --early-weight 0.3 --seed 1 --steps 1500 --learning-rate 0.002 --warmup-steps 100 \
  --batch-size 2 --crop-size-px 160 --loss-border-px 8 --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 \
  --noise 0.05 --noise-probability 0.25 --scale 1.35 --geometry-probability 0.25 --misalignment-px 0.25 --blur-px 0.7 --occluder-share 0.1 \
  --threads 1 --data "$ROOT" --out "$RUN"
freqlf data synth "$RUN/calibration-scenes" --scenes 8 --size 384 --seed 5000 --blur 0 0.5
freqlf evaluate --model "$RUN/last.pt" --data "$RUN/calibration-scenes" --split all --out "$RUN/evaluation"
freqlf calibrate --from "$RUN/evaluation/maps" --data "$RUN/calibration-scenes" --split all --out "$RUN/calibration.json"
freqlf pack "$RUN/last.pt" --calibration "$RUN/calibration.json" --out "freqlf-plus-sweep-synthetic.safetensors"
