#!/usr/bin/env bash
# docs/answer.md: bi-encoder, late interaction and cross-encoder by number of labels, frozen and
# fine-tuned, for three encoders; and the table on the choice of epochs in docs/log.md. About 13
# hours. A frozen head takes seconds, but MiniLM fine-tuned takes more than an hour per table.
source "$(dirname "$0")/setup.sh"
need_data
need_minilm

# What it is worth to choose the epoch on the rows that are scored: docs/log.md. 4 minutes.
for select in dev train last; do
    if missing selection-$select.csv; then
        python run_multitask.py --task sts --train-rows 250 all --seeds 3 --select $select \
            --data "$DATA/cs224n" --run-dir "$RUNS/selection-$select" "${KEEP[@]}"
        python -m runs.collect selection-$select "$RUNS/selection-$select"
    fi
done

# Frozen encoders on CS224N's STS pairs. 37 minutes.
if missing curves-sts-frozen.csv; then
    for backbone in "$MINILM" mini mini-sts; do
        python run_multitask.py --task sts --backbone "$backbone" --reader bi late cross \
            --train-rows 250 1000 4000 all --seeds 5 --data "$DATA/cs224n" \
            --run-dir "$RUNS/curves-sts-frozen/$(basename "$backbone")" "${KEEP[@]}"
    done
    python -m runs.collect curves-sts-frozen \
        "$RUNS"/curves-sts-frozen/{all-MiniLM-L6-v2,mini,mini-sts}
fi

# The figure of docs/answer.md is one of the report of MiniLM's run: docs/learning-curves.svg.
if missing learning-curves.svg; then
    python - "$RUNS/curves-sts-frozen/all-MiniLM-L6-v2/report.html" > "$RUNS/figure.svg" <<'END'
import re, sys
from pathlib import Path
from report.page.figure import in_light_colours

page = Path(sys.argv[1]).read_text(encoding="utf-8")
drawn = re.search('<svg [^>]*"labels-sts-none--frozen-title .*?</svg>', page, re.DOTALL)
print(in_light_colours(drawn[0]), end="")
END
    mv "$RUNS/figure.svg" "$RESULTS/learning-curves.svg"
fi

# Fine-tuned encoders, at the better of two rates. 47 and 84 minutes.
if missing curves-sts-tuned.csv; then
    python run_multitask.py --task sts --backbone mini --reader bi late cross \
        --train-rows 250 1000 all --seeds 3 --tune full --rates 1.5e-4 5e-4 \
        --data "$DATA/cs224n" --run-dir "$RUNS/curves-sts-tuned" "${KEEP[@]}"
    python -m runs.collect curves-sts-tuned "$RUNS/curves-sts-tuned"
fi
if missing curves-sts-tuned-mini-sts.csv; then
    python run_multitask.py --task sts --backbone mini-sts --reader bi late cross \
        --train-rows 250 1000 all --seeds 3 --tune full --rates 1.5e-4 5e-4 \
        --data "$DATA/cs224n" --run-dir "$RUNS/curves-sts-tuned-mini-sts" "${KEEP[@]}"
    python -m runs.collect curves-sts-tuned-mini-sts "$RUNS/curves-sts-tuned-mini-sts"
fi

# MiniLM is larger: lower rates, and no late interaction. 72 minutes.
if missing curves-sts-tuned-minilm.csv; then
    python run_multitask.py --task sts --backbone "$MINILM" \
        --train-rows 250 1000 all --seeds 3 --tune full --rates 5e-5 1.5e-4 \
        --data "$DATA/cs224n" --run-dir "$RUNS/curves-sts-tuned-minilm" "${KEEP[@]}"
    python -m runs.collect curves-sts-tuned-minilm "$RUNS/curves-sts-tuned-minilm"
fi

# Quora's questions. Labelled pairs are in two files of DATA: CS224N's are plain text, the other
# file is tokenised as in the Penn Treebank, `do n't` and `` so ''. Its texts are put back together
# as far as the marks tell, and both become one folder for --data: 27,294 pairs to train on.
if [ ! -d "$RUNS/quora" ]; then
    mkdir -p "$RUNS/quora.part"
    python - "$DATA" "$RUNS/quora.part" <<'END'
import csv, re, sys
from pathlib import Path

data, out = map(Path, sys.argv[1:])
PLAIN = (  # in order: the Treebank's form, and the original
    (r"``|''", '"'),
    (r"-LRB-", "("),
    (r"-RRB-", ")"),
    (r" (?=[?!.,;:)%\]])", ""),
    (r"(?<=[(\[$#]) ", ""),
    (r" (?=n't\b|'(?:s|m|d|re|ve|ll)\b)", ""),
    (r"\b([Cc])an not\b", r"\1annot"),
    (r'" ([^"]*?) "', r'"\1"'),
)


def plain(text):
    for mark, meaning in PLAIN:
        text = re.sub(mark, meaning, text)
    return text


def rows_of(name):
    with (data / "cs224n" / name).open(encoding="utf-8", newline="") as file:
        return [row[-4:] for row in csv.reader(file, delimiter="\t")][1:]


