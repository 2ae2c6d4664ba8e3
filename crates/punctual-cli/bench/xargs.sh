#!/usr/bin/env bash
# Commands per second: punctual run, xargs -P, and GNU parallel if it is there, of the same width, in interleaved rounds.
# Usage: xargs.sh [COMMANDS] [WIDTH] [ROUNDS]; defaults 10000, cores, 5. Medians, and how many times as long as xargs it took.
# Exit code 1 if punctual took more than 1.1 times as long as xargs, or longer than GNU parallel.
set -euo pipefail
cd "$(dirname "$0")/../../.."
commands=${1:-10000} width=${2:-$(nproc)} rounds=${3:-5}
cargo build --release --quiet
punctual=${CARGO_TARGET_DIR:-target}/release/punctual
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seq "$commands" >"$work/items"

contenders=(xargs punctual)
if command -v parallel >/dev/null; then
    contenders+=(parallel)
    mkdir -p ~/.parallel && touch ~/.parallel/will-cite
else
    echo "no GNU parallel here: left out" >&2
fi

one() {
    case $1 in
        xargs) xargs -P "$width" -n 1 true ;;
        punctual) "$punctual" run --progress none -j "$width" -- true ;;
        parallel) parallel -j "$width" true ;;
    esac <"$work/items"
}

for ((round = 0; round < rounds; round++)); do
    for name in "${contenders[@]}"; do
        begin=$EPOCHREALTIME
        one "$name"
        end=$EPOCHREALTIME
        awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.3f\n", b - a }' >>"$work/$name"
    done
done

median() { sort -n "$work/$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
base=$(median xargs)
echo "$commands times \`true\`, $width at a time, median of $rounds rounds"
for name in "${contenders[@]}"; do
    awk -v n="$name" -v t="$(median "$name")" -v b="$base" -v c="$commands" \
        'BEGIN { printf "  %-9s %7.3f s  %5.2f x xargs  %6.0f us each\n", n, t, t / b, t / c * 1e6 }'
done
awk -v p="$(median punctual)" -v b="$base" 'BEGIN { exit !(p <= 1.1 * b) }' || { echo "slower than 1.1 x xargs"; exit 1; }
if [[ -f $work/parallel ]]; then
    awk -v p="$(median punctual)" -v g="$(median parallel)" 'BEGIN { exit !(p <= g) }' || { echo "slower than GNU parallel"; exit 1; }
fi
