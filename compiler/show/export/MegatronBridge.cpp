// A Python module that sets a ConfigContainer of Megatron-Bridge. A YAML file of overrides can't
// say mixed_precision, which recipes hold as a word or as an object.
#include "compiler/show/export/ExportedPlan.h"
#include "compiler/show/export/Launchers.h"
#include "compiler/show/export/MegatronSettings.h"
#include "compiler/show/export/PythonFile.h"

namespace dtc::launch {
namespace {

constexpr llvm::StringRef kUse =
    R"(Megatron-Bridge: on each node, with a recipe of the model,

    torchrun --nnodes @NODES@ --nproc-per-node @DEVICES@ ... THIS_FILE.py MODULE:RECIPE

where MODULE:RECIPE is as megatron.bridge.recipes.llama:llama3_8b_pretrain_config. Or call apply_plan on a
ConfigContainer of your own. The model, the data, the learning rate and checkpoints are the recipe's.
)";

constexpr llvm::StringRef kImports = R"(import importlib
import sys

import torch
from megatron.bridge.training.comm_overlap import CommOverlapConfig
from megatron.bridge.training.mixed_precision import MixedPrecisionConfig


def apply_plan(config):
    """Sets what the plan decides, and returns the configuration."""
)";

constexpr llvm::StringRef kMain = R"(    return config


if __name__ == "__main__":
    from megatron.bridge.training.gpt_step import forward_step
    from megatron.bridge.training.pretrain import pretrain

    module, _, recipe = sys.argv[1].partition(":")
    pretrain(apply_plan(getattr(importlib.import_module(module), recipe)()), forward_step)
)";

void writeParallelism(const PlanView &view, const MegatronSettings &settings, PythonFile &file) {
  const Decisions &d = view.d;
  file.comment("parallelism");
  file.set("model.tensor_model_parallel_size", d.tp);
  file.setFlag("model.sequence_parallel", d.tp > 1 && d.sequenceParallel);
  file.set("model.pipeline_model_parallel_size", d.pp);
  if (settings.virtualStages > 1)
    file.set("model.virtual_pipeline_model_parallel_size", settings.virtualStages);
  else
    file.setNone("model.virtual_pipeline_model_parallel_size");
  if (settings.layout.empty())
    file.setNone("model.pipeline_model_parallel_layout");
  else
    file.set("model.pipeline_model_parallel_layout", settings.layout);
  // A recipe's own ways of saying what stages hold.
  file.setNone("model.num_layers_in_first_pipeline_stage");
  file.setNone("model.num_layers_in_last_pipeline_stage");
  file.setFlag("model.account_for_embedding_in_pipeline_split", false);
  file.setFlag("model.account_for_loss_in_pipeline_split", false);
  file.set("model.context_parallel_size", d.cp);
  if (!settings.contextCommType.empty())
    file.set("model.cp_comm_type", settings.contextCommType);
  if (!settings.contextSizes.empty())
    file.setCode("model.hierarchical_context_parallel_sizes",
                 "[" + std::to_string(settings.contextSizes[0]) + ", " +
                     std::to_string(settings.contextSizes[1]) + "]");
  else
    file.setNone("model.hierarchical_context_parallel_sizes");
  file.set("model.expert_model_parallel_size", d.ep);
  if (view.hasExperts) {
    file.set("model.expert_tensor_parallel_size", std::max<int64_t>(1, settings.expertTensorRanks));
    file.setFlag("model.moe_grouped_gemm", true);
  }
  if (!settings.dispatcher.empty())
    file.set("model.moe_token_dispatcher_type", settings.dispatcher);
  if (settings.expertCapacity > 0) {
    file.setCode("model.moe_expert_capacity_factor", decimalOf(settings.expertCapacity));
    file.setFlag("model.moe_pad_expert_input_to_capacity", true);
  }
  if (settings.dispatcher == "flex")
    file.set("model.moe_flex_dispatcher_backend", std::string("deepep"));
  file.setFlag("dist.use_tp_pp_dp_mapping", settings.pipelineBeforeData);
}

std::string commOverlap(const PlanView &view, const MegatronSettings &settings) {
  // The default of Megatron-Bridge is 128 Mi elements, that of Megatron-Core is this size.
  int64_t bucket = settings.bucketElements;
  if (bucket == 0)
    bucket = std::max<int64_t>(40'000'000, 1'000'000 * view.gradientRanks());
  return "CommOverlapConfig(tp_comm_overlap=" + pythonFlag(settings.overlapsTensor) +
         ", overlap_grad_reduce=" + pythonFlag(settings.overlapsReduce) +
         ", overlap_param_gather=" + pythonFlag(settings.overlapsGather) +
         ", bucket_size=" + std::to_string(bucket) + ")";
}

