#!/usr/bin/env python3
"""Plans of several kinds, made without the planner, so that changes of its costs do not change their exports.

plans.py NAME [KEY=VALUE...]      writes that plan, with arguments of make() changed
plans.py --list
"""
import json
import sys


def split(layers, parts):
    """Returns runs of layers, as even as possible, the longer ones first."""
    sizes = [layers // parts + (i < layers % parts) for i in range(parts)]
    starts = [sum(sizes[:i]) for i in range(parts)]
    return [[start, start + size - 1] for start, size in zip(starts, sizes)]


def ranks_of(stage, d):
    """Returns the ranks of a stage if axes lie on the links as axis_order says, the innermost first."""
    sizes = {"tp": d["tp"], "cp": d["cp"], "dp": d["dp"], "pp": d["pp"]}
    strides, stride = {}, 1
    for axis in d["axis_order"].split():
        strides[axis] = stride
        stride *= sizes[axis]
    return sorted(
        t * strides["tp"] + c * strides["cp"] + r * strides["dp"] + stage * strides["pp"]
        for t in range(d["tp"])
        for c in range(d["cp"])
        for r in range(d["dp"])
    )


def make(
    dp=1, tp=1, pp=1, cp=1, ep=1, etp=None, sp=0, zero=0, zero_group=0, micro_batch=1, num_micro_batches=1,
    schedule="1f1b", virtual_stages=1, recompute="none", full_layers=None, full_stages=None, precision="bf16",
    optimizer="adamw", grad_dtype="f32", software="dtc", layers=32, sequence=8192, topology="dgx-h100", per_node=8,
    axis_order="tp cp dp pp", placement="megatron", offload=False, overlap=True, bucket_bytes=0, experts=False,
    splits_kv=False, bounds=None, reversed_stages=False, name="llama", vocab_over_pp=0, cp_kind=None, cp_inner=None,
    slides=False, layers_on_host=0, loss_chunks=1,
):  # fmt: skip
    """Returns a plan as a dictionary.

    `full_layers` first layers of each chunk and all layers of `full_stages` first stages recompute in full.
    `layers_on_host` is the number of such layers of each stage. `bounds` has the runs of layers of the chunks, in the
    order of the model.
    """
    d = {"dp": dp, "tp": tp, "pp": pp, "cp": cp, "axis_order": axis_order}
    devices = dp * tp * pp * cp
    chunks = bounds or split(layers, pp * virtual_stages)
    is_v = schedule in ("v-half", "v-min", "zb-v")
    stages = []
    for stage in range(pp):
        numbers = [stage, 2 * pp - 1 - stage] if is_v else range(stage, len(chunks), pp)
        runs = [chunks[number] for number in numbers]
        layer = []
        for first, last in runs:
            count = last - first + 1
            full = count if full_stages is not None and stage < full_stages else min(full_layers or 0, count)
            layer += ["full"] * full + ["none" if recompute == "mixed" else recompute] * (count - full)
        memory = {key: 0 for key in ("parameters", "gradients", "optimizer", "activations", "temporaries",
                                     "communication")}
        rank_stage = pp - 1 - stage if reversed_stages else stage
        stages.append({
            "layers": [runs[0][0], runs[-1][1]], "ranks": ranks_of(rank_stage, d), "peak_memory_bytes": 1 << 35,
            "compute_s": 1, "exposed_comm_s": 0, "recompute": layer, "chunks": runs, "forward_s": 1,
            "backward_input_s": 1, "backward_weight_s": 1, "in_flight": 1, "kept_bytes": 0, "memory": memory,
            "layers_on_host": min(layers_on_host, len(layer)),
        })  # fmt: skip
    place = {"dp": "replicate", "tp": "shard(0)/replicate" if splits_kv else "shard(0)" if tp > 1 else "replicate"}
    tensors = {"model.layers.0.self_attn.k_proj.weight": place}
    if experts:
        tensors["model.layers.0.block_sparse_moe.experts.*.w1.weight"] = {"dp": "replicate", "tp": "shard(1)" if tp > 1
            else "replicate"}
    mesh = {"dp": dp, "tp": tp, "pp": pp, "cp": cp, "ep": ep}
    if etp is not None:
        mesh["etp"] = etp
    contexts = {key: value for key, value in (("cp_kind", cp_kind), ("cp_inner", cp_inner)) if value is not None}
    return {
        "schema": "dtc.plan/1",
        "model": {"name": name, "parameters": 8030261248, "flops_per_step": 1e18, "sequence_length": sequence,
                  "slides": bool(slides)},
        "topology": {"name": topology, "devices": devices, "nodes": max(1, devices // per_node)},
        "mesh": mesh, **contexts,
        "sp": sp, "zero": zero, "zero_group": zero_group, "micro_batch": micro_batch,
        "num_micro_batches": num_micro_batches, "global_batch": dp * micro_batch * num_micro_batches,
        "schedule": schedule, "virtual_stages": virtual_stages, "vocab_over_pp": vocab_over_pp,
        "loss_chunks": loss_chunks,
        "axis_order": axis_order, "placement": placement, "offload_optimizer": offload, "overlap_gradients": overlap,
        "bucket_bytes": bucket_bytes, "recompute": recompute, "precision": precision, "optimizer": optimizer,
        "stages": stages, "tensors": tensors, "predicted": {
            "step_time_s": 13.5, "tokens_per_s": 1, "tflops_per_device": 1, "mfu": 0.5, "bubble_fraction": 0,
            "exposed_comm_s": 0, "peak_memory_bytes": 1 << 35, "fits": True, "memory": stages[0]["memory"],
        },
        "search": {"seconds": 1, "candidates": 1, "lower_bound_s": 1, "optimality_gap": 0, "exhaustive": True},
        "request": {
            "model": "llama.json", "topology": topology, "nodes": max(1, devices // per_node), "grad_dtype": grad_dtype,
            "software": software, "memory_limit_bytes": 1 << 36,
        },
    }  # fmt: skip


MEGATRON = {"software": "megatron-core"}
# This maps a name to arguments of make().
PLANS = {
    "one-device": {},
    "data-parallel": {"dp": 16, "overlap": False, "precision": "f32"},
    "zero-1": {"dp": 64, "zero": 1, "num_micro_batches": 16, **MEGATRON},
    "zero-2": {"dp": 64, "zero": 2, "num_micro_batches": 4},
    "zero-3": {"dp": 64, "zero": 3, "num_micro_batches": 4, "recompute": "full"},
    "hsdp": {"dp": 64, "zero": 3, "zero_group": 8, "num_micro_batches": 4},
    "zero-1-groups": {"dp": 64, "zero": 1, "zero_group": 8, "num_micro_batches": 4, "bucket_bytes": 64 << 20,
                      **MEGATRON},
    "tensor": {"dp": 8, "tp": 8, "sp": 1, "zero": 1, "num_micro_batches": 8, "grad_dtype": "bf16"},
    "tensor-plain": {"dp": 8, "tp": 4, "zero": 2, "num_micro_batches": 2},
    "tensor-zero-3": {"dp": 8, "tp": 4, "sp": 1, "zero": 3, "num_micro_batches": 2},
    "pipeline": {"dp": 4, "tp": 4, "pp": 4, "sp": 1, "zero": 1, "num_micro_batches": 16, **MEGATRON},
    "pipeline-zero-0": {"dp": 1, "tp": 1, "pp": 8, "num_micro_batches": 16, "recompute": "full"},
    "pipeline-late-gradients": {"dp": 8, "pp": 4, "zero": 1, "num_micro_batches": 16, "overlap": False},
    "gpipe": {"dp": 8, "pp": 4, "zero": 1, "num_micro_batches": 16, "schedule": "gpipe"},
    "gpipe-zero-3": {"dp": 8, "pp": 4, "zero": 3, "num_micro_batches": 16, "schedule": "gpipe",
                     "recompute": "selective"},
    "interleaved": {"dp": 2, "tp": 8, "pp": 4, "sp": 1, "zero": 1, "num_micro_batches": 16, "schedule": "interleaved",
                    "virtual_stages": 2},
    "zb-v": {"dp": 2, "pp": 4, "zero": 1, "num_micro_batches": 16, "schedule": "zb-v", "virtual_stages": 2},
    "v-half": {"dp": 2, "pp": 4, "zero": 1, "num_micro_batches": 16, "schedule": "v-half", "virtual_stages": 2},
    "zb-h1": {"dp": 2, "pp": 4, "zero": 1, "num_micro_batches": 16, "schedule": "zero-bubble"},
    "uneven": {
        "dp": 4, "pp": 4, "zero": 1, "num_micro_batches": 16, "bounds": [[0, 6], [7, 15], [16, 24], [25, 31]],
    },
    "uneven-chunks": {
        "dp": 4, "pp": 2, "zero": 1, "num_micro_batches": 16, "schedule": "interleaved", "virtual_stages": 2,
        "bounds": [[0, 6], [7, 15], [16, 24], [25, 31]],
    },
    "block": {"dp": 4, "pp": 4, "zero": 1, "num_micro_batches": 16, "recompute": "mixed", "full_layers": 3},
    "uneven-block": {"dp": 4, "pp": 4, "zero": 1, "num_micro_batches": 16, "recompute": "mixed", "full_stages": 2},
    "selective": {"dp": 16, "zero": 1, "recompute": "selective", **MEGATRON},
    "selective-titan": {"dp": 16, "zero": 3, "recompute": "selective", "software": "fsdp-compiled"},
    "selective-products": {"dp": 16, "zero": 3, "recompute": "selective"},
    "context": {"dp": 4, "tp": 2, "cp": 4, "sp": 1, "zero": 1, "num_micro_batches": 2, "sequence": 32768},
    "context-zero-3": {"dp": 8, "cp": 4, "zero": 3, "sequence": 32768, "cp_kind": "all-gather"},
    "context-swap": {"dp": 8, "cp": 4, "zero": 3, "sequence": 32768, "cp_kind": "all-to-all"},
    "context-both": {"dp": 4, "cp": 8, "zero": 1, "num_micro_batches": 2, "sequence": 65536, "cp_kind": "both",
                     "cp_inner": 2},
    "experts": {
        "dp": 16, "ep": 8, "zero": 1, "num_micro_batches": 4, "experts": True, "name": "mixtral",
        "software": "megatron-bridge",
    },
    "experts-tensor": {
        "dp": 8, "tp": 4, "ep": 8, "sp": 1, "zero": 1, "num_micro_batches": 4, "experts": True, "name": "mixtral",
    },
    "experts-zero-3": {"dp": 16, "ep": 8, "zero": 3, "num_micro_batches": 4, "experts": True, "name": "mixtral"},
    "on-host": {"dp": 16, "zero": 1, "layers_on_host": 20, "num_micro_batches": 4, **MEGATRON},
    "on-host-selective": {"dp": 16, "zero": 3, "layers_on_host": 32, "recompute": "selective", "software": "maxtext"},
    "on-host-full": {"dp": 16, "zero": 3, "layers_on_host": 32, "recompute": "full", "software": "maxtext"},
    "offload": {"dp": 8, "zero": 1, "offload": True, "num_micro_batches": 4},
    "offload-zero-3": {"dp": 8, "zero": 3, "offload": True, "num_micro_batches": 4},
    "f16": {"dp": 8, "zero": 2, "precision": "f16"},
    "fp8": {"dp": 8, "zero": 1, "precision": "fp8", **MEGATRON},
    "fp8-zero-3": {"dp": 8, "zero": 3, "precision": "fp8"},
    "fp8-experts": {"dp": 16, "ep": 8, "zero": 3, "num_micro_batches": 4, "experts": True, "name": "mixtral",
                    "precision": "fp8"},
    "sgd": {"dp": 8, "zero": 1, "optimizer": "sgd", "precision": "f32"},
    "lamb": {"dp": 8, "optimizer": "lamb", "precision": "f32", "overlap": False},
    "lars": {"dp": 8, "optimizer": "lars", "precision": "f32"},
    "pipeline-inside": {"dp": 4, "tp": 4, "pp": 4, "sp": 1, "zero": 1, "num_micro_batches": 16,
                        "axis_order": "tp cp pp dp"},
    "data-inside": {"dp": 4, "tp": 4, "sp": 1, "zero": 1, "axis_order": "dp tp cp pp"},
    "unlike-stages": {"dp": 4, "pp": 2, "zero": 1, "num_micro_batches": 4, "reversed_stages": True},
    "searched": {"dp": 4, "tp": 4, "sp": 1, "zero": 1, "placement": "searched"},
    "kv-groups": {"dp": 2, "tp": 16, "sp": 1, "zero": 1, "splits_kv": True},
    "torus": {"dp": 16, "tp": 4, "sp": 1, "zero": 3, "topology": "tpu-v4", "per_node": 4},
}  # fmt: skip


def main():
    if sys.argv[1:] == ["--list"]:
        return print("\n".join(PLANS))
    arguments = dict(PLANS[sys.argv[1]])
    for pair in sys.argv[2:]:
        key, _, value = pair.partition("=")
        try:
            arguments[key] = json.loads(value)
        except json.JSONDecodeError:
            arguments[key] = value
    json.dump(make(**arguments), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
