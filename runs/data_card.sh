#!/usr/bin/env bash
# The card of the synthetic data (data/bundled/README.md). About 33 minutes; all but the first two
# tables compare with real pairs and need DATA.
source "$(dirname "$0")/setup.sh"

# What simple baselines score, and how far shortcuts lead. One minute.
if missing bundled-baselines.csv; then
    python -m data.synthetic.probes.baselines data/bundled --csv "$RUNS/bundled-baselines.csv"
    python -m runs.collect bundled-baselines "$RUNS/bundled-baselines.csv"
fi
if missing bundled-shortcuts.csv; then
    python -m data.synthetic.probes.shortcuts data/bundled --csv "$RUNS/bundled-shortcuts.csv"
    python -m runs.collect bundled-shortcuts "$RUNS/bundled-shortcuts.csv"
fi

need_data
need_minilm

# Do the gains of SimCSE on synthetic pairs carry over to real ones? The encoders are those of
# README's run, which is made here if runs/readme.sh has not made it. 6 minutes after that.
if missing carry-over.csv; then
    python run_multitask.py --pretrain none unsup sup --task all --seeds 5 \
        --run-dir "$RUNS/bundled-mini" "${KEEP[@]}"
    python -m data.synthetic.probes.carry_over "$RUNS/bundled-mini" \
        --synthetic data/bundled --data "$DATA" --csv "$RUNS/carry-over.csv"
    python -m runs.collect carry-over "$RUNS/carry-over.csv"
fi

# Does the synthetic data order systems as real data does? First some encoders to be ordered: mini
# tuned on synthetic texts and on NLI, and all-MiniLM-L6-v2 tuned. 26 minutes.
if missing validity.csv; then
    python run_multitask.py --pretrain none unsup sup --task sts --reader bi --no-baseline \
        --run-dir "$RUNS/validity/synthetic" "${KEEP[@]}"
    python run_multitask.py --pretrain sup --task sts --reader bi --no-baseline \
        --simcse-epochs 3 --simcse-steps 480 --data "$DATA/cs224n" \
        --sup-data "$DATA/nli/nli_for_simcse.csv" --run-dir "$RUNS/validity/mini" "${KEEP[@]}"
    python run_multitask.py --pretrain sup --task sts --reader bi --no-baseline \
        --simcse-lr 5e-5 --backbone "$MINILM" --run-dir "$RUNS/validity/minilm" "${KEEP[@]}"
    python -m data.synthetic.probes.validity --cache "$RUNS/cache" \
        --synthetic data/bundled --real "$DATA/cs224n" --csv "$RUNS/validity.csv" \
        mini \
        "mini + unsup=$RUNS/validity/synthetic/backbones/unsup-42" \
        "mini + sup=$RUNS/validity/synthetic/backbones/sup-42" \
        "mini + sup on NLI=$RUNS/validity/mini/backbones/sup-42" \
        "all-MiniLM-L6-v2=$MINILM" \
        "all-MiniLM-L6-v2 + sup=$RUNS/validity/minilm/backbones/sup-42"
    python -m runs.collect validity "$RUNS/validity.csv"
fi