void writeReplicas(const PlanView &view, const MegatronSettings &settings, PythonFile &file) {
  file.comment("what data parallelism shards, and its collectives");
  bool isFsdp = !settings.fsdpStrategy.empty();
  for (llvm::StringRef section : {"ddp", "optimizer"})
    file.setFlag((section + ".use_distributed_optimizer").str(), settings.distributedOptimizer);
  file.setFlag("dist.use_megatron_fsdp", isFsdp);
  file.setFlag("ddp.use_megatron_fsdp", isFsdp);
  if (isFsdp) {
    file.set("ddp.data_parallel_sharding_strategy", settings.fsdpStrategy);
    file.set("checkpoint.ckpt_format", std::string("fsdp_dtensor"));
  }
  if (isFsdp && settings.bucketElements > 0)
    file.set("ddp.suggested_communication_unit_size", settings.bucketElements);
  file.set("ddp.num_distributed_optimizer_instances", settings.optimizerInstances);
  file.setFlag("ddp.overlap_grad_reduce", settings.overlapsReduce);
  for (llvm::StringRef section : {"ddp", "optimizer"})
    file.setFlag((section + ".overlap_param_gather").str(), settings.overlapsGather);
  file.setCode("comm_overlap", commOverlap(view, settings));
  file.comment("the optimizer");
  file.set("optimizer.optimizer", settings.optimizer);
  file.setFlag("optimizer.optimizer_cpu_offload", view.d.offloadOptimizer);
  if (view.d.offloadOptimizer) {
    file.setCode("optimizer.optimizer_offload_fraction", "1.0");
    file.setFlag("optimizer.use_precision_aware_optimizer", true);
  }
}

std::string precisionOf(const PlanView &view) {
  Precision precision = view.plan.precision;
  std::string type = "torch." + arrayTypeOf(precision).str();
  return "MixedPrecisionConfig(" + trainingModeOf(precision).str() + "=True, params_dtype=" + type +
         ", pipeline_dtype=" + type +
         (precision == Precision::FP8 ? ", fp8='hybrid', fp8_recipe='tensorwise'" : "") +
         ", grad_reduce_in_fp32=" + pythonFlag(view.reduced == Width::Full) + ")";
}

void writeRecompute(const MegatronSettings &settings, PythonFile &file) {
  file.comment("activations in the host's memory");
  file.setFlag("model.cpu_offloading", settings.offloadedLayers > 0);
  file.set("model.cpu_offloading_num_layers", settings.offloadedLayers);
  file.comment("recomputation");
  if (settings.granularity.empty())
    file.setNone("model.recompute_granularity");
  else
    file.set("model.recompute_granularity", settings.granularity);
  if (settings.granularity == "selective")
    file.setCode("model.recompute_modules", R"(["core_attn"])");
  if (settings.method.empty()) {
    file.setNone("model.recompute_method");
    file.setNone("model.recompute_num_layers");
    return;
  }
  file.set("model.recompute_method", settings.method);
  file.set("model.recompute_num_layers", settings.recomputedLayers);
}

std::string replaced(llvm::StringRef text, llvm::StringRef from, const std::string &to) {
  auto [before, after] = text.split(from);
  return (before + to + after).str();
}

} // namespace

Result<ExportedPlan> exportToMegatronBridge(const PlanView &view) {
  Result<MegatronSettings> settings =
      megatronSettings(view, megatronCapabilities("Megatron-Bridge", "megatron-bridge"));
  if (!settings)
    return settings.error();
  PythonFile file;
  file.comment("batches");
  file.set("train.micro_batch_size", view.d.microBatch);
  file.set("train.global_batch_size", view.plan.globalBatch);
  if (view.plan.sequenceLength > 0) {
    file.set("model.seq_length", view.plan.sequenceLength);
    file.set("dataset.seq_length", view.plan.sequenceLength);
  }
  writeParallelism(view, *settings, file);
  writeReplicas(view, *settings, file);
  file.comment("precision");
  file.setCode("mixed_precision", precisionOf(view));
  if (view.reduced == Width::Half && view.accumulated == Width::Full)
    file.setCode("ddp.param_name_patterns_for_fp32_local_accumulation", R"(("all",))");
  writeRecompute(*settings, file);

  ExportedPlan out;
  std::string use = replaced(kUse, "@NODES@", std::to_string(view.plan.nodes));
  use = replaced(use, "@DEVICES@", std::to_string(view.devicesPerNode()));
  out.text = pythonDocstring(view, use) + kImports.str() + file.body + kMain.str();
  out.notes = settings->notes;
  if (settings->needsOneConnection)
    out.notes.push_back("GPUs before Blackwell want CUDA_DEVICE_MAX_CONNECTIONS=1 in the "
                        "environment for tensor and context parallelism");
  return out;
}

} // namespace dtc::launch
