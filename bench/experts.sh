#!/usr/bin/env bash
# Compares a training step of a small Mixtral (8 experts, width 512, f32, AdamW, one process) with
# transformers in PyTorch on this machine, and its experts with a dense MLP of as many flops:
#   bench/experts.sh [--format json] [--rounds N] [--steps N] [--threads N ...] ...
# The Python that DTC_BENCH_PYTHON names, or bench/setup-peers.sh makes, needs torch and transformers.
set -euo pipefail
exec python3 "$(dirname "$(readlink -f "$0")")/experts.py" "$@"
