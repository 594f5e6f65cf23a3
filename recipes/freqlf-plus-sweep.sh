#!/usr/bin/env bash
# Trains and calibrates the weights `freqlf-plus-sweep`. ROOT is the folder of the HCI benchmark, RUN a folder for what it leaves.
# The packaged ones were made from a first stage that was interrupted after 999 of its 2900 steps, a fifth after 2524 of its 4600 and a seventh after 439 of
# its 3000, for which the first 96 scenes were generated (their last.pt); of the sixth the best checkpoint is taken, after 1488 steps, as it was packaged
# then. The first four stages were run before the preset looked at planes through the surroundings, the first six before it had wide windows and
# occluders were painted; noise is cut off at black and white from step 352 of the seventh on.
set -euo pipefail
ROOT=$1
RUN=$2
freqlf data synth SCENES --scenes 152 --size 384 --seed 1000 --blur 0 0.5
freqlf train --preset freqlf-plus-sweep --recipe cpu --weights freqlf-plus-small --weights-part passes.0 --frozen passes.0 \
  --early-weight 0 --steps 2900 --learning-rate 0.0015 --warmup-steps 150 --crop-size-px 160 --loss-border-px 8 --precision bf16 \
  --truth-deviation-px 0.02 --l1-weight 1 --l1-power 3 --edge-bias 0.4 --noise 0.05 --noise-probability 0.4 --scale 1.35 \
  --geometry-probability 0.25 --threads 1 --data "$ROOT" --out "$RUN"/first \
  && freqlf train --preset freqlf-plus-sweep --recipe cpu --weights "$RUN"/first/last.pt --frozen passes.0 --early-weight 0 --seed 1 \
  --steps 1900 --learning-rate 0.0008 --warmup-steps 20 --batch-size 3 --crop-size-px 128 --loss-border-px 8 --precision bf16 \
  --truth-deviation-px 0.02 --l1-weight 3 --l1-power 3 --edge-bias 0.2 --noise 0.05 --noise-probability 0.25 --scale 1.35 \
  --geometry-probability 0.15 --threads 1 --data "$ROOT" --out "$RUN"/second \
  && freqlf train --preset freqlf-plus-sweep --recipe cpu --weights "$RUN"/second/last.pt --frozen passes.0 --early-weight 0 --seed 2 \
  --steps 820 --learning-rate 0.0005 --warmup-steps 20 --batch-size 3 --crop-size-px 128 --loss-border-px 8 --precision bf16 \
  --truth-deviation-px 0.02 --l1-weight 3 --l1-power 3 --edge-bias 0.3 --noise 0.05 --noise-probability 0.25 --scale 1.35 \
  --geometry-probability 0.15 --threads 1 --data "$ROOT" --out "$RUN"/third \
  && freqlf train --preset freqlf-plus-sweep --recipe cpu --weights "$RUN"/third/last.pt --frozen passes.0 --early-weight 0 --seed 3 \
  --optimizer muon --steps 240 --learning-rate 0.0008 --warmup-steps 15 --batch-size 3 --crop-size-px 128 --loss-border-px 8 \
  --precision bf16 --truth-deviation-px 0.02 --l1-weight 3 --l1-power 3 --edge-bias 0.3 --noise 0.05 --noise-probability 0.25 \
  --scale 1.35 --geometry-probability 0.15 --threads 1 --data "$ROOT" --out "$RUN"/fourth \
  && torchrun --nproc-per-node 2 -m freqlf train --preset freqlf-plus-sweep --recipe cpu --weights "$RUN"/fourth/last.pt \
  --frozen passes.0 --early-weight 0 --seed 9 --optimizer muon --steps 4600 --learning-rate 0.001 --warmup-steps 30 --batch-size 6 \
  --crop-size-px 128 --loss-border-px 8 --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 \
  --noise 0.06 --noise-probability 0.25 --scale 1.35 --geometry-probability 0.15 --threads 1 --data "$ROOT" --out "$RUN"/fifth \
  && torchrun --nproc-per-node 2 -m freqlf train --preset freqlf-plus-sweep --recipe cpu --weights "$RUN"/fifth/last.pt \
  --frozen passes.0 --early-weight 0 --seed 10 --optimizer muon --steps 1980 --learning-rate 0.0007 --warmup-steps 30 --batch-size 6 \
  --crop-size-px 128 --loss-border-px 8 --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 \
  --noise 0.06 --noise-probability 0.25 --scale 1.35 --geometry-probability 0.2 --occluder-share 0.25 --threads 1 --data "$ROOT" \
  --out "$RUN"/sixth \
  && freqlf train --preset freqlf-plus-sweep --recipe cpu --weights "$RUN"/sixth/best.pt --early-weight 0.3 --seed 12 --optimizer muon \
  --synthetic-data SCENES --synthetic-share 0.3 --steps 3000 --learning-rate 0.001 --warmup-steps 30 --batch-size 2 --crop-size-px 160 \
  --loss-border-px 8 --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 --noise 0.1 \
  --noise-probability 0.35 --scale 1.35 --geometry-probability 0.2 --occluder-share 0.2 --threads 1 --data "$ROOT" \
  --out "$RUN"/seventh \
  && freqlf train --preset freqlf-plus-sweep --recipe cpu --weights "$RUN"/seventh/last.pt --early-weight 0.3 --seed 13 --optimizer muon \
  --synthetic-data SCENES --synthetic-share 0.3 --steps 2200 --learning-rate 0.001 --warmup-steps 30 --batch-size 2 --crop-size-px 160 \
  --loss-border-px 8 --precision bf16 --truth-deviation-px 0.03 --l1-weight 3 --l1-power 3 --edge-bias 0.3 --noise 0.1 \
  --noise-probability 0.35 --scale 1.35 --geometry-probability 0.25 --misalignment-px 0.25 --blur-px 0.7 --occluder-share 0.2 --threads 1 --data "$ROOT" \
  --out "$RUN"
freqlf evaluate --model "$RUN/last.pt" --data "$ROOT" --split training --out "$RUN/evaluation"
freqlf calibrate --from "$RUN/evaluation/maps" --data "$ROOT" --split training --out "$RUN/calibration.json"
freqlf pack "$RUN/last.pt" --calibration "$RUN/calibration.json" --out "freqlf-plus-sweep.safetensors"
