#!/usr/bin/env bash
# Trains and calibrates the weights `freqlf-small`. ROOT is the folder of the HCI benchmark, RUN a folder for what it leaves.
# Of the first two stages only pass 1 is used; the packaged one was trained in an earlier form of the preset, which had the same. The third stage was
# interrupted after 677 of its 4200 steps (its last.pt). Its pass 2 begins with the layers of
# `freqlf-plus-sweep` as they were packaged then. Noise is cut off at black and white from step 144 of the fourth stage on. The first four stages were run before
# the preset had a slope field by the views' mean and its pass 1 a second opinion, with the first 96 scenes; the fifth was interrupted after 490 of its 1800 steps
# (its last.pt) and began with the fourth as it was packaged then, in 16 bits.
set -euo pipefail
ROOT=$1
RUN=$2
freqlf data synth SCENES --scenes 152 --size 384 --seed 1000 --blur 0 0.5
freqlf train --preset freqlf-small --recipe cpu --steps 2600 --threads 1 --data "$ROOT" --out "$RUN"/first \
  && freqlf train --preset freqlf-small --recipe cpu --weights "$RUN"/first/last.pt --seed 1 --learning-rate 0.0015 --steps 1150 --threads 1 \
  --data "$ROOT" --out "$RUN"/second \
  && freqlf train --preset freqlf-small --recipe cpu --optimizer muon --weights "$RUN"/second/last.pt freqlf-plus-sweep \
  --weights-part passes.0 passes.1.layers,passes.1.decoder \
  --early-weight 0.3 --seed 1 --steps 4200 --learning-rate 0.001 --warmup-steps 30 --batch-size 3 --crop-size-px 128 --loss-border-px 8 \
  --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 --noise 0.1 --noise-probability 0.35 --scale 1.35 \
  --geometry-probability 0.2 --occluder-share 0.2 --synthetic-data SCENES --synthetic-share 0.3 --threads 1 --data "$ROOT" --out "$RUN"/third \
  && freqlf train --preset freqlf-small --recipe cpu --optimizer muon --weights "$RUN"/third/last.pt \
  --early-weight 0.3 --seed 2 --steps 1600 --learning-rate 0.001 --warmup-steps 30 --batch-size 3 --crop-size-px 128 --loss-border-px 8 \
  --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 --noise 0.1 --noise-probability 0.35 --scale 1.35 \
  --geometry-probability 0.2 --occluder-share 0.2 --synthetic-data SCENES --synthetic-share 0.3 --threads 1 --data "$ROOT" --out "$RUN"/fourth \
  && freqlf train --preset freqlf-small --recipe cpu --optimizer muon --weights "$RUN"/fourth/last.pt \
  --early-weight 0.3 --seed 3 --steps 1800 --learning-rate 0.001 --warmup-steps 30 --batch-size 2 --crop-size-px 160 --loss-border-px 8 \
  --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 --noise 0.1 --noise-probability 0.4 --scale 1.35 \
  --geometry-probability 0.25 --misalignment-px 0.25 --blur-px 0.7 --occluder-share 0.2 --synthetic-data SCENES --synthetic-share 0.3 --threads 1 \
  --data "$ROOT" --out "$RUN"/fifth \
  && freqlf train --preset freqlf-small --recipe cpu --optimizer muon --weights "$RUN"/fifth/last.pt \
  --early-weight 0.3 --seed 4 --steps 750 --learning-rate 0.001 --warmup-steps 30 --batch-size 2 --crop-size-px 160 --loss-border-px 8 \
  --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 --noise 0.1 --noise-probability 0.4 --scale 1.35 \
  --geometry-probability 0.25 --misalignment-px 0.25 --blur-px 0.7 --occluder-share 0.2 --synthetic-data SCENES --synthetic-share 0.3 --threads 1 \
  --data "$ROOT" --out "$RUN"
freqlf evaluate --model "$RUN/last.pt" --data "$ROOT" --split training --out "$RUN/evaluation"
freqlf calibrate --from "$RUN/evaluation/maps" --data "$ROOT" --split training --out "$RUN/calibration.json"
freqlf pack "$RUN/last.pt" --calibration "$RUN/calibration.json" --out "freqlf-small.safetensors"
