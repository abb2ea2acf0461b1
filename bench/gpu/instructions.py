"""The kinds and bytes of the instructions of a program: read here, next to dtc, for a trace that is made elsewhere."""
import collections
import json
import re
import statistics

# A kernel has the first kind that lists one of its ops.
KINDS = [
    ("optimizer", ("adamw", "sgd", "lamb", "lars")),
    ("gradient norm", ("sum_squares", "chunk_squares", "sum_chunks", "clip_scale")),
    ("cross entropy", ("cross_entropy", "cross_entropy_grad")),
    ("norms", ("layer_norm", "layer_norm_grad", "layer_norm_param_grad", "rms_norm", "rms_norm_grad",
               "rms_norm_param_grad", "norm_param_grad_parts")),
    ("activations", ("gelu", "gelu_grad", "silu", "silu_grad")),
    ("sums", ("reduce", "row_part_sums", "sum_parts")),
]
OPS = {"gemm": "products", "grouped_gemm": "products", "attention": "attention, forward",
       "attention_grad": "attention, backward", "copy": "copies", "embedding": "embedding",
       "embedding_grad": "embedding", "zero": "copies"}
BOUND_BY_BYTES = {"optimizer", "gradient norm", "cross entropy", "norms", "activations", "sums", "pointwise", "copies",
                  "embedding"}
LEAST_BLOCKS = 132  # multiprocessors of an H100


def kind_of(op, kernel_ops):
    """Returns the kind of an instruction: kind_of("launch", ["add", "gelu"]) is "activations"."""
    if op != "launch":
        return OPS.get(op, op)
    return next((title for title, members in KINDS if any(each in members for each in kernel_ops)), "pointwise")


def bytes_of(instruction):
    """Returns the bytes that it reads and writes, each operand once.

    A strided copy counts the box, a table the rows that are looked up.
    """
    elements = re.match(r"box ([\dx]+)", instruction["details"])
    if instruction["op"] == "copy" and elements:
        whole = min(operand["bytes"] for operand in instruction["buffers"])
        return 3 * whole if "accumulate" in instruction["details"] else 2 * whole
    skipped = {"embedding": "table", "embedding_grad": "grad"}.get(instruction["op"])
    moved = sum(operand["bytes"] for operand in instruction["buffers"] if operand["role"] != skipped)
    if instruction["op"] == "embedding_grad":  # f32 rows, read and written
        moved += 2 * 4 * numbers_of(instruction["details"], "columns") * numbers_of(instruction["details"], "tokens")
    return moved


def numbers_of(details, name):
    found = re.search(rf"\b{name} (\d+)", details)
    return int(found[1]) if found else 0


def describe(inspected, kernel_ops):
    """Describes the output of `dtc inspect --rank 0 --format json`: a list of the instructions of each task, in
    order.
    """
    tasks = collections.defaultdict(list)
    for instruction in inspected["instruction_list"]:
        found = re.match(r"(kernel_\w+) range .*?(\d+) blocks? of (\d+) threads", instruction["details"])
        ops = kernel_ops.get(found[1], []) if found else []
        name = f"{found[1]}: {' + '.join(dict.fromkeys(ops))}" if found else instruction["op"]
        tasks[instruction["task"]].append({
            "op": instruction["op"], "name": name, "kind": kind_of(instruction["op"], ops),
            "bytes": bytes_of(instruction), "blocks": int(found[2]) if found else None})
    return tasks


def events_of(trace):
    """Returns (task, instruction, step, seconds) of each slice of a trace of dtrun or of 'dtc simulate'.

    The first step is left out, since it is no measure.
    """
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X" and "instruction" in event.get("args", {})]
    last = max((event["args"].get("step", 1) for event in slices), default=0)
    for event in slices:
        step = event["args"].get("step", 1)
        if step > 1 or last == 1:
            yield event["args"]["task"], event["args"]["instruction"], step, event["dur"] / 1e6


def sum_trace(trace, tasks):
    """Returns seconds and bytes of a step by kind, and of each kernel: {"kinds": {kind: {...}}, "kernels": [...],
    "step_s"}.

    Times of an instruction are summed over its layers and micro-batches within a step, then the median of the steps
    is taken.
    """
    steps, counts = collections.defaultdict(lambda: collections.defaultdict(float)), collections.Counter()
    for task, index, step, seconds in events_of(trace):
        steps[task, index][step] += seconds
        counts[task, index] += 1
    kinds, kernels = collections.defaultdict(lambda: {"seconds": 0.0, "bytes": 0, "runs": 0}), {}
    for (task, index), by_step in steps.items():
        if task not in tasks or index >= len(tasks[task]):
            raise ValueError(f"the trace has instruction {index} of task '{task}', which the program does not have")
        about = tasks[task][index]
        runs = counts[task, index] // len(by_step)
        seconds = statistics.median(by_step.values())
        for part in (kinds[about["kind"]], kernels.setdefault((about["name"], about["bytes"]), {
                "name": about["name"], "kind": about["kind"], "blocks": about["blocks"], "bytes_of_one": about["bytes"],
                "seconds": 0.0, "bytes": 0, "runs": 0})):
            part["seconds"] += seconds
            part["bytes"] += runs * about["bytes"]
            part["runs"] += runs
    return {"kinds": dict(kinds), "kernels": sorted(kernels.values(), key=lambda kernel: -kernel["seconds"]),
            "step_s": sum(kind["seconds"] for kind in kinds.values())}


def read_trace(path):
    with open(path) as file:
        return json.load(file)
