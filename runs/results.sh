#!/usr/bin/env bash
# docs/results.md: the tables of SimCSE's paper (Gao et al. 2021) and of the report that this project
# follows, and SimCSE on [CLS]. About 4 hours; README's runs are made first if they are missing.
#
#   DATA=FOLDER bash runs/results.sh
#   bash runs/results.sh paper   # as published, with bert-base-uncased: five of SimCSE's tables and
#                                # the report's runs. It needs a GPU, and nobody has run it yet.
scale=${1:-mini}
source "$(dirname "$0")/setup.sh"

# A paper's table is its name, rows and claims. A row is a command, whose run gets the folder of this
# name and whose scores are those of dev. runs/papers.py judges the claims. Then nothing else reads
# the weights and embeddings of these runs.
begin() {
    table=$1
    rows=()
}
row() {
    local label=$1
    shift
    rows+=("$label=$RUNS/$table/$label=dev")
    if [ ! -e "$RESULTS/$table.csv" ]; then
        python run_multitask.py "$@" --run-dir "$RUNS/$table/$label" "${KEEP[@]}"
    fi
}
claims() {
    if missing "$table.csv"; then
        python -m runs.papers "$table" "${rows[@]}"
        rm -rf "$RUNS/$table"/{backbones,cache}
    fi
}

# The recipe for mini takes half a minute per row and seed on one core. Mini's [CLS] is a poor
# embedding before tuning, as bert-base's is, so that a table has room to differ; its average, which
# its checkpoint states, would hardly move. The rates are the best of those tried for so few steps.
# A small file is read again and again. The encoder is scored without a head; the head, which every
# run has, gets few rows.
scored=(--task sts --reader bi --train-rows 250 --select last --head-epochs 1 --no-baseline)
scored+=(--threads 1)
if [ "$scale" = paper ]; then
    prefix=paper
    bert=(--backbone bert-base-uncased --data cs224n)
    recipe=("${scored[@]}" --seeds 3 "${bert[@]}" --preset paper --geometry-steps 125)
    unsup=(--pretrain unsup "${recipe[@]}")
    sup=(--pretrain sup "${recipe[@]}")
else
    need_data
    prefix=ablate
    recipe=("${scored[@]}" --seeds 5 --data "$DATA/cs224n" --pooling cls
        --unsup-data "$DATA/wiki/wiki_for_simcse.txt" --sup-data "$DATA/nli/nli_for_simcse.csv"
        --simcse-batch-size 64 --simcse-steps 40 --simcse-epochs 40
        --eval-steps 20 --geometry-steps 10)
    unsup=(--pretrain unsup --simcse-lr 1e-3 "${recipe[@]}")
    sup=(--pretrain sup --simcse-lr 5e-4 "${recipe[@]}")
fi

# Dropout in unsupervised SimCSE, 22 minutes. There is no other augmentation: both views are the
# same sentence, read under two masks. With no dropout, or with one mask for both, the positive pair
# is equal and its loss is small from the start; all that is left to learn is to push other
# sentences away, and pairs that mean the same drift apart with the rest. With much dropout the
# views say too little about the sentence.
begin $prefix-dropout
for dropout in 0 0.01 0.05 0.1 0.2 0.5; do
    row $dropout "${unsup[@]}" --simcse-dropout $dropout
done
row "fixed 0.1" "${unsup[@]}" --simcse-dropout 0.1 --fixed-mask
claims <<'END'
Dropout of the encoder in unsupervised SimCSE
0 = 71.1
0.01 = 72.6
0.05 = 81.1
0.1 = 82.5
0.2 = 80.5
0.5 = 71.0
fixed 0.1 = 43.6
0 < 0.1 (without dropout both views are equal: SimCSE, table 3)
fixed 0.1 < 0.1 (one mask for both views: SimCSE, table 3)
fixed 0.1 < 0 (worse than no dropout at all: SimCSE, table 3)
0.01 < 0.1 (the default is the best rate: SimCSE, table 3)
0.2 < 0.1 (the default is the best rate: SimCSE, table 3)
0.5 < 0.1 (the default is the best rate: SimCSE, table 3)
alignment: 0 > 0.1 (equal views: alignment is lost in tuning; SimCSE, figure 2)
alignment: fixed 0.1 > 0.1 (equal views: alignment is lost in tuning; SimCSE, figure 2)
END

