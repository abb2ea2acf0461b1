#!/usr/bin/env python3
"""A model of settings.py in PyTorch, which trains on requests from standard input: the peer of measure.py.

Usage: peer.py --model NAME --data TOKENS [--mode default|reduce-overhead|eager] [--masters] [--device cuda]; or
peer.py --ceilings

It uses torch.compile, fused scaled_dot_product_attention, bf16 autocast over f32 parameters, fused AdamW, clipped
gradients. With --masters the parameters and activations are bf16, and AdamW updates f32 masters, as dtc does. A
request is a line of JSON, and so is its answer:
    {"batch": 8, "warm_up": 3}    compiles and warms up: {"first_loss", "loss", "seconds"}, or {"failed": why}
    {"steps": 20, "warm_up": 3}   trains: {"wall_s" of the counted steps, "step_s" by events, "loss",
                                  "allocated_bytes", "reserved_bytes"}
    {"release": true}             returns memory that no tensor uses to the device: {"reserved_bytes"}
The loss is read after the last step only, so steps are enqueued without a stop.
"""
import argparse
import json
import os
import sys
import time

from settings import BETAS, CLIP_NORM, EPSILON, LEARNING_RATE, SETTINGS, WEIGHT_DECAY

COPY_BYTES, MATRIX = 2**32, 8192


def answer(**values):
    print(json.dumps(values), flush=True)


