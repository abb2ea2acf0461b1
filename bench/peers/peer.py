"""GPT-2's sizes, the tokens, and the protocol of steps that the peers of bench/cpu.sh share.

A peer prints {"ready": ...} once it is compiled and warm. Then each line on its standard input asks
for one training step, and it answers with {"wall_s", "cpu_s", "loss"}: the caller decides whose
turn it is, so that all contenders meet the same state of the machine. With --steps it asks itself.
"""

import argparse
import json
import os
import sys
import time

VOCABULARY, CONTEXT, LAYERS, HEADS, WIDTH = 50257, 1024, 12, 12, 768
LEARNING_RATE, BETAS, EPSILON, WEIGHT_DECAY, CLIP_NORM = 3e-4, (0.9, 0.95), 1e-8, 0.1, 1.0


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--warm-up", type=int, default=2, help="steps before 'ready'")
    parser.add_argument("--steps", type=int, help="run as many steps and stop")
    return parser


def fix_threads(threads):
    """Sets what libraries read when they are loaded; call this before importing them."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    # Threads that spin at barriers lose whole time slices where a core is shared.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # XLA makes a thread for each processor that it may run on, and heeds nothing else.
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) > threads:
        os.sched_setaffinity(0, allowed[-threads:])


def batches(batch, sequence, vocabulary=VOCABULARY):
    """Random tokens, other ones in each step: (inputs, targets), int32 [batch, sequence]."""
    import numpy as np
    generator = np.random.default_rng(0)
    while True:
        tokens = generator.integers(0, vocabulary, (batch, sequence + 1), dtype=np.int32)
        yield tokens[:, :-1].copy(), tokens[:, 1:].copy()


def serve(args, step, details):
    """`step` runs one training step and returns its loss, a float: the step is over by then."""
    for _ in range(args.warm_up):
        step()
    print(json.dumps({"ready": True, **details}), flush=True)
    requests = range(args.steps) if args.steps else sys.stdin
    for _ in requests:
        cpu, wall = time.process_time(), time.perf_counter()
        loss = step()
        print(json.dumps({"wall_s": time.perf_counter() - wall,
                          "cpu_s": time.process_time() - cpu, "loss": loss}), flush=True)