# Discrete augmentations in unsupervised SimCSE, 36 minutes. The second view is the sentence with
# words cut off, deleted or replaced, and dropout on top. Whatever is changed, the encoder is told
# that it does not matter; where a word matters, that is wrong. Dropout changes no word.
begin $prefix-augmentations
row "none" "${unsup[@]}"
row "crop 10%" "${unsup[@]}" --positive crop --positive-share 0.1
row "word deletion 10%" "${unsup[@]}" --positive delete --positive-share 0.1
row "delete one word" "${unsup[@]}" --positive delete-one
row "synonym" "${unsup[@]}" --positive synonym
row "MLM 15%" "${unsup[@]}" --positive mlm --positive-share 0.15
claims <<'END'
Discrete augmentations in unsupervised SimCSE
none = 82.5
crop 10% = 77.8
word deletion 10% = 75.9
delete one word = 75.9
synonym = 77.4
MLM 15% = 62.2
crop 10% < none (no discrete augmentation beats dropout: SimCSE, table 1)
word deletion 10% < none (no discrete augmentation beats dropout: SimCSE, table 1)
delete one word < none (no discrete augmentation beats dropout: SimCSE, table 1)
synonym < none (no discrete augmentation beats dropout: SimCSE, table 1)
MLM 15% < none (no discrete augmentation beats dropout: SimCSE, table 1)
END

# From token states to the embedding, 34 minutes. BERT was pre-trained with [CLS] for another task,
# so untuned its average is much better. Contrastive tuning is free to make [CLS] an embedding. The
# MLP over [CLS] is drawn at random; it takes up what the contrastive task wants of an embedding
# beyond its meaning, and the paper's unsupervised models are better without it afterwards. An
# encoder that was already tuned with an average, as mini was, starts far ahead with an average:
# those rows show where the pooling started.
begin $prefix-poolers
row "unsup, MLP in training" "${unsup[@]}" --mlp training
row "unsup, MLP always" "${unsup[@]}" --mlp always
row "unsup, no MLP" "${unsup[@]}" --mlp never
row "unsup, avg_first_last" "${unsup[@]}" --pooling avg_first_last
row "sup, MLP always" "${sup[@]}" --mlp always
row "sup, MLP in training" "${sup[@]}" --mlp training
row "sup, no MLP" "${sup[@]}" --mlp never
row "sup, avg_first_last" "${sup[@]}" --pooling avg_first_last
claims <<'END'
From token states to the embedding
unsup, MLP in training = 82.5
unsup, MLP always = 81.7
unsup, no MLP = 80.9
unsup, avg_first_last = 81.2
sup, MLP always = 86.2
sup, MLP in training = 85.8
sup, no MLP = 86.2
sup, avg_first_last = 86.1
unsup, MLP always < unsup, MLP in training (unsupervised, the MLP belongs in training only: SimCSE, table 6)
unsup, no MLP < unsup, MLP in training (unsupervised, the MLP belongs in training only: SimCSE, table 6)
unsup, avg_first_last < unsup, MLP in training ([CLS] is better than averages: SimCSE, table 6)
sup, MLP in training ~ sup, MLP always (supervised, all of this hardly matters: SimCSE, table 6)
sup, no MLP ~ sup, MLP always (supervised, all of this hardly matters: SimCSE, table 6)
sup, avg_first_last ~ sup, MLP always (supervised, all of this hardly matters: SimCSE, table 6)
END

