"""Every table and figure of the pages, as records: which commands make it, and what they need.

Commands are those that a reader types. `$OUT` is the record's own folder of runs and `$RUNS` the
folder of all of them, `$DATA` what --data names, `$MINILM` the weights of all-MiniLM-L6-v2.
"""

from dataclasses import dataclass

README, RESULTS, EVALUATION = "README.md", "docs/results.md", "docs/evaluation.md"
DATA_CARD, STS_CARD = "data/bundled/README.md", "minbert/mini_sts/README.md"
# What a record needs beyond what ships.
DATA, MINILM, GPU = "data", "minilm", "gpu"


@dataclass(frozen=True)
class Record:
    """A table or figure, and how it is made.

    Attributes:
        name: of the result file, docs/results/NAME.csv, or .json where a command writes that.
        pages: that show it.
        commands: run in this order.
        made: the file with the result, below $OUT; of runs, a pattern of their results.json, whose
            cells are put together.
        needs: some of `data`, `minilm`; `gpu`: listed and never run.
        minutes: measured on two cores; None where the whole has not been measured yet.
        quick: part of --quick.
        figure: a file below $OUT (of a run's page with the figure's name behind #), and the file of
            the pages that it becomes.
    """

    name: str
    pages: tuple[str, ...]
    commands: tuple[str, ...]
    made: str = "*/results.json"
    needs: tuple[str, ...] = ()
    minutes: float | None = None
    quick: bool = False
    figure: tuple[str, str] | None = None


def runs(*settings: str) -> tuple[str, ...]:
    """Return commands of run_multitask.py, which leave their runs in $OUT/1, $OUT/2 ..."""
    return tuple(
        f"python run_multitask.py {words} --cost-seconds 0 --run-dir $OUT/{number} --resume"
        for number, words in enumerate(settings, 1)
    )


def needed(command: str) -> tuple[str, ...]:
    """Return what a command that names $DATA and $MINILM needs."""
    return tuple(need for need in (DATA, MINILM) if f"${need.upper()}" in command)


def run_of(name: str, *settings: str, figure: tuple[str, str] | None = None) -> Record:
    """Return a record of runs that docs/results.md shows."""
    needs = needed(" ".join(settings))
    return Record(name, (RESULTS,), runs(*settings), needs=needs, figure=figure)


def table_of(name: str, page: str, *commands: str) -> Record:
    """Return a record whose last command writes $OUT/result.csv; without needs it is quick."""
    *before, last = commands
    last += " --csv $OUT/result.csv"
    needs = needed(" ".join(commands))
    return Record(name, (page,), (*before, last), "result.csv", needs, quick=not needs)


AT_CLS = "--task sts --encoder bi --pooling cls_before_pooler"
FULL = "--tune full --rates 5e-4 --seeds 3"
PROBES = "python -m data.synthetic.probes"
ALL_STAGES = "--pretrain none unsup sup"
# What ships with the project.
BUNDLED = (
    Record(
        "bundled-mini",
        (README, RESULTS, DATA_CARD),
        runs(f"{ALL_STAGES} --task all --seeds 5"),
        quick=True,
    ),
    Record(
        "bundled-mini-sts",
        (README, DATA_CARD),
        runs("--backbone mini-sts --task all --seeds 5"),
        quick=True,
    ),
    Record(
        "bundled-cls",
        (README, RESULTS),
        runs(f"{ALL_STAGES} {AT_CLS} --seeds 5", f"--backbone mini-sts {AT_CLS}"),
        quick=True,
    ),
    table_of("bundled-baselines", DATA_CARD, f"{PROBES}.baselines data/bundled"),
    table_of("bundled-shortcuts", DATA_CARD, f"{PROBES}.shortcuts data/bundled"),
    Record(
        "bundled-tuned",
        (README, RESULTS, DATA_CARD),
        runs(f"--task all {FULL}", f"--task sts --encoder late {FULL}"),
    ),
    Record(
        "bundled-mini-sts-tuned",
        (README, DATA_CARD),
        runs(f"--backbone mini-sts --task all {FULL}"),
    ),
    run_of(
        "bundled-curves",
        "--task sts para --encoder bi late cross --train-rows 250 1000 all --seeds 5",
        f"--task sts --encoder bi late cross --train-rows 250 1000 {FULL}",
    ),
)

