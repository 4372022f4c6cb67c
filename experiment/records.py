"""Every table and figure of the pages, as records: which commands make it, and what they need.

Commands are those that a reader types. `$OUT` is the record's own folder of runs and `$RUNS` the
folder of all of them, `$DATA` what --data names, `$MINILM` the weights of all-MiniLM-L6-v2.
"""

from dataclasses import dataclass

README, RESULTS, EVALUATION = "README.md", "docs/results.md", "docs/evaluation.md"
ANSWER = "docs/answer.md"
DATA_CARD, STS_CARD = "data/bundled/README.md", "minbert/mini_sts/README.md"
SPEED = "docs/performance.md"
# What a record needs beyond what ships.
DATA, MINILM, GPU = "data", "minilm", "gpu"
# What in a command shows that it is needed; the benchmarks take MiniLM's weights by themselves.
SHOWN_BY = {DATA: ("$DATA",), MINILM: ("$MINILM", "-m benchmarks"), GPU: ("bert-base",)}
# What commands leave in $OUT: runs, whose cells are put together; a table; figures of benchmarks.
CELLS, CSV, JSON = "*/results.json", "result.csv", "result.json"


@dataclass(frozen=True)
class Record:
    """A table or figure, and how it is made.

    Attributes:
        name: of the result file, docs/results/NAME.csv, or .json where a command writes that.
        pages: that show it.
        commands: run in this order.
        made: the file with the result, below $OUT, or a pattern of several runs' results.json.
        minutes: measured on two cores; None where the whole has not been measured yet.
        quick: part of --quick.
        figure: a file below $OUT (of a run's page with the figure's name behind #), and the file of
            the pages that it becomes.
    """

    name: str
    pages: tuple[str, ...]
    commands: tuple[str, ...]
    made: str = CELLS
    minutes: float | None = None
    quick: bool = False
    figure: tuple[str, str] | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Return some of `data` and `minilm`; with `gpu` it is listed and never run."""
        text = " ".join(self.commands)
        return tuple(need for need, marks in SHOWN_BY.items() if any(m in text for m in marks))


def runs(*settings: str) -> tuple[str, ...]:
    """Return commands of run_multitask.py, which leave their runs in $OUT/1, $OUT/2 ..."""
    return tuple(
        f"python run_multitask.py {words} --cost-seconds 0 --run-dir $OUT/{number} --resume"
        for number, words in enumerate(settings, 1)
    )


def to_csv(command: str) -> tuple[str, ...]:
    """Return the command that writes its table to $OUT/result.csv."""
    return (f"python -m {command} --csv $OUT/result.csv",)


STAGES = "--pretrain none unsup sup"
AT_CLS = "--task sts --encoder bi --pooling cls_before_pooler"
FULL = "--tune full --rates 5e-4 --seeds 3"
READERS = "--encoder bi late cross"
PROBES = "data.synthetic.probes"
MAIN_PAGES = (README, RESULTS, DATA_CARD, STS_CARD)
# What ships with the project.
BUNDLED = (
    Record("first-run", (README,), runs("--pretrain sup --task sts"), quick=True),
    Record("bundled-mini", MAIN_PAGES, runs(f"{STAGES} --task all --seeds 5"), quick=True),
    Record(
        "bundled-mini-sts",
        (README, DATA_CARD, STS_CARD),
        runs("--backbone mini-sts --task all --seeds 5"),
        quick=True,
    ),
    Record(
        "bundled-cls",
        (README, RESULTS),
        runs(f"{STAGES} {AT_CLS} --seeds 5", f"--backbone mini-sts {AT_CLS}"),
        quick=True,
    ),
    Record(
        "bundled-baselines",
        (DATA_CARD,),
        to_csv(f"{PROBES}.baselines data/bundled"),
        CSV,
        quick=True,
    ),
    Record(
        "bundled-shortcuts",
        (DATA_CARD,),
        to_csv(f"{PROBES}.shortcuts data/bundled"),
        CSV,
        quick=True,
    ),
    Record(
        "bundled-tuned",
        (README, ANSWER, DATA_CARD),
        runs(f"--task all {FULL}", f"--task sts --encoder late {FULL}"),
    ),
    Record(
        "bundled-curves",
        (ANSWER,),
        runs(
            f"--task sts para {READERS} --train-rows 250 1000 all --seeds 5",
            f"--task sts {READERS} --train-rows 250 1000 {FULL}",
        ),
    ),
)

CURVES = f"--task sts para {READERS} --train-rows 250 1000 4000 all --seeds 5"
TWO_RATES = "--tune full --rates 5e-5 1.5e-4"
MODEL = "--data $DATA/cs224n --backbone $MINILM"
NLI = "$DATA/nli/nli_for_simcse.csv"
TEXTS = f"--unsup-data $DATA/wiki/wiki_for_simcse.txt --sup-data {NLI}"
FROZEN = f"{STAGES} --task all --preset report --simcse-steps 250 {MODEL} {TEXTS}"
CARRY_OVER = f"{PROBES}.carry_over --synthetic data/bundled --data $DATA"
SUP = "--pretrain sup --task sts --encoder bi --no-baseline"
MEASURE = "evaluation --run-dir $RUNS --backbone mini random:mini $MINILM"
SETS = "STS12 STS13 STS14 STSBenchmark STSBenchmark-dev"
# Public data.
PUBLIC = (
    Record("mini-real-curves", (ANSWER,), runs(f"{CURVES} --data $DATA/cs224n")),
    Record(
        "minilm-curves",
        (ANSWER,),
        runs(f"{CURVES} {MODEL}"),
        figure=("1/report.html#labels-sts-none--frozen", "docs/learning-curves.svg"),
    ),
    Record(
        "minilm-tuned",
        (ANSWER,),
        runs(f"--task sts para --train-rows 250 1000 4000 all {TWO_RATES} {MODEL}"),
    ),
    Record("frozen", (RESULTS,), runs(FROZEN)),
    Record("carry-over", (DATA_CARD,), to_csv(f"{CARRY_OVER} $RUNS/bundled-mini/1"), CSV),
    Record(
        "cls-carry-over",
        (RESULTS,),
        to_csv(f"{CARRY_OVER} $RUNS/bundled-cls/1 --pooling cls_before_pooler"),
        CSV,
    ),
    Record(
        "validity",
        (DATA_CARD,),
        runs(
            f"{SUP} --simcse-epochs 3 --simcse-steps 480 --data $DATA/cs224n --sup-data {NLI}",
            f"{SUP} --simcse-lr 5e-5 --backbone $MINILM",
        )
        + to_csv(
            f"{PROBES}.validity --cache $RUNS/cache --synthetic data/bundled "
            "--real $DATA/cs224n mini "
            "'mini + unsup=$RUNS/bundled-mini/1/backbones/unsup-42' "
            "'mini + sup=$RUNS/bundled-mini/1/backbones/sup-42' "
            "'mini + sup on NLI=$OUT/1/backbones/sup-42' all-MiniLM-L6-v2=$MINILM "
            "'all-MiniLM-L6-v2 + sup=$OUT/2/backbones/sup-42'"
        ),
        CSV,
    ),
    Record(
        "mini-sts",
        (STS_CARD,),
        to_csv(
            "evaluation --run-dir $RUNS --backbone mini mini-sts $MINILM --suite sts "
            f"--sets {SETS} --data $DATA/sts"
        ),
        CSV,
    ),
    Record(
        "evaluation-published",
        (EVALUATION,),
        to_csv(
            f"{MEASURE} --baselines --suite sts pairs geometry {TEXTS} "
            "--data $DATA/sts $DATA/transfer $DATA/cs224n $DATA/nli"
        ),
        CSV,
    ),
    Record(
        "evaluation-hans",
        (EVALUATION,),
        to_csv(f"{MEASURE} --suite hans --data $DATA/nli bundled"),
        CSV,
    ),
)


def paper(table: str, minutes: float, flags: str) -> Record:
    """Return a table of a paper, with three seeds."""
    drawn = ("dropout-trajectory.svg", "docs/ablations-dropout.svg")
    return Record(
        f"ablate-{table}",
        (RESULTS,),
        (f"python -m experiment.ablate {table} {flags} --out $OUT",),
        f"{table}.csv",
        minutes,
        figure=drawn if table == "dropout" else None,
    )


TUNED = f"--data $DATA/cs224n {TEXTS} --threads 1"
PAIRS = (
    f"{TUNED} --from nli=$DATA/nli/nli_pairs.tsv quora=$DATA/cs224n/quora-train.csv "
    "captions=$DATA/captions/Flickr8k.token.txt pairs=$DATA/quora/paraphrases.tsv"
)
TASKS = ("sst", "sts", "para")
LEARNT = ("own model", "sequential", "sequential, replay")
FORGETTING = " ".join(f"'{task}: {how}'" for how in LEARNT for task in TASKS)
# Other tables of the papers: `python -m experiment.ablate --list`.
PAPERS = (
    paper("dropout", 10, TUNED),
    paper("augmentations", 18, TUNED),
    paper("poolers", 36, TUNED),
    paper("mlp", 12, TUNED),
    paper("temperature", 7, TUNED),
    paper("hard-negative-weight", 13, TUNED),
    paper("mlm-weight", 7, TUNED),
    paper("supervised-data", 24, PAIRS),
    paper("report", 35, "--threads 1"),
    paper("forgetting", 60, f"--threads 1 --rows {FORGETTING}"),
)

MACHINE = (
    Record(
        "benchmarks",
        (SPEED,),
        ("python -m benchmarks --data $DATA/cs224n --json $OUT/result.json",),
        JSON,
        16,
    ),
    Record(
        "growth",
        (SPEED,),
        ("python -m benchmarks --only growth --rounds 3 --json $OUT/result.json",),
        JSON,
        10,
        figure=("result.svg", "docs/results/growth.svg"),
    ),
)

BERT = "--backbone bert-base-uncased --data cs224n"
TABLES = "dropout augmentations poolers mlp temperature hard-negative-weight mlm-weight"
# As published; nobody has run them yet, so no page shows them.
PAPER_SCALE = (
    Record(
        "paper-report",
        (),
        runs(f"{STAGES} --task all {BERT} --preset report --features concat --seeds 3"),
    ),
    Record(
        "paper-simcse",
        (),
        runs(f"--pretrain unsup sup --task sts --encoder bi {BERT} --preset paper --seeds 3"),
    ),
    Record(
        "paper-tables",
        (),
        (f"python -m experiment.ablate {TABLES} --scale paper {BERT} --out $OUT",),
        "*.csv",
    ),
)

RECORDS = {one.name: one for one in (*BUNDLED, *PUBLIC, *PAPERS, *MACHINE, *PAPER_SCALE)}
