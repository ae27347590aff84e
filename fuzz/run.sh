#!/bin/sh
# Runs a target with its limits and seeds: `run.sh path/to/lex_bytes -max_total_time=10`, which is what `cargo run` calls.
#
# New inputs go to target/corpus/, what breaks a promise to target/found/. Inputs that are named are tried, and nothing else.
set -eu
binary=$1
shift
name=$(basename "$binary")
fuzz=$(dirname "$(realpath "$0")")
grown=$fuzz/target/corpus/$name
found=$fuzz/target/found/$name
mkdir -p "$grown" "$found"

# Only what the target reads as it stands is a seed. The others take bytes as choices; short inputs would leave most choices open,
# so these do not begin with the shortest.
seeds=
options=
case $name in
lex_bytes | parse_bytes) seeds="golden/errors golden/fmt golden/infer golden/language golden/mistakes golden/ops golden/print" ;;
type_mutated | load_mutated | load_artifact) options="-len_control=0 -max_len=128" ;;
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
