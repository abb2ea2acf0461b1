#!/usr/bin/env python3
"""Times training steps of a small Mixtral against transformers, and its experts against a dense MLP (see
bench/experts.sh).

Contenders take turns, a few steps each, for some rounds, as in bench/cpu.py; medians are over all of a contender's
steps. The layers are compared by dtrun's own profile: the instructions of the MLPs, forward and backward, in the
Mixtral and in a Mistral whose MLP is as wide as the experts of a token together. Both are compiled without repeats,
and their programs take turns.
"""

import argparse
import contextlib
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cpu
from about import commit, machine

ROOT = Path(__file__).resolve().parent.parent
BATCH, SEQUENCE = 4, 256
WIDTH, INNER, EXPERTS, TOP, LAYERS, VOCABULARY = 512, 1792, 8, 2, 4, 8192
COMMON = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 8, "num_key_value_heads": 4,
          "head_dim": 64, "vocab_size": VOCABULARY, "max_position_embeddings": 1024, "hidden_act": "silu",
          "rms_norm_eps": 1e-5, "rope_theta": 1e6, "sliding_window": None, "tie_word_embeddings": False,
          "initializer_range": 0.02, "attention_dropout": 0.0}
CONFIGS = {
    "experts": COMMON | {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "intermediate_size": INNER,
                         "num_local_experts": EXPERTS, "num_experts_per_tok": TOP, "output_router_logits": False},
    "dense": COMMON | {"architectures": ["MistralForCausalLM"], "model_type": "mistral",
                       "intermediate_size": TOP * INNER},
}
PEERS = {"grouped_mm": [], "eager": ["--experts", "eager"]}


class Peer(cpu.Peer):
    """transformers' Mixtral, which answers with the seconds of each step that is asked for."""

    def __init__(self, name, python, config, threads):
        self.name, self.samples = name, []
        self.errors = tempfile.TemporaryFile("w+")
        self.process = cpu.start([python, ROOT / "bench/peers/experts_torch.py", config, *PEERS[name], "--threads",
                                  str(threads), "--batch", str(BATCH), "--sequence", str(SEQUENCE)], threads,
                                 stdin=subprocess.PIPE, stderr=self.errors)
        self.version = self.read()["version"]


def compile_program(dtc, name, folder):
    config, program = Path(folder) / f"{name}.json", Path(folder) / f"{name}.dte"
    config.write_text(json.dumps(CONFIGS[name]))
    done = subprocess.run([dtc, "compile", config, "--seq-len", str(SEQUENCE), "--topology", "cpu", "--devices", "1",
                           "--precision", "f32", "--fix", f"dp=1,micro_batch={BATCH}", "--global-batch", str(BATCH),
                           "-o", program], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"experts.py: compiling {name}: {done.stderr.strip()}")
    return config, program


def run_setting(threads, args, python, folder, skipped, versions):
    """Returns the medians of each contender on `threads` threads."""
    config, program = Path(folder) / "experts.json", Path(folder) / "experts.dte"
    with contextlib.ExitStack() as stack:
        contenders = [cpu.Ours(program, threads)]
        for name in args.peers if python else []:
            try:
                peer = Peer(name, python, config, threads)
            except cpu.Failure as failure:
                skipped[name] = str(failure)
                continue
            stack.callback(peer.stop)
            versions[name] = peer.version
            contenders.append(peer)
        for turn in range(args.rounds):
            shift = turn % len(contenders)
            for contender in contenders[shift:] + contenders[:shift]:
                contender.take_turn(args.steps)
                cpu.note(f"round {turn + 1} of {args.rounds}, {contender.name}, {threads} threads: "
                         f"{contender.samples[-1]['wall_s']:.3f} s a step, cpu {contender.samples[-1]['cpu_s']:.3f}")
        return {contender.name: cpu.summary(contender.samples) for contender in contenders}


