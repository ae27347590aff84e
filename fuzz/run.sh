#!/bin/sh
# Runs a target with its limits and seeds: `run.sh path/to/lex_bytes -max_total_time=10`, which is what `cargo run` calls.
#
# `run.sh --each 10` builds every target and runs one after the other for 10 minutes; it stops at the first that breaks its promise.
#
# New inputs go to target/corpus/, what breaks a promise to target/found/. Inputs that are named are tried, and nothing else.
set -eu
fuzz=$(dirname "$(realpath "$0")")
if [ "${1-}" = --each ]; then
    seconds=$((${2:?run.sh --each MINUTES [TARGET...]} * 60))
    shift 2
    cd "$fuzz"
    [ $# -gt 0 ] || set -- $(cd fuzz_targets && ls -- *.rs | sed 's/\.rs$//')
    for target; do
        echo "$target: $seconds s"
        cargo run --quiet --release --bin "$target" -- -max_total_time="$seconds" -print_final_stats=1
    done
    exit
fi
binary=$1
shift
name=$(basename "$binary")
grown=$fuzz/target/corpus/$name
found=$fuzz/target/found/$name
mkdir -p "$grown" "$found"

# Only what the target reads as it stands is a seed. The others take bytes as choices; short inputs would leave most choices open,
# so these do not begin with the shortest.
seeds=
options=
case $name in
lex_bytes | parse_bytes) seeds="golden/errors golden/fmt golden/infer golden/language golden/mistakes golden/ops golden/print" ;;
load_onnx_bytes) seeds=golden/cli/data ;;
type_mutated | draw_mutated | run_extremes | load_mutated | load_artifact | load_onnx_mutated | load_onnx_structured) options="-len_control=0 -max_len=128" ;;
load_graph_json | load_tar | load_darknet_cfg | load_mxnet_json | load_mxnet_params)
    # Both what stands there and choices.
    seeds=golden/cli/data
    options="-len_control=0"
    ;;
roundtrip | fmt_idempotent) options="-len_control=0 -max_len=1024" ;;
esac

named=
for argument; do
    case $argument in -*) ;; *) named=yes ;; esac
done
if [ -z "$named" ]; then
    # The first folder is the one that libFuzzer writes to.
    set -- "$@" "$grown"
    [ -d "$fuzz/corpus/$name" ] && set -- "$@" "$fuzz/corpus/$name"
    for seed in $seeds; do set -- "$@" "$fuzz/../tests/$seed"; done
fi
# What stands later wins, so that any limit can be set by hand.
# shellcheck disable=SC2086
exec "$binary" -timeout=1 -rss_limit_mb=1024 -artifact_prefix="$found/" $options "$@"