pairs = (data / "quora" / "labelled_pairs.tsv").read_text(encoding="utf-8").splitlines()[1:]
first, second, label = zip(*(line.split("\t") for line in pairs))
ids = [f"l{number}" for number in range(len(pairs))]
more = list(zip(ids, map(plain, first), map(plain, second), label))
for name, rows in (
    ("quora-train.csv", [*rows_of("quora-train.csv"), *more]),
    ("quora-dev.csv", rows_of("quora-dev.csv")),
):
    with (out / name).open("w", encoding="utf-8", newline="") as file:
        header = ("id", "sentence1", "sentence2", "is_duplicate")
        csv.writer(file, delimiter="\t").writerows([header, *rows])
END
    mv "$RUNS/quora.part" "$RUNS/quora"
fi

# The same tables for paraphrases: frozen, 51 minutes; fine-tuned, 88, 106 and 95 minutes.
if missing curves-quora-frozen.csv; then
    for backbone in mini mini-sts "$MINILM"; do
        python run_multitask.py --task para --backbone "$backbone" --reader bi late cross \
            --train-rows 250 1000 4000 all --seeds 5 --data "$RUNS/quora" \
            --run-dir "$RUNS/curves-quora-frozen/$(basename "$backbone")" "${KEEP[@]}"
    done
    python -m runs.collect curves-quora-frozen \
        "$RUNS"/curves-quora-frozen/{mini,mini-sts,all-MiniLM-L6-v2}
fi
if missing curves-quora-tuned.csv; then
    python run_multitask.py --task para --backbone mini --reader bi late cross \
        --train-rows 250 all --seeds 3 --tune full --rates 1.5e-4 5e-4 \
        --data "$RUNS/quora" --run-dir "$RUNS/curves-quora-tuned" "${KEEP[@]}"
    python -m runs.collect curves-quora-tuned "$RUNS/curves-quora-tuned"
fi
if missing curves-quora-tuned-mini-sts.csv; then
    python run_multitask.py --task para --backbone mini-sts --reader bi late cross \
        --train-rows 250 all --seeds 3 --tune full --rates 1.5e-4 5e-4 \
        --data "$RUNS/quora" --run-dir "$RUNS/curves-quora-tuned-mini-sts" "${KEEP[@]}"
    python -m runs.collect curves-quora-tuned-mini-sts "$RUNS/curves-quora-tuned-mini-sts"
fi
if missing curves-quora-tuned-minilm.csv; then
    python run_multitask.py --task para --backbone "$MINILM" \
        --train-rows 250 all --seeds 3 --tune full --rates 5e-5 1.5e-4 \
        --data "$RUNS/quora" --run-dir "$RUNS/curves-quora-tuned-minilm" "${KEEP[@]}"
    python -m runs.collect curves-quora-tuned-minilm "$RUNS/curves-quora-tuned-minilm"
fi

# Synthetic pairs: frozen on both tasks, 28 minutes; fine-tuned on STS, 39, 42 and 66 minutes. The
# fine-tuned rows of paraphrases are those of bundled-tuned, in runs/readme.sh.
if missing curves-bundled-frozen.csv; then
    for backbone in mini mini-sts "$MINILM"; do
        python run_multitask.py --task sts para --backbone "$backbone" --reader bi late cross \
            --train-rows 250 1000 all --seeds 5 \
            --run-dir "$RUNS/curves-bundled-frozen/$(basename "$backbone")" "${KEEP[@]}"
    done
    python -m runs.collect curves-bundled-frozen \
        "$RUNS"/curves-bundled-frozen/{mini,mini-sts,all-MiniLM-L6-v2}
fi
if missing curves-bundled-tuned.csv; then
    python run_multitask.py --task sts --backbone mini --reader bi late cross \
        --train-rows 250 all --seeds 3 --tune full --rates 1.5e-4 5e-4 \
        --run-dir "$RUNS/curves-bundled-tuned" "${KEEP[@]}"
    python -m runs.collect curves-bundled-tuned "$RUNS/curves-bundled-tuned"
fi
if missing curves-bundled-tuned-mini-sts.csv; then
    python run_multitask.py --task sts --backbone mini-sts --reader bi late cross \
        --train-rows 250 all --seeds 3 --tune full --rates 1.5e-4 5e-4 \
        --run-dir "$RUNS/curves-bundled-tuned-mini-sts" "${KEEP[@]}"
    python -m runs.collect curves-bundled-tuned-mini-sts "$RUNS/curves-bundled-tuned-mini-sts"
fi
if missing curves-bundled-tuned-minilm.csv; then
    python run_multitask.py --task sts --backbone "$MINILM" \
        --train-rows 250 all --seeds 3 --tune full --rates 5e-5 1.5e-4 \
        --run-dir "$RUNS/curves-bundled-tuned-minilm" "${KEEP[@]}"
    python -m runs.collect curves-bundled-tuned-minilm "$RUNS/curves-bundled-tuned-minilm"
fi

# Three classes of pairs: SNLI's dev and test files in nli_pairs.tsv. 14 minutes.
if missing classes-nli.csv; then
    python - "$DATA/nli/nli_pairs.tsv" > "$RUNS/snli.tsv" <<'END'
import sys
from pathlib import Path

for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    if line.endswith(("\tsource", "\tsnli-dev", "\tsnli-test")):
        print(line)
END
    python run_multitask.py --pairs "$RUNS/snli.tsv" --train-rows 1000 4000 --seeds 3 \
        --run-dir "$RUNS/classes-nli" "${KEEP[@]}"
    python -m runs.collect classes-nli "$RUNS/classes-nli"
fi
