#!/usr/bin/env python3
"""Prints RESULTS.json of measure.py as the Markdown of bench/results.

Usage: report.py RESULTS.json [--kernels N]
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

from instructions import BOUND_BY_BYTES, LEAST_BLOCKS

# These figures are dtc's targets.
WANTED_RATIO, WANTED_LAUNCHES, WANTED_MFU, WANTED_COPY, WANTED_MODEL = 1.10, 1.5, 0.55, 0.85, 0.08
LARGE = ("gpt2-1.5b", "llama3-1b")  # the models that WANTED_MFU is of
LEAST_SECONDS = 10e-6  # seconds of one run; below, a kernel's launch costs more than its bytes
GIB = 2**30


def read_results(path):
    """Reads the output of measure.py; ends the program in a line if it is something else."""
    program = Path(sys.argv[0]).name
    try:
        results = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"{program}: {path}: {error}")
    if not isinstance(results, dict) or results.get("schema") != "dtc.bench-gpu/1":
        sys.exit(f"{program}: {path} is no file of measure.py")
    return results


def seconds_a_step(contender):
    """Returns the median over turns; None if there are none."""
    turns = contender["turns"]
    return statistics.median(turn["wall_s"] / turn["steps"] for turn in turns) if turns else None


def spread(contender):
    """Returns the distance of the fastest and the slowest turn over the median: smaller differences are noise."""
    each = [turn["wall_s"] / turn["steps"] for turn in contender["turns"]]
    return (max(each) - min(each)) / statistics.median(each)


def used_bytes(contender):
    """Returns the most memory of the GPU in a turn: reserved by PyTorch, or seen by nvidia-smi beyond the use before.
    """
    reserved = [turn["reserved_bytes"] for turn in contender["turns"] if "reserved_bytes" in turn]
    if reserved:
        return max(reserved)
    seen = [(turn["gpu"]["memory_mib"] - turn["memory_before_mib"]) * 2**20 for turn in contender["turns"]
            if turn.get("gpu") and turn["gpu"]["memory_mib"] is not None and turn["memory_before_mib"] is not None]
    return max(seen, default=None)


def batch_of(entry):
    """Returns samples and tokens of a step, and unusual settings: 4 micro-batches, recomputation."""
    times = f"{entry['micro_batches']} x " if entry["micro_batches"] > 1 else ""
    recompute = "" if entry["recompute"] == "none" else f", recompute {entry['recompute']}"
    return f"{times}{entry['batch']} x {entry['sequence']}{recompute}"


class Row:
    """A contender on one model and micro-batch."""

    def __init__(self, entry, name, peak):
        contender = entry["contenders"][name]
        self.entry, self.name, self.contender = entry, name, contender
        self.seconds = seconds_a_step(contender)
        self.rate = entry["samples"] * entry["sequence"] / self.seconds
        self.mfu_full, self.mfu_causal = (self.rate * entry[count] / peak for count in ("flops_full", "flops_causal"))

    def cells(self):
        entry = self.entry
        used = used_bytes(self.contender)
        memory = f"{used / GIB:.1f}" if used else "-"
        predicted = "| | | |"
        if self.name == "dtc":
            memory += f" (arena {entry['arena_bytes'] / GIB:.1f})"
            apart = [f"{entry[key] * 1e3:.1f} ({entry[key] / self.seconds - 1:+.0%})"
                     for key in ("planned_s", "simulated_s")]
            predicted = f"| {apart[0]} | {apart[1]} | {entry['instructions']} |"
        note = "" if entry["complete"] else " (not complete)"
        return (f"| {entry['model']}{note} | {batch_of(entry)} | {self.name} | {self.seconds * 1e3:.2f} | "
                f"{spread(self.contender):.1%} | {self.rate:,.0f} | {self.mfu_full:.1%} | {self.mfu_causal:.1%} | "
                f"{memory} {predicted}")


def print_steps(entries, peak):
    print("| model | batch | by | ms a step | spread | tokens/s | MFU full | MFU causal | memory GiB | planned ms | "
          "simulated ms | "
          "instructions |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    best = {}
    for entry in entries:
        for name, contender in sorted(entry["contenders"].items(), key=lambda item: item[0] != "dtc"):
            if not contender["turns"]:
                print(f"| {entry['model']} | {batch_of(entry)} | {name} | {contender.get('failed', 'no turn')} "
                      "| | | | | | | | |")
                continue
            row = Row(entry, name, peak)
            print(row.cells())
            known = best.setdefault(entry["model"], {}).get(name)
            if known is None or row.rate > known.rate:
                best[entry["model"]][name] = row
    return best


def verdict(value, wanted):
    return "reached" if value >= wanted else "not reached"


def print_ratios(best):
    print("\n| model | best of dtc | best of its peers | dtc / peer | wanted | MFU full | wanted "
          "|\n|---|---|---|---|---|---|---|")
    for model, rows in best.items():
        ours, peers = rows.get("dtc"), [row for name, row in rows.items() if name != "dtc"]
        if not ours or not peers:
            print(f"| {model} | {'ran' if ours else 'did not run'} | {'none ran' if not peers else 'ran'} | | | | |")
            continue
        for peer in peers:
            wanted = WANTED_LAUNCHES if model.endswith("-launches") else WANTED_RATIO
            ratio = ours.rate / peer.rate
            goal = f"{WANTED_MFU:.0%}: {verdict(ours.mfu_full, WANTED_MFU)}" if model in LARGE else ""
            against = f"{wanted:.2f}: {verdict(ratio, wanted)}" if peer.name == "torch-compile" else ""
            print(f"| {model} | {ours.rate:,.0f} at {ours.entry['batch']} | {peer.rate:,.0f} at "
                  f"{peer.entry['batch']}, {peer.name} | "
                  f"{ratio:.3f} | {against} | {ours.mfu_full:.1%} | {goal} |")


def print_kinds(best):
    print("\nWhere a step of dtc goes, by `dtrun --profile` (each instruction between events, without graphs), beside "
          "the simulator:\n")
    print("| model | kind | runs | ms | share | simulated ms | GB/s |\n|---|---|---|---|---|---|---|")
    for model, rows in best.items():
        profile = rows["dtc"].entry.get("profile") if "dtc" in rows else None
        for kind, part in sorted(profile["kinds"].items(), key=lambda item: -item[1]["seconds"]) if profile else ():
            simulated = rows["dtc"].entry["simulated"]["kinds"].get(kind, {}).get("seconds", 0)
            rate = (f"{part['bytes'] / part['seconds'] / 1e9:.0f}" if kind in BOUND_BY_BYTES and part["seconds"] > 0
                    else "")
            print(f"| {model} | {kind} | {part['runs']} | {part['seconds'] * 1e3:.2f} | "
                  f"{part['seconds'] / profile['step_s']:.1%} | "
                  f"{simulated * 1e3:.2f} | {rate} |")


def print_kernels(best, copy, most):
    print(f"\nBandwidth of what is bound by it, the {most} that take longest of a model, runs of "
          f"{LEAST_SECONDS * 1e6:.0f} us and more; "
          f"a copy within the device moves {copy / 1e9:.0f} GB/s, wanted are {WANTED_COPY:.0%} of it:\n")
    print("| model | kernel | runs | blocks | MB each | us each | GB/s | of a copy | "
          "|\n|---|---|---|---|---|---|---|---|---|")
    for model, rows in best.items():
        profile = rows["dtc"].entry.get("profile") if "dtc" in rows else None
        found = [kernel for kernel in (profile or {}).get("kernels", []) if kernel["kind"] in BOUND_BY_BYTES
                 and kernel["runs"] and kernel["seconds"] / kernel["runs"] >= LEAST_SECONDS]
        for kernel in found[:most]:
            rate = kernel["bytes"] / kernel["seconds"]
            few = f", {kernel['blocks']} blocks" if kernel["blocks"] and kernel["blocks"] < LEAST_BLOCKS else ""
            print(f"| {model} | {kernel['name'][:60]} | {kernel['runs']} | {kernel['blocks'] or ''} | "
                  f"{kernel['bytes_of_one'] / 1e6:.1f} | "
                  f"{kernel['seconds'] / kernel['runs'] * 1e6:.0f} | {rate / 1e9:.0f} | {rate / copy:.0%} | "
                  f"{verdict(rate / copy, WANTED_COPY)}{few} |")


def print_predictions(best):
    rows = [found["dtc"] for found in best.values() if "dtc" in found]
    if rows:
        worst = max(rows, key=lambda row: abs(row.entry["simulated_s"] / row.seconds - 1))
        off = abs(worst.entry["simulated_s"] / worst.seconds - 1)
        print(f"\nThe simulator is furthest off at {worst.entry['model']}: {off:.1%}; wanted are {WANTED_MODEL:.0%} "
              f"after calibrate-gpu.")


def print_state(entries):
    """Prints the state of the GPU in the turns: a reason for lower clocks makes a figure one of a throttled GPU."""
    states = [turn["gpu"] for entry in entries for contender in entry["contenders"].values()
              for turn in contender["turns"]
              if turn.get("gpu")]
    if not states:
        print("\nnvidia-smi was not there: clocks are not known.")
        return
    clocks = sorted(state["sm_mhz"] for state in states if state["sm_mhz"])
    hottest = max((state["temperature_c"] for state in states if state["temperature_c"]), default=None)
    reasons = sorted({state["slowed_by"] for state in states if state["slowed_by"] != "0x0"})
    print(f"\nClocks of the multiprocessors in the turns: {clocks[0]:.0f} to {clocks[-1]:.0f} MHz, hottest "
          f"{hottest:.0f} C; "
          + (f"clocks were lowered for {', '.join(reasons)} (NVML's nvmlClocksEventReason bits)" if reasons
             else "never lowered") + ".")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--kernels", type=int, default=8, help="rows of a model in the table of kernels")
    options = parser.parse_args()
    results = read_results(options.results)
    entries, runs = list(results["measured"].values()), results["runs"]
    print("# Training on a GPU, beside PyTorch\n")
    if any(run["device"]["name"] == "emulated GPU" for run in runs):
        print("**On the emulated GPU: no figure here is one of a GPU.**\n")
    for number, run in enumerate(runs):
        of = [key for key, entry in results["measured"].items() if entry["run"] == number]
        if of:
            versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items()) or "no peer"
            print(f"{', '.join(of)}: {run['device']['name']}, driver {run['device'].get('driver', '-')}; {versions}; "
                  f"commit "
                  f"{run['commit']}, {run['target']}, predicted for {run['topology']}; {run['date']}.  ")
            for what, why in run["failed"].items():
                print(f"{what}: {why}.  ")
    ceilings = next((run["ceilings"] for run in reversed(runs) if run["ceilings"]), None)
    if ceilings:
        print(f"\nThis GPU copies {ceilings['copy_bytes_per_s'] / 1e9:.0f} GB/s (read and written) and multiplies "
              f"bf16 matrices at "
              f"{ceilings['product_flops'] / 1e12:.0f} TFLOP/s, both by PyTorch. MFU is of "
              f"{runs[-1]['peak_flops'] / 1e12:.1f} TFLOP/s; 'full' "
              "counts all of attention's scores, 'causal' half of them.")
    print("\nbf16, AdamW with f32 state, gradients clipped; medians over turns that dtc and its peers take on the "
          "same GPU.\n")
    best = print_steps(entries, runs[-1]["peak_flops"])
    print_ratios(best)
    print_predictions(best)
    print_kinds(best)
    if ceilings:
        print_kernels(best, ceilings["copy_bytes_per_s"], options.kernels)
    print_state(entries)
    if results.get("left"):
        print(f"\nNot measured for want of time: {', '.join(results['left'])}.")


if __name__ == "__main__":
    main()