# Temperature of the contrastive loss in supervised SimCSE, 18 minutes. Cosines lie between -1 and
# 1, so at temperature 1 even a perfect positive is only e^2 times as likely as the worst negative,
# and the loss cannot become small. A low temperature looks at the hardest negatives only, which are
# sometimes no negatives. A dot product sets its own scale by the length of the vectors; the cosine
# that we score with does not see that length.
begin $prefix-temperature
for temperature in 0.001 0.01 0.05 0.1 1; do
    row $temperature "${sup[@]}" --temperature $temperature
done
row "dot product" "${sup[@]}" --similarity dot
claims <<'END'
Temperature of the contrastive loss in supervised SimCSE
0.001 = 84.9
0.01 = 85.4
0.05 = 86.2
0.1 = 82.0
1 = 64.0
dot product = 85.9
0.001 < 0.05 (0.05 is the best of those tried: SimCSE, table D.1)
0.01 < 0.05 (0.05 is the best of those tried: SimCSE, table D.1)
0.1 < 0.05 (0.05 is the best of those tried: SimCSE, table D.1)
1 < 0.05 (hardly any gradient from negatives: SimCSE, table D.1)
1 < 0.1 (the warmer, the worse: SimCSE, table D.1)
dot product < 0.05 (cosines scale better: SimCSE, table D.1)
END

# Weight of an example's hard negative in supervised SimCSE, 14 minutes. Equation 8 weighs it by
# alpha, which is the same as adding log(alpha) to its logit: 1 changes nothing, and 2 adds 0.69
# where cosines divided by 0.05 spread over 40. SimCSE's program puts the number itself in place of
# the logarithm, so its --hard_negative_weight 1 is an alpha of e here. A weight of nearly nothing
# removes the example's hard negative, but those of the other examples remain.
begin $prefix-hard-negative-weight
for weight in 1e-6 0.5 1 2; do
    row $weight "${sup[@]}" --hard-negative-weight $weight
done
claims <<'END'
Weight of the own hard negative in supervised SimCSE
0.5 = 86.1
1 = 86.2
2 = 86.2
0.5 ~ 1 (the weight hardly matters: SimCSE, table 7)
2 ~ 1 (the weight hardly matters: SimCSE, table 7)
1e-6 < 1 (hard negatives help: SimCSE, table 7, N/A)
END

# At the papers' scale, two runs follow, and that is all.
if [ "$scale" = paper ]; then
    if missing paper-report.csv; then
        python run_multitask.py --pretrain none unsup sup --task all "${bert[@]}" --preset report \
            --features concat --seeds 3 --run-dir "$RUNS/paper-report" "${KEEP[@]}"
        python -m runs.collect paper-report "$RUNS/paper-report"
    fi
    if missing paper-simcse.csv; then
        python run_multitask.py --pretrain unsup sup --task sts --reader bi "${bert[@]}" \
            --preset paper --seeds 3 --run-dir "$RUNS/paper-simcse" "${KEEP[@]}"
        python -m runs.collect paper-simcse "$RUNS/paper-simcse"
    fi
    exit
fi

# The figure of docs/results.md, docs/ablations-dropout.svg, is SimCSE's figure 2: the way of the
# first seed of each row of the table on dropout.
if missing ablations-dropout.svg; then
    python - "$RUNS/ablate-dropout" 0 0.01 0.05 0.1 0.2 0.5 "fixed 0.1" > "$RUNS/figure.svg" <<'END'
import sys
from pathlib import Path
from report.page.curves import look_of, trajectory
from report.page.figure import in_light_colours
from report.run_folder import read_curves

folder, *labels = sys.argv[1:]
ways = []
for number, label in enumerate(labels):
    curve = read_curves(Path(folder, label))["unsup-42"]
    ways.append((look_of(number, label), [[state for state in curve if "alignment" in state]]))
