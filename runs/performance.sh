#!/usr/bin/env bash
# docs/performance.md: speed, compared with other libraries. Install requirements-bench.txt in an
# environment of its own, and end all other programs.
#
#   bash runs/performance.sh bfloat16   # on a processor with bfloat16: 17 minutes
#   bash runs/performance.sh avx512     # with AVX-512, but neither bfloat16 nor VNNI
#   bash runs/performance.sh avx2       # with AVX2 and nothing newer: 32 minutes
#
# On Linux, a newer Intel processor can pass for one of the last two:
#
#   cc -O2 -shared -fPIC benchmarks/pass_for.c -o pass_for.so
#   PASS_FOR=avx512 LD_PRELOAD=$PWD/pass_for.so bash runs/performance.sh avx512
processor=${1:-bfloat16}
source "$(dirname "$0")/setup.sh"
need_data

# The command refuses to measure on a processor of another kind.
name=benchmarks
if [ "$processor" != bfloat16 ]; then
    name=benchmarks-$processor
fi
if missing $name.json; then
    python -m benchmarks --processor "$processor" --data "$DATA/cs224n" --json "$RUNS/$name.json"
    python -m runs.collect $name "$RUNS/$name.json"
fi
