#!/usr/bin/env bash
# docs/performance.md: speed, compared with other libraries. Install requirements-bench.txt in an
# environment of its own, and end all other programs.
#
#   bash runs/performance.sh bfloat16   # on a processor with bfloat16: 17 minutes
#   bash runs/performance.sh avx2       # on a processor with AVX2 and nothing newer: 32 minutes
#
# On Linux, a newer Intel processor can hide what it has beyond AVX2:
#
#   cc -O2 -shared -fPIC benchmarks/avx2_only.c -o avx2_only.so
#   LD_PRELOAD=$PWD/avx2_only.so bash runs/performance.sh avx2
processor=${1:-bfloat16}
source "$(dirname "$0")/setup.sh"
need_data

# The command refuses to measure on a processor of another kind.
name=benchmarks
if [ "$processor" = avx2 ]; then
    name=benchmarks-avx2
fi
if missing $name.json; then
    python -m benchmarks --processor "$processor" --data "$DATA/cs224n" --json "$RUNS/$name.json"
    python -m runs.collect $name "$RUNS/$name.json"
fi