(figure,) = trajectory(ways)
print(in_light_colours(figure.svg), end="")
END
    mv "$RUNS/figure.svg" "$RESULTS/ablations-dropout.svg"
fi

# What supervised SimCSE is trained on, 30 minutes. All rows see equally many examples; a small set
# is read again and again. What is called a positive is what embeddings become blind to:
# contradictions as positives teach that a denied claim means the same. As hard negatives they are
# what the batch lacks, sentences with the same words and another meaning.
texts=$RUNS/triplets
mkdir -p "$texts"
nli=(nli "$DATA/nli/nli_pairs.tsv" --positive)
if [ ! -e "$RESULTS/ablate-supervised-data.csv" ]; then
    python -m data.triplets quora "$DATA/cs224n/quora-train.csv" --out "$texts/quora.csv"
    python -m data.triplets captions "$DATA/captions/Flickr8k.token.txt" --out "$texts/captions.csv"
    python -m data.triplets pairs "$DATA/quora/paraphrases.tsv" --out "$texts/paraphrases.csv"
    python -m data.triplets "${nli[@]}" entailment --out "$texts/entailment.csv"
    python -m data.triplets "${nli[@]}" neutral --out "$texts/neutral.csv"
    python -m data.triplets "${nli[@]}" contradiction --out "$texts/contradiction.csv"
    python -m data.triplets "${nli[@]}" entailment neutral contradiction --out "$texts/all.csv"
    python -m data.triplets "${nli[@]}" entailment --hard-negatives contradiction \
        --out "$texts/hard.csv"
fi
begin ablate-supervised-data
row "unsup" "${unsup[@]}"
row "Quora duplicates" "${sup[@]}" --sup-data "$texts/quora.csv"
row "captions" "${sup[@]}" --sup-data "$texts/captions.csv"
row "paraphrases" "${sup[@]}" --sup-data "$texts/paraphrases.csv"
row "entailment" "${sup[@]}" --sup-data "$texts/entailment.csv"
row "neutral" "${sup[@]}" --sup-data "$texts/neutral.csv"
row "contradiction" "${sup[@]}" --sup-data "$texts/contradiction.csv"
row "all three" "${sup[@]}" --sup-data "$texts/all.csv"
row "entailment + hard negatives" "${sup[@]}" --sup-data "$texts/hard.csv"
claims <<'END'
What supervised SimCSE is trained on
unsup = 82.5
Quora duplicates = 81.8
captions = 81.4
paraphrases = 78.7
entailment = 84.9
neutral = 82.9
contradiction = 77.6
all three = 81.9
entailment + hard negatives = 86.2
unsup < entailment (entailment is the best: SimCSE, table 4)
Quora duplicates < entailment (entailment is the best: SimCSE, table 4)
captions < entailment (entailment is the best: SimCSE, table 4)
paraphrases < entailment (entailment is the best: SimCSE, table 4)
neutral < entailment (entailment is the best: SimCSE, table 4)
contradiction < entailment (entailment is the best: SimCSE, table 4)
all three < entailment (entailment is the best: SimCSE, table 4)
entailment < entailment + hard negatives (hard negatives help: SimCSE, table 4)
unsup > contradiction (worse than no labels at all: SimCSE, table 4)
END

# The report's table 1, 18 minutes. Heads on a frozen encoder read [u; v], two embeddings side by
# side, as the report's did; the last row reads |u - v| and u * v as well. The report's puzzle was
# one linear layer on [u; v] that reached a Pearson of 0.36. A linear map of [u; v] is f(u) + g(v),
# a score of each text; that two texts are alike is a matter of both. A frozen cross-encoder reads
# pairs that the encoder never saw while it was trained.
begin ablate-report
row "bi" --pretrain none unsup sup --task all --reader bi --features concat --seeds 5 \
    --no-baseline --threads 1
