#!/usr/bin/env bash
# What makes a tuned cross-encoder better: one change at a time, on the bundled data with mini, into
# docs/results/cross-recipe.csv; half an hour on one core.
#
#     benchmarks/cross_recipe.sh
#
# Runs that are finished are not redone.
set -euo pipefail
cd "$(dirname "$0")/.."
table=docs/results/cross-recipe.csv
mkdir -p runs/cards docs/results
lines=$(mktemp)
variant() { # NAME OPTIONS...
    local run="runs/cards/cross-${1// /-}" name=$1
    shift
    python run_multitask.py --task para sts --encoder cross --tune full --run-dir "$run" "$@"
    [ -s "$lines" ] || sed -n 1p "$run/results.csv" | sed 's/^/variant,/' > "$lines"
    sed 1d "$run/results.csv" | sed "s/^/$name,/" >> "$lines"
}
variant "quick preset"
variant "rate 2e-4" --backbone-lr 2e-4
variant "rate 1e-3" --backbone-lr 1e-3
variant "6 epochs" --head-epochs 6
variant "warm-up 0.3" --head-warmup 0.3
variant "both orders" --both-orders
variant "dropout 0.1" --backbone-dropout 0.1
variant "last 2 layers" --tune last2
variant "after sup SimCSE" --pretrain sup
variant "after an NLI pass" --pretrain sbert
mv "$lines" "$table"
# The two that help, for both encoders, frozen and tuned.
python run_multitask.py --task para sts --encoder bi cross --tune frozen full --backbone-lr 1e-3 \
    --both-orders --run-dir runs/cards/cross-strong
cp runs/cards/cross-strong/results.csv docs/results/cross-strong.csv
