#!/usr/bin/env bash
# Builds the native module into python/relayc/, for work on the package without installing it.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked -p relayc-python
install -m 755 target/release/lib_relayc.so python/relayc/_relayc.abi3.so
