#!/usr/bin/env bash
# Compares a training step (f32, AdamW, one process, 1 and 2 threads) with JAX and PyTorch on this
# machine:   bench/cpu.sh [--model gpt2-124m|resnet18|vit-s] [--format json] [--rounds N] ...
# Peers come from bench/setup-peers.sh, or from the Python that DTC_BENCH_PYTHON names.
set -euo pipefail
exec python3 "$(dirname "$(readlink -f "$0")")/cpu.py" "$@"
