#!/bin/sh
# Runs a target with its limits and seeds: `run.sh path/to/lex_bytes -max_total_time=10`, which is what `cargo run` calls.
#
# `run.sh --each 10` builds every target and runs one after the other for 10 minutes; it stops at the first that breaks its promise.
# What it names after that are targets, and options of libFuzzer. Each run becomes a line of runs.tsv: target, day, seconds,
# executions, coverage. `run.sh --table` adds them up.
#
# New inputs go to target/corpus/, what breaks a promise to target/found/. Inputs that are named are tried, and nothing else.
set -eu
fuzz=$(dirname "$(realpath "$0")")
runs=${FUZZ_RUNS:-$fuzz/runs.tsv}
if [ "${1-}" = --table ]; then
    echo '| target | inputs tried | coverage |'
    echo '|---|---|---|'
    awk '{ tried[$1] += $4; coverage[$1] = $5 }
        END { for (name in tried) printf "| `%s` | %d | %s |\n", name, tried[name], coverage[name] }' "$runs" | sort
    exit
fi
if [ "${1-}" = --each ]; then
    seconds=$((${2:?run.sh --each MINUTES [TARGET...] [-OPTION...]} * 60))
    shift 2
    cd "$fuzz"
    targets=
    options=
    for argument; do
        case $argument in -*) options="$options $argument" ;; *) targets="$targets $argument" ;; esac
    done
    mkdir -p target/log
    for target in ${targets:-$(cd fuzz_targets && ls -- *.rs | sed 's/\.rs$//')}; do
        log=target/log/$target
        echo "$target: $seconds s, $log"
        broken=
        # shellcheck disable=SC2086
        cargo run --quiet --release --bin "$target" -- -max_total_time="$seconds" -print_final_stats=1 $options >"$log" 2>&1 || broken=yes
        executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | grep -o '[0-9]*') || true
        [ -z "$executions" ] || printf '%s\t%s\t%s\t%s\t%s\n' "$target" "$(date +%F)" "$seconds" "$executions" "$coverage" >>"$runs"
        [ -z "$broken" ] || {
            tail -n 60 "$log"
            exit 1
        }
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
type_mutated | draw_mutated | diag_render | run_extremes | fold_corners | load_mutated | load_artifact | load_onnx_mutated | \
    load_onnx_structured)
    options="-len_control=0 -max_len=128"
    ;;
load_graph_json | load_tar | load_darknet_cfg | load_mxnet_json | load_mxnet_params)
    # Both what stands there and choices.
    seeds=golden/cli/data
    options="-len_control=0"
    ;;
parse_tokens) options="-len_control=0 -max_len=64" ;;
kernel_fenced) options="-len_control=0 -max_len=256" ;;
roundtrip | fmt_idempotent | meta_section | passes_verify_each | interp_fuel | jit_vs_interp | save_load)
    options="-len_control=0 -max_len=1024"
    ;;
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
