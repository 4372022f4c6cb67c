#!/usr/bin/env bash
# Published sets: docs/evaluation.md, and the table in mini-sts's card. About 41 minutes.
source "$(dirname "$0")/setup.sh"
need_data
need_minilm

# mini-sts next to its teacher and to mini. One minute.
if missing mini-sts.csv; then
    python -m evaluation --run-dir "$RUNS" --backbone mini mini-sts "$MINILM" --suite sts \
        --sets STS12 STS13 STS14 STSBenchmark STSBenchmark-dev \
        --data "$DATA/sts" --csv "$RUNS/mini-sts.csv"
    python -m runs.collect mini-sts "$RUNS/mini-sts.csv"
fi

# mini next to random weights, all-MiniLM-L6-v2 and all baselines. 18 minutes.
if missing evaluation-published.csv; then
    python -m evaluation --run-dir "$RUNS" --backbone mini random:mini "$MINILM" --baselines \
        --suite sts pairs geometry \
        --unsup-data "$DATA/wiki/wiki_for_simcse.txt" --sup-data "$DATA/nli/nli_for_simcse.csv" \
        --data "$DATA/sts" "$DATA/transfer" "$DATA/cs224n" "$DATA/nli" \
        --csv "$RUNS/evaluation-published.csv"
    python -m runs.collect evaluation-published "$RUNS/evaluation-published.csv"
fi

# SentEval's transfer tasks: a logistic regression on frozen vectors. 15 minutes.
if missing evaluation-transfer.csv; then
    python -m evaluation --run-dir "$RUNS" --backbone mini mini-sts random:mini "$MINILM" \
        --suite transfer --data "$DATA/transfer" --csv "$RUNS/evaluation-transfer.csv"
    python -m runs.collect evaluation-transfer "$RUNS/evaluation-transfer.csv"
fi

# Does a frozen encoder use word order? HANS, with heads trained on NLI. 6 minutes.
if missing evaluation-hans.csv; then
    python -m evaluation --run-dir "$RUNS" --backbone mini random:mini "$MINILM" \
        --suite hans --data "$DATA/nli" bundled --csv "$RUNS/evaluation-hans.csv"
    python -m runs.collect evaluation-hans "$RUNS/evaluation-hans.csv"
fi