CURVES = "--task sts para --encoder bi late cross --train-rows 250 1000 4000 all --seeds 5"
TWO_RATES = "--tune full --rates 5e-5 1.5e-4"
MODEL = "--data $DATA/cs224n --backbone $MINILM"
WIKI, NLI = "$DATA/wiki/wiki_for_simcse.txt", "$DATA/nli/nli_for_simcse.csv"
WIKI_AND_NLI = f"--unsup-data {WIKI} --sup-data {NLI}"
FROZEN = f"{ALL_STAGES} --task all --preset report --simcse-steps 1000 {MODEL} {WIKI_AND_NLI}"
CARRIED = "--synthetic data/bundled --data $DATA"
SUP = "--pretrain sup --task sts --encoder bi --no-baseline"
MEASURE = "python -m evaluation --backbone mini"
BESIDE = "random:mini $MINILM"
SETS = "STS12 STS13 STS14 STSBenchmark STSBenchmark-dev"
# Public data.
PUBLIC = (
    run_of("mini-real-curves", f"{CURVES} --data $DATA/cs224n"),
    run_of(
        "minilm-curves",
        f"{CURVES} {MODEL}",
        f"--task para --train-rows 250 1000 {TWO_RATES} {MODEL}",
        f"--task sts --train-rows 250 1000 4000 all {TWO_RATES} {MODEL}",
        figure=("1/report.html#labels-sts-none--frozen", "docs/learning-curves.svg"),
    ),
    run_of("frozen", FROZEN),
    run_of("concat", f"{FROZEN} --features concat"),
    table_of("carry-over", DATA_CARD, f"{PROBES}.carry_over $RUNS/bundled-mini/1 {CARRIED}"),
    table_of(
        "cls-carry-over",
        RESULTS,
        f"{PROBES}.carry_over $RUNS/bundled-cls/1 --pooling cls_before_pooler {CARRIED}",
    ),
    table_of(
        "validity",
        DATA_CARD,
        *runs(
            f"{SUP} --simcse-epochs 3 --simcse-steps 480 --data $DATA/cs224n --sup-data {NLI}",
            f"{SUP} --simcse-lr 5e-5 --backbone $MINILM",
        ),
        f"{PROBES}.validity --synthetic data/bundled --real $DATA/cs224n mini "
        "'mini + unsup=$RUNS/bundled-mini/1/backbones/unsup-42' "
        "'mini + sup=$RUNS/bundled-mini/1/backbones/sup-42' "
        "'mini + sup on NLI=$OUT/1/backbones/sup-42' all-MiniLM-L6-v2=$MINILM "
        "'all-MiniLM-L6-v2 + sup=$OUT/2/backbones/sup-42'",
    ),
    table_of(
        "mini-sts",
        STS_CARD,
        f"{MEASURE} mini-sts $MINILM --suite sts --sets {SETS} --data $DATA/sts",
    ),
    table_of(
        "evaluation-published",
        EVALUATION,
        f"{MEASURE} {BESIDE} --baselines --suite sts pairs geometry "
        "--data $DATA/sts $DATA/transfer $DATA/cs224n",
    ),
    table_of(
        "evaluation-transfer",
        EVALUATION,
        f"{MEASURE} {BESIDE} --baselines --suite transfer --data $DATA/transfer",
    ),
    table_of(
        "evaluation-hans", EVALUATION, f"{MEASURE} {BESIDE} --suite hans --data $DATA/nli bundled"
    ),
)

TUNINGS = f"--data $DATA/cs224n {WIKI_AND_NLI} --threads 1"
PAIRS = (
    "--from nli=$DATA/nli/nli_pairs.tsv quora=$DATA/cs224n/quora-train.csv "
    "captions=$DATA/captions/Flickr8k.token.txt pairs=$DATA/quora/paraphrases.tsv"
)
ARTICLES = "python -m data.sentences $DATA/pretrain/wikipedia-valid.txt.xz --out $OUT/articles.txt"


