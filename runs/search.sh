#!/usr/bin/env bash
# docs/answer.md, "Search": questions and their answers (StackFAQ), Quora's duplicates and captions
# as queries; three encoders without training; SimCSE; cross-encoders that rank again.
source "$(dirname "$0")/setup.sh"
need_data
need_minilm

# Quora's duplicates and Flickr8k's captions as tables: a query, and a text that is an answer.
python - "$DATA" "$RUNS" <<'END'
import csv, sys
from pathlib import Path

data, out = map(Path, sys.argv[1:])
with (data / "quora" / "paraphrases.tsv").open(encoding="utf-8", newline="") as file:
    duplicates = [row[:2] for row in list(csv.reader(file, delimiter="\t"))[1:4001]]
images = {}
for line in (data / "captions" / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
    image, caption = line.split("\t")
    images.setdefault(image.partition("#")[0], []).append(caption)
captions = [(of[0], other) for of in list(images.values())[:1500] for other in of[1:]]
for name, rows in (("quora", duplicates), ("captions", captions)):
    with (out / f"search-{name}.tsv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([("query", "text"), *rows])
END

# What finds best, without training: nothing is learned, so all queries of a table are scored.
for name in stackfaq quora captions; do
    from=(--pairs "$RUNS/search-$name.tsv")
    if [ $name = stackfaq ]; then from=(--data "$DATA/search/stackfaq"); fi
    if missing search-$name.csv; then
        python run_multitask.py --task search "${from[@]}" --reader bi late \
            --backbone mini mini-sts "$MINILM" --run-dir "$RUNS/search-$name" "${KEEP[@]}"
        python -m runs.collect search-$name "$RUNS/search-$name"
    fi
done

# Ranking again on the included data, by cross-encoders on a frozen and on a fine-tuned encoder.
if missing search-bundled.csv; then
    python run_multitask.py --task search --reader bi late cross --tune frozen full \
        --rates 1.5e-4 5e-4 --run-dir "$RUNS/search-bundled" "${KEEP[@]}"
    python -m runs.collect search-bundled "$RUNS/search-bundled"
fi

# SimCSE on the answers of the train queries, three seeds, two encoders.
if missing search-sup.csv; then
    python run_multitask.py --task search --data "$DATA/search/stackfaq" --pretrain none sup \
        --backbone mini-sts "$MINILM" --simcse-lr 1e-4 --reader bi --seeds 3 \
        --run-dir "$RUNS/search-sup" "${KEEP[@]}"
    python -m runs.collect search-sup "$RUNS/search-sup"
fi

# Ranking again on real questions, by a cross-encoder on a frozen encoder: 71,500 pairs.
if missing search-again.csv; then
    python run_multitask.py --task search --data "$DATA/search/stackfaq" \
        --run-dir "$RUNS/search-again" "${KEEP[@]}"
    python -m runs.collect search-again "$RUNS/search-again"
fi
