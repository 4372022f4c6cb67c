#!/usr/bin/env bash
# README: the verdicts of its first two runs, and the table of mini and mini-sts. No data is needed.
# About 77 minutes, of which the last table takes 44.
source "$(dirname "$0")/setup.sh"

# The first command: supervised SimCSE, then a bi-encoder and a cross-encoder on STS. One minute.
if missing first-run.csv; then
    python run_multitask.py --pretrain sup --task sts --run-dir "$RUNS/first-run" "${KEEP[@]}"
    python -m runs.collect first-run "$RUNS/first-run"
fi

# A table of pairs, in five folds, with mini-sts. Half a minute.
if missing own-pairs.csv; then
    python run_multitask.py --pairs data/bundled/quora-dev.csv.xz \
        --run-dir "$RUNS/own-pairs" "${KEEP[@]}"
    python -m runs.collect own-pairs "$RUNS/own-pairs"
fi

# mini-sts on all tasks: the last row of the table. 3 minutes.
if missing bundled-mini-sts.csv; then
    python run_multitask.py --backbone mini-sts --task all --seeds 5 \
        --run-dir "$RUNS/bundled-mini-sts" "${KEEP[@]}"
    python -m runs.collect bundled-mini-sts "$RUNS/bundled-mini-sts"
fi

# mini without SimCSE and with both kinds of it: rows 1 to 3. 23 minutes.
if missing bundled-mini.csv; then
    python run_multitask.py --pretrain none unsup sup --task all --seeds 5 \
        --run-dir "$RUNS/bundled-mini" "${KEEP[@]}"
    python -m runs.collect bundled-mini "$RUNS/bundled-mini"
fi

# The last column: SimCSE tunes [CLS] instead of the mean, and the cosine compares [CLS]. 6 minutes.
if missing bundled-cls.csv; then
    python run_multitask.py --pretrain none unsup sup --task sts --reader bi \
        --pooling cls_before_pooler --seeds 5 --run-dir "$RUNS/bundled-cls" "${KEEP[@]}"
    python run_multitask.py --backbone mini-sts --task sts --reader bi \
        --pooling cls_before_pooler --run-dir "$RUNS/bundled-cls-mini-sts" "${KEEP[@]}"
    python -m runs.collect bundled-cls "$RUNS/bundled-cls" "$RUNS/bundled-cls-mini-sts"
fi

# mini fine-tuned together with the head, at the better of two rates: row 4. 44 minutes.
if missing bundled-tuned.csv; then
    python run_multitask.py --task all --tune full --rates 1.5e-4 5e-4 --seeds 3 \
        --run-dir "$RUNS/bundled-tuned" "${KEEP[@]}"
    python -m runs.collect bundled-tuned "$RUNS/bundled-tuned"
fi