class Trainer:
    def __init__(self, torch, options):
        import models
        self.torch, self.device = torch, torch.device(options.device)
        self.shape, self.mode = SETTINGS[options.model].shape, options.mode
        self.data = torch.from_file(options.data, dtype=torch.int16, size=os.path.getsize(options.data) // 2)
        torch.manual_seed(1)
        torch.set_float32_matmul_precision("high")
        self.model = models.Model(self.shape).to(self.device)
        self.parameters = self.kept = list(self.model.parameters())
        if options.masters:
            self.kept = [p.detach().clone() for p in self.parameters]
            for p in self.parameters:
                p.data = p.data.bfloat16()
        decayed = [p for p in self.kept if p.dim() > 1]
        others = [p for p in self.kept if p.dim() < 2]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}],
            lr=LEARNING_RATE, betas=BETAS, eps=EPSILON, fused=True)
        self.run, self.batch = None, 0

    def on_gpu(self):
        return self.device.type == "cuda"

    def synchronize(self):
        if self.on_gpu():
            self.torch.cuda.synchronize(self.device)

    def next_batch(self):
        torch, length = self.torch, self.shape.sequence
        starts = torch.randint(len(self.data) - length - 1, (self.batch,))
        rows = torch.stack([self.data[start: start + length + 1] for start in starts]).long() & 0xFFFF
        if self.on_gpu():
            rows = rows.pin_memory().to(self.device, non_blocking=True)
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

    def step(self):
        tokens, targets = self.next_batch()
        with self.torch.autocast(self.device.type, dtype=self.torch.bfloat16, enabled=self.kept is self.parameters):
            loss = self.run(tokens, targets)
        loss.backward()
        self.update()
        # A graph that is replayed overwrites its earlier results.
        return loss.detach().clone() if self.mode == "reduce-overhead" else loss.detach()

    def update(self):
        has_masters = self.kept is not self.parameters
        for kept, used in zip(self.kept, self.parameters) if has_masters else ():
            kept.grad = used.grad.float()
            used.grad = None
        self.torch.nn.utils.clip_grad_norm_(self.kept, CLIP_NORM, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if has_masters:
            with self.torch.no_grad():
                self.torch._foreach_copy_(self.parameters, self.kept)

    def prepare(self, batch, warm_up):
        began, self.batch = time.perf_counter(), batch
        self.torch.compiler.reset()
        self.release()
        if self.mode == "eager":
            self.run = self.model
        else:
            self.run = self.torch.compile(self.model, dynamic=False, mode=None if self.mode == "default" else self.mode)
        first = loss = self.step().item()
        for _ in range(warm_up):
            loss = self.step().item()
        return {"first_loss": first, "loss": loss, "seconds": time.perf_counter() - began}

    def train(self, steps, warm_up):
        torch = self.torch
        for _ in range(warm_up):
            self.step()
        if self.on_gpu():
            torch.cuda.reset_peak_memory_stats(self.device)
        self.synchronize()
        marks, began = [self.mark()], time.perf_counter()
        for _ in range(steps):
            loss = self.step()
            marks.append(self.mark())
        self.synchronize()
        wall = time.perf_counter() - began
        peak = {"allocated_bytes": torch.cuda.max_memory_allocated(self.device),
                "reserved_bytes": torch.cuda.max_memory_reserved(self.device)} if self.on_gpu() else {}
        return {"wall_s": wall, "step_s": self.seconds_between(marks), "loss": loss.item(), **peak}

    def mark(self):
        if not self.on_gpu():
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds_between(self, marks):
        if not self.on_gpu():
            return [end - begin for begin, end in zip(marks, marks[1:])]
        return [begin.elapsed_time(end) / 1e3 for begin, end in zip(marks, marks[1:])]

    def release(self):
        if not self.on_gpu():
            return {"reserved_bytes": 0}
        self.torch.cuda.empty_cache()
        return {"reserved_bytes": self.torch.cuda.memory_reserved(self.device)}


def serve(torch, trainer):
    for line in sys.stdin:
        request = json.loads(line)
        failed = None
        try:
            if "batch" in request:
                answer(**trainer.prepare(request["batch"], request["warm_up"]))
            elif "steps" in request:
                answer(**trainer.train(request["steps"], request["warm_up"]))
            else:
                answer(**trainer.release())
        except torch.OutOfMemoryError as error:
            failed = "out of memory: " + str(error).split(". ")[0]
        if failed:  # not in the handler, whose exception holds on to the tensors
            trainer.optimizer.zero_grad(set_to_none=True)
            trainer.model.zero_grad(set_to_none=True)
            trainer.release()
            answer(failed=failed)


def ceilings(torch, device):
    """Returns the rates of a copy within the device and of a matmul of random bf16 matrices: medians of 15, after 3."""
    def seconds(work, runs=15):
        times = []
        for run in range(runs + 3):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            torch.cuda.synchronize(device)
            if run >= 3:
                times.append(begin.elapsed_time(end) / 1e3)
        return sorted(times)[len(times) // 2]

    source = torch.randint(1 << 30, (COPY_BYTES // 4,), dtype=torch.int32, device=device)
    target = torch.empty_like(source)
    copy = seconds(lambda: target.copy_(source))
    del source, target
    a, b = (torch.randn(MATRIX, MATRIX, dtype=torch.bfloat16, device=device) for _ in range(2))
    c = torch.empty_like(a)
    product = seconds(lambda: torch.matmul(a, b, out=c))
    answer(copy_bytes_per_s=2 * COPY_BYTES / copy, product_flops=2 * MATRIX**3 / product, torch=torch.__version__,
           device=torch.cuda.get_device_name(device))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=SETTINGS)
    parser.add_argument("--data", help="tokens, uint16")
    parser.add_argument("--mode", choices=("default", "reduce-overhead", "eager"), default="default")
    parser.add_argument("--masters", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--ceilings", action="store_true")
    options = parser.parse_args()
    try:
        import torch
    except ModuleNotFoundError as error:
        sys.exit(f"peer.py: there is no '{error.name}' for {sys.executable}")
    if options.ceilings:
        return ceilings(torch, torch.device(options.device))
    if not options.model or not options.data:
        parser.error("wanted --model and --data, or --ceilings")
    trainer = Trainer(torch, options)
    answer(ready=True, version="PyTorch " + torch.__version__)
    return serve(torch, trainer)


if __name__ == "__main__":
    main()
