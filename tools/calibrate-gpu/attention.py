#!/usr/bin/env python3
"""Measures attention as PyTorch computes it, and appends the curve to a file of calibrate-gpu.

Forward and backward of scaled_dot_product_attention in bf16, with the kernel that PyTorch picks
(flash or cuDNN attention on recent devices). Backward is timed alone: its graph is kept.
All measurements take turns in several rounds; the median over all rounds is what counts.
"""
import argparse
import statistics
import sys
import time

WARM_UPS = 3
SAMPLES = 3  # per measurement and round
SAMPLE_SECONDS = 2e-3
MOST_RUNS = 200  # per sample


def numbers(text):
    try:
        values = [int(word) for word in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(f"wanted whole numbers above 0 with commas, found '{text}'")
    return values


def parse_flags():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", required=True, help="the file to append to")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or cpu")
    parser.add_argument("--quick", action="store_true", help="few shapes, few rounds")
    parser.add_argument("--rounds", type=int, default=0, help="default: 5, with --quick 3")
    parser.add_argument("--sequences", type=numbers, help="default: 512 to 32768")
    parser.add_argument("--head-dims", type=numbers, default=[64, 128])
    parser.add_argument("--tokens", type=int, default=16384, help="sequences x batch (16384)")
    parser.add_argument("--heads", type=int, default=16, help="of one sequence (16)")
    flags = parser.parse_args()
    if not flags.sequences:
        flags.sequences = [1024, 4096] if flags.quick else [512 << i for i in range(7)]
    if not flags.rounds:
        flags.rounds = 3 if flags.quick else 5
    return flags


def shapes(flags):
    """Yields (batch x heads, sequence, head dim, causal), with `tokens` tokens or at least one sequence."""
    for sequence in flags.sequences:
        batch = max(1, flags.tokens // sequence)
        for head_dim in flags.head_dims:
            for causal in (True, False):
                yield batch, sequence, head_dim, causal


def summarize(samples):
    """Returns the median, and the distance of the quartiles over it."""
    middle = statistics.median(samples)
    if len(samples) < 2:
        return middle, 0.0
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return middle, (high - low) / middle


class Stopwatch:
    """Measures the seconds of a run on a device, by events on CUDA and by the clock elsewhere."""

    def __init__(self, torch, device):
        self.torch = torch
        self.is_cuda = device.type == "cuda"

    def sample(self, run, batch):
        if not self.is_cuda:
            start = time.perf_counter()
            for _ in range(batch):
                run()
            return (time.perf_counter() - start) / batch
        begin = self.torch.cuda.Event(enable_timing=True)
        end = self.torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(batch):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / batch

    def batch_of(self, run):
        for _ in range(WARM_UPS):
            run()
        one = max(self.sample(run, 3), 1e-7)
        return max(1, min(MOST_RUNS, round(SAMPLE_SECONDS / one)))


def make_runs(torch, device, shape, heads):
    """Returns the forward and the backward run of one shape."""
    batch, sequence, head_dim, causal = shape
    size = (batch, heads, sequence, head_dim)
    attention = torch.nn.functional.scaled_dot_product_attention
    q, k, v, gradient = (torch.randn(size, device=device, dtype=torch.bfloat16) for _ in range(4))
    for tensor in (q, k, v):
        tensor.requires_grad_()
    result = attention(q, k, v, is_causal=causal)

    def forward():
        with torch.no_grad():
            attention(q, k, v, is_causal=causal)

    def backward():
        torch.autograd.grad(result, (q, k, v), gradient, retain_graph=True)

    return forward, backward


def measure(flags):
    import torch

    device = torch.device(flags.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        units = torch.cuda.get_device_properties(device).multi_processor_count
    else:
        units = torch.get_num_threads()
    watch = Stopwatch(torch, device)
    samples = {}
    for _ in range(flags.rounds):
        for shape in shapes(flags):
            try:
                runs = make_runs(torch, device, shape, flags.heads)
                for backward, run in enumerate(runs):
                    batch = watch.batch_of(run)
                    times = samples.setdefault((shape, bool(backward)), [])
                    times.extend(watch.sample(run, batch) for _ in range(SAMPLES))
            except torch.OutOfMemoryError:
                print(f"left out: attention {shape}, which does not fit", file=sys.stderr)
                continue
    points = []
    for ((batch, sequence, head_dim, causal), backward), times in samples.items():
        seconds, spread = summarize(times)
        points.append({
            "sequence": sequence, "head_dim": head_dim, "heads": batch * flags.heads,
            "causal": causal, "backward": backward, "units": units, "seconds": seconds,
            "repeats": len(times), "spread": spread,
        })
    return points, f"PyTorch {torch.__version__}"


def append(path, points, software):
    """Adds the points to [calibration], the last table of the file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    tables = [line.strip() for line in text.splitlines() if line.startswith("[")]
    if tables != ["[calibration]"]:
        raise ValueError(f"'{path}' wants one table, [calibration], and has {tables}")
    if any(line.startswith("attention") for line in text.splitlines()):
        raise ValueError(f"'{path}' has attention already; measure into a new file")
    lines = [f"# attention: {software}", "attention = ["]
    for point in points:
        words = {True: "true", False: "false"}
        lines.append(
            f'  {{ type = "bf16", sequence = {point["sequence"]}, head_dim = {point["head_dim"]}, '
            f'heads = {point["heads"]}, causal = {words[point["causal"]]}, '
            f'backward = {words[point["backward"]]}, units = {point["units"]}, '
            f'time = "{point["seconds"] * 1e6:.6g} us", repeats = {point["repeats"]}, '
            f'spread = {point["spread"]:.3g} }},')
    lines.append("]\n")
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main():
    flags = parse_flags()
    try:
        with open(flags.curves, encoding="utf-8"):
            pass
        points, software = measure(flags)
        append(flags.curves, points, software)
    except ModuleNotFoundError:
        sys.exit("attention.py: there is no PyTorch: python3 -m pip install torch")
    except (OSError, ValueError) as error:
        sys.exit(f"attention.py: {error}")
    print(f"appended {len(points)} points of attention to {flags.curves}", file=sys.stderr)


if __name__ == "__main__":
    main()