row "cross" --task para sts --reader cross --seeds 5 --no-baseline --threads 1
row "interaction" --task sts --reader bi --seeds 5 --no-baseline --threads 1
rows=("{task}: {pretrain} {reader}=$RUNS/$table/bi=dev"
    "{task}: {pretrain} {reader}=$RUNS/$table/cross=dev"
    "{task}: {pretrain} {reader}, interaction=$RUNS/$table/interaction=dev")
claims <<'END'
The report's table 1
sst: none bi = 0.467
para: none bi = 0.771
sts: none bi = 0.524
para: none cross = 0.722
sts: none cross = 0.561
sst: unsup bi = 0.449
para: unsup bi = 0.809
sts: unsup bi = 0.696
sst: sup bi = 0.479
para: sup bi = 0.819
sts: sup bi = 0.715
para: unsup bi > para: none bi (table 1)
para: sup bi > para: none bi (table 1)
sts: unsup bi > sts: none bi (table 1)
sts: sup bi > sts: none bi (table 1)
sts: sup bi > sts: unsup bi (table 1)
para: none cross < para: none bi (table 1)
sts: none cross > sts: none bi (table 1)
END

# The report's table 3: one encoder for three tasks, 49 minutes. Sequential is the report's way: the
# tasks are learned one after the other, sst, sts, para, and the encoder in the end is scored. The
# column "before" is each task's score right after its phase: the gap to "score" is what was
# forgotten. The head of an earlier task is never touched again; the encoder under it has changed.
# Replay gives a tenth of the batches to earlier tasks. Own models are those of README's table; their
# epochs and rates were chosen on a part of train; joint ones keep the last epoch. Scores: test.
begin ablate-forgetting
if [ ! -e "$RESULTS/$table.csv" ]; then
    python run_multitask.py --task all --tune full --rates 1.5e-4 5e-4 --seeds 3 \
        --run-dir "$RUNS/bundled-tuned" "${KEEP[@]}"
fi
row "sequential" --task sst sts para --reader bi --tune joint --schedule sequential --seeds 3 \
    --no-baseline --threads 1
row "replay" --task sst sts para --reader bi --tune joint --schedule sequential --remedies replay \
    --seeds 3 --no-baseline --threads 1
rows=("{task}: own model=$RUNS/bundled-tuned=test bi"
    "{task}: sequential=$RUNS/$table/sequential=test"
    "{task}: sequential, replay=$RUNS/$table/replay=test")
claims <<'END'
One encoder for three tasks: what is forgotten, and what helps
sst: own model = 0.528
sts: own model = 0.869
para: own model = 0.884
sst: sequential = 0.135
sts: sequential = 0.404
para: sequential = 0.884
sst: sequential < sst: own model (forgotten while later tasks were learnt: table 3)
sts: sequential < sts: own model (forgotten while later tasks were learnt: table 3)
sst: sequential, replay > sst: sequential (earlier tasks are kept)
sts: sequential, replay > sts: sequential (earlier tasks are kept)
sst: sequential, replay ~ sst: own model, within 0.02 (our goal: one encoder as good as three)
sts: sequential, replay ~ sts: own model, within 0.02 (our goal: one encoder as good as three)
para: sequential, replay ~ para: own model, within 0.02 (our goal: one encoder as good as three)
END

# SimCSE and [CLS]: do the gains of README's last column carry over to real pairs? 5 minutes.
if missing cls-carry-over.csv; then
    python run_multitask.py --pretrain none unsup sup --task sts --reader bi \
        --pooling cls_before_pooler --seeds 5 --run-dir "$RUNS/bundled-cls" "${KEEP[@]}"
    python -m data.synthetic.probes.carry_over "$RUNS/bundled-cls" --pooling cls_before_pooler \
        --synthetic data/bundled --data "$DATA" --csv "$RUNS/cls-carry-over.csv"
    python -m runs.collect cls-carry-over "$RUNS/cls-carry-over.csv"
fi
