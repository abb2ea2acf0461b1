#!/usr/bin/env python3
"""Measures how fast PyTorch trains GPT-2 and Llama on one GPU, as a Markdown table.

torch.compile, bf16 autocast over f32 parameters, fused AdamW, gradients clipped; the largest
power-of-two batch that fits. A step is forward, backward, clipping and update on random tokens.
"""
import argparse
import gc
import statistics
import sys
import time

BATCHES = [64, 32, 16, 8, 4, 2, 1]


def parse_flags(names):
    usual = [name for name in names if not name.startswith("tiny")]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(usual), help=f"of {', '.join(names)}")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or cpu")
    parser.add_argument("--batch", type=int, help="samples a step (default: the most that fit)")
    parser.add_argument("--steps", type=int, default=20, help="timed steps (20)")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before them (5)")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    flags = parser.parse_args()
    flags.models = flags.models.split(",")
    for name in flags.models:
        if name not in names:
            parser.error(f"--models names '{name}', wanted one of {', '.join(names)}")
    return flags


def synchronize(torch, device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def release(torch):
    torch.compiler.reset()
    gc.collect()
    torch.cuda.empty_cache()


def train(torch, models, shape, batch, device, flags):
    """Returns the median seconds of a step, peak bytes, parameters and the last loss."""
    torch.manual_seed(1)
    model = models.Model(shape).to(device)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    run = model if flags.eager else torch.compile(model)
    fused = device.type == "cuda"
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95),
                                  weight_decay=0.1, fused=fused)
    size = (batch, shape.sequence + 1)
    data = torch.randint(shape.vocabulary, size, device=device)
    tokens, targets = data[:, :-1].contiguous(), data[:, 1:].contiguous()

    def step():
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = run(tokens, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    first = step().item()
    wanted = models.expected_loss(shape)
    if abs(first - wanted) > 0.1 * wanted:
        raise ValueError(f"the first loss is {first:.3f}, but that of a new model is near {wanted:.3f}")
    for _ in range(flags.warm_up):
        loss = step()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    times = []
    for _ in range(flags.steps):
        synchronize(torch, device)
        start = time.perf_counter()
        loss = step()
        synchronize(torch, device)
        times.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return statistics.median(times), peak, parameters, loss.item()


def largest(torch, models, shape, device, flags):
    """Returns the largest batch that fits and the result of `train` for it, or None if none fits."""
    for batch in [flags.batch] if flags.batch else BATCHES:
        try:
            return batch, train(torch, models, shape, batch, device, flags)
        except torch.OutOfMemoryError:
            pass
        release(torch)  # outside of the handler, whose exception keeps the tensors alive
    return None


def main():
    try:
        import torch

        import models
    except ModuleNotFoundError as error:
        sys.exit(f"train_speed.py: there is no '{error.name}': python3 -m pip install torch")
    flags = parse_flags(list(models.SHAPES))
    torch.set_float32_matmul_precision("high")
    device = torch.device(flags.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    how = "eager" if flags.eager else "torch.compile"
    print(f"{name}, PyTorch {torch.__version__}, {how}, bf16 autocast, AdamW\n")
    print("| model | parameters | sequence | batch | step | tokens/s | model TFLOP/s | peak memory |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for model in flags.models:
        shape = models.SHAPES[model]
        found = largest(torch, models, shape, device, flags)
        release(torch)
        if not found:
            print(f"| {model} | | {shape.sequence} | does not fit | | | | |", flush=True)
            continue
        batch, (seconds, peak, parameters, _) = found
        rate = batch * shape.sequence / seconds
        flops = rate * models.model_flops(shape, parameters)
        memory = f"{peak / 2**30:.2f} GiB" if peak else "not measured"
        print(f"| {model} | {parameters / 1e6:.1f} M | {shape.sequence} | {batch} | "
              f"{seconds * 1e3:.1f} ms | {rate:.0f} | {flops / 1e12:.4g} | {memory} |", flush=True)


if __name__ == "__main__":
    main()