def paper(table: str, minutes: float, more: str = TUNINGS, *before: str) -> Record:
    """Return a table of a paper; three seeds, all rows that its data are there for."""
    command = f"python -m experiment.ablate {table} {more} --out $OUT".replace("  ", " ")
    drawn = ("dropout-trajectory.svg", "docs/ablations-dropout.svg")
    return Record(
        f"ablate-{table}",
        (RESULTS,),
        (*before, command),
        f"{table}.csv",
        needed(command),
        minutes,
        figure=drawn if table == "dropout" else None,
    )


def with_minilm(table: str, minutes: float, rows: str, more: str = "") -> Record:
    """Return some rows of a table, measured with all-MiniLM-L6-v2 at a tenth of the rates."""
    flags = f"{TUNINGS} {more} --backbone $MINILM --rate-factor 0.1 --rows {rows}"
    found = paper(table, minutes, flags)
    name = f"ablate-minilm-{table}"
    return Record(name, (RESULTS,), found.commands, found.made, found.needs, minutes)


PAPERS = (
    paper("dropout", 10),
    paper("augmentations", 18),
    paper("next-sentence", 32, f"{TUNINGS} --documents $OUT/articles.txt", ARTICLES),
    paper("poolers", 36),
    paper("mlp", 12),
    paper("temperature", 7),
    paper("hard-negative-weight", 13),
    paper("mlm-weight", 7),
    paper("supervised-data", 24, f"{TUNINGS} {PAIRS}"),
    paper("report", 35, ""),
    paper("forgetting", 60, ""),
    with_minilm("dropout", 28, "0 0.1 0.2 0.5 'fixed 0.1'"),
    with_minilm(
        "augmentations",
        30,
        "none 'crop 10%' 'crop 30%' 'word deletion 10%' 'delete one word'",
    ),
    with_minilm(
        "supervised-data",
        42,
        "unsup 'Quora duplicates' captions entailment neutral contradiction "
        "'entailment + hard negatives'",
        PAIRS,
    ),
)


SPEED = ("docs/performance.md", "docs/scale.md")


def speed(name: str, minutes: float, words: str, figure: tuple[str, str] | None = None) -> Record:
    """Return a record of `python -m benchmarks`, which takes MiniLM's weights from its package."""
    command = f"python -m benchmarks {words} --json $OUT/result.json"
    needs = (*needed(command), MINILM)
    return Record(name, SPEED, (command,), "result.json", needs, minutes, figure=figure)


def campaign(name: str, minutes: float, count: str = "") -> Record:
    """Return the counts of a campaign that disturbs the project."""
    command = f"python -m tests.campaigns {name} {count} --seed 21 --out $OUT/result.csv"
    pages = ("docs/reliability.md",)
    return Record(f"reliability-{name}", pages, (command,), "result.csv", (), minutes)


MACHINE = (
    speed(
        "benchmarks",
        16,
        "--only encode simcse_step grad_cache heads cross mlm search --data $DATA/cs224n",
    ),
    speed(
        "growth",
        10,
        "--only growth --rounds 3",
        figure=("result.svg", "docs/results/growth.svg"),
    ),
    campaign("kill", 11, "--count 240"),
    campaign("inputs", 2, "--count 12000"),
    campaign("artefacts", 13, "--count 1200"),
    campaign("disk", 16, "--count 140"),
    campaign("environments", 21),
    campaign("commands", 33, "--count 2000"),
    campaign("busy", 7, "--count 60"),
)

BERT = "--backbone bert-base-uncased --data cs224n"
# As published; nobody has run them yet, so no page shows them.
PAPER_SCALE = (
    Record(
        "paper-report",
        (),
        runs(f"{ALL_STAGES} --task all {BERT} --preset report --features concat --seeds 3"),
        needs=(GPU,),
    ),
    Record(
        "paper-simcse",
        (),
        runs(f"--pretrain unsup sup --task sts --encoder bi {BERT} --preset paper --seeds 3"),
        needs=(GPU,),
    ),
    Record(
        "paper-tables",
        (),
        (
            "python -m experiment.ablate dropout augmentations poolers mlp temperature "
            f"hard-negative-weight mlm-weight --scale paper {BERT} --out $OUT",
        ),
        "*.csv",
        needs=(GPU,),
    ),
)

RECORDS = {record.name: record for record in (*BUNDLED, *PUBLIC, *PAPERS, *MACHINE, *PAPER_SCALE)}