def mlp_seconds(program, threads, steps, folder):
    """Returns the least seconds of the instructions of all MLPs, forward and backward: each over the steps."""
    trace = Path(folder) / "trace.json"
    subprocess.run([ROOT / "build/bin/dtrun", program, "--data", "synthetic", "--steps", str(steps + 1), "--threads",
                    str(threads), "--profile", trace], check=True, stdout=subprocess.DEVNULL)
    times = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "X" and event["args"]["step"] > 1 and re.search(r"\.mlp\b", event["name"]):
            key = event["args"]["task"], event["args"]["instruction"], event["args"].get("layer", 0)
            times.setdefault(key, []).append(event["dur"] / 1e6)
    if not times:
        sys.exit("experts.py: the profile names no instruction of an MLP")
    return [sum(values) for values in zip(*times.values())], sum(min(values) for values in times.values())


def compare_layers(threads, args, folder):
    """Returns the seconds of the experts and of dense MLPs, over all layers of a step."""
    sums, least = {"experts": [], "dense": []}, {"experts": [], "dense": []}
    for turn in range(args.rounds):
        for name in sorted(sums, reverse=turn % 2 == 1):
            steps, fastest = mlp_seconds(Path(folder) / f"{name}.dte", threads, args.steps, folder)
            sums[name] += steps
            least[name].append(fastest)
    return {name: {"median_s": statistics.median(sums[name]), "least_s": min(least[name])} for name in sums}


def print_tables(result):
    about = result["machine"]
    print(f"Mixtral, {EXPERTS} experts of {WIDTH} x {INNER}, {TOP} a token, {LAYERS} layers, {VOCABULARY} words, batch "
          f"{BATCH} x {SEQUENCE} tokens, f32, AdamW, one process; medians")
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load_average']:.1f} at the start; commit "
          f"{result['commit']}")
    for peer, text in list(result["versions"].items()) + list(result["skipped"].items()):
        print(f"{peer}: {text}")
    print("\n| threads | contender | wall s/step | fastest | cpu s/step | steps |\n|---|---|---|---|---|---|")
    for threads, contenders in result["settings"].items():
        for name, c in contenders.items():
            print(f"| {threads} | {name} | {c['wall_s']:.3f} | {c['fastest_wall_s']:.3f} | {c['cpu_s']:.3f} | "
                  f"{c['steps']} |")
    for threads, ratio in result["ratios"].items():
        print(f"\nours / best peer, {threads} threads: wall {ratio:.3f}, "
              f"fastest {result['fastest_ratios'][threads]:.3f}, cpu {result['cpu_ratios'][threads]:.3f}")
    print("\n| threads | MLPs of a step | median s | sum of least s |\n|---|---|---|---|")
    for threads, layers in result["layers"].items():
        for name, c in layers.items():
            print(f"| {threads} | {name} | {c['median_s']:.4f} | {c['least_s']:.4f} |")
        print(f"| {threads} | experts / dense | {layers['experts']['median_s'] / layers['dense']['median_s']:.3f} | "
              f"{layers['experts']['least_s'] / layers['dense']['least_s']:.3f} |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3, help="counted steps of a turn")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--dtc", type=Path, default=ROOT / "build/bin/dtc", help="the compiler")
    return parser.parse_args()


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    skipped, versions, settings, layers = {}, {}, {}, {}
    about, began = machine(), time.time()
    python = cpu.find_python(skipped)
    with tempfile.TemporaryDirectory() as folder:
        for name in CONFIGS:
            compile_program(args.dtc, name, folder)
        for threads in args.threads:
            if threads > about["cores"]:
                skipped[f"{threads} threads"] = f"this machine offers {about['cores']} cores"
                continue
            settings[threads] = run_setting(threads, args, python, folder, skipped, versions)
            layers[threads] = compare_layers(threads, args, folder)
    result = {"ratios": cpu.ratios_of(settings, "wall_s"), "cpu_ratios": cpu.ratios_of(settings, "cpu_s"),
              "fastest_ratios": cpu.ratios_of(settings, "fastest_wall_s"), "settings": settings, "layers": layers,
              "versions": versions, "skipped": skipped, "machine": about, "commit": commit(),
              "seconds": time.time() - began}
    if args.format == "json":
        print(json.dumps(result))
    else:
        print_tables(result)


if __name__ == "__main__":
    try:
        main()
    except cpu.Failure as failure:
        sys.exit(f"experts.py: {failure}")
