// A Python module with a configuration of torchtitan, as its --module and --config take them.
#include "compiler/show/export/Capabilities.h"
#include "compiler/show/export/ExportedPlan.h"
#include "compiler/show/export/Launchers.h"
#include "compiler/show/export/PythonFile.h"

namespace dtc::launch {
namespace {

constexpr llvm::StringRef kUse =
    R"(torchtitan: `plan` is the configuration that DTC_BASE names, under this plan:

    export DTC_BASE=torchtitan.models.llama3.config_registry:llama3_8b
    torchrun ... -m torchtitan.train --module THIS_FILE --config plan

where THIS_FILE is this file's name without .py, in a folder of PYTHONPATH. The model, the data, the learning
rate and checkpoints are DTC_BASE's.
)";

constexpr llvm::StringRef kPlan = R"(    return config


def plan():
    module, _, name = os.environ["DTC_BASE"].partition(":")
    return apply_plan(getattr(importlib.import_module(module), name)())
)";

Capabilities capabilities() {
  static constexpr ScheduleKind schedules[] = {ScheduleKind::OneForwardOneBackward,
                                               ScheduleKind::GPipe, ScheduleKind::Interleaved,
                                               ScheduleKind::ZeroBubbleV};
  // FSDP2 gathers and reduces for each micro-batch. Under a pipeline torch keeps what was gathered
  // and adds gradients up whole until the last micro-batch
  // (PipelineStage.backward_maybe_with_nosync).
  static constexpr int64_t zero[] = {0, 2, 3}, zeroOfPipelines[] = {0, 1};
  static constexpr Precision precisions[] = {Precision::BF16, Precision::F32, Precision::FP8};
  static constexpr OptimizerKind optimizers[] = {OptimizerKind::AdamW};
  static constexpr ContextKind contexts[] = {ContextKind::AllGather};
  Capabilities can;
  can.contexts = contexts;
  can.name = "torchtitan";
  can.stack = "torchtitan";
  can.schedules = schedules;
  can.unevenStages = can.roundsOfStages = true;
  can.zero = zero;
  can.zeroOfPipelines = zeroOfPipelines;
  can.zeroGroups = can.expertParallel = can.sequenceParallel = true;
  can.wholeExperts = true; // ep divides dp_shard x cp x tp (parallel_dims.py)
  can.precisions = precisions;
  can.optimizers = optimizers;
  can.selective = Selective::Share;
  return can;
}

// Reports decisions that torchtitan's mesh does not support.
void checkMesh(const PlanView &view, Misfits &out) {
  const Decisions &d = view.d;
  if (d.zero == 0 && d.cp > 1)
    out.add("parameters split over the ranks of cp",
            "whole ones, with ZeRO 0 and cp " + std::to_string(d.cp),
            d.pp > 1 ? "zero=1" : "zero=3");
  int64_t expertRanks = d.ranksOfExperts(view.shards());
  if (expertRanks % d.ep != 0)
    out.add("experts within the ranks that share parameters",
            "ep " + std::to_string(d.ep) + " over " + std::to_string(expertRanks) + " of them",
            d.pp > 1 ? "zero=1" : "zero=3");
  if (view.gradientRanks() > 1 && !d.overlapGradients)
    out.add("gradients reduced beside the backward pass", "overlap 0", "overlap=1");
  if (!view.recomputesEvenly())
    out.add("one way of recomputing for all layers", "layers that differ in it", "recompute=full");
}

// Returns whether batches are counted in tokens, as they are after release 0.3.0.
bool countsTokens(const PlanView &view) { return view.release.version != kTorchTitanRelease; }

llvm::StringRef scheduleName(ScheduleKind kind) {
  switch (kind) {
  case ScheduleKind::GPipe:
    return "GPipe";
  case ScheduleKind::Interleaved:
    return "Interleaved1F1B";
  case ScheduleKind::ZeroBubbleV:
    return "ZBVZeroBubble";
  default:
    return "1F1B";
  }
}

// Modules of each chunk, in the order of the model.
std::string modulesOf(const PlanView &view) {
  std::string text = "[\n";
  for (const Chunk &chunk : view.chunks) {
    std::string names;
    auto add = [&](const std::string &name) {
      names += (names.empty() ? "" : ", ") + pythonString(name);
    };
    if (&chunk == &view.chunks.front())
      add("tok_embeddings");
    for (int64_t layer = chunk.first; layer <= chunk.last; ++layer)
      add("layers." + std::to_string(layer));
    if (&chunk == &view.chunks.back()) {
      add("norm");
      add("lm_head");
    }
    text += "        [" + names + "],\n";
  }
  return text + "    ]";
}

void writePipeline(const PlanView &view, PythonFile &file) {
  const Decisions &d = view.d;
  file.set("parallelism.pipeline_parallel_degree", d.pp);
  if (d.pp == 1)
    return;
  bool isInterleaved = d.schedule == ScheduleKind::Interleaved && d.virtualStages == 1;
  file.set("parallelism.pipeline_parallel_schedule",
           (isInterleaved ? llvm::StringRef("1F1B") : scheduleName(d.schedule)).str());
  if (countsTokens(view))
    file.set("parallelism.num_pp_microbatches", d.numMicroBatches);
  else
    file.set("parallelism.pipeline_parallel_microbatch_size", d.microBatch);
  file.setCode("parallelism.module_fqns_per_model_part", modulesOf(view));
}

void writeParallelism(const PlanView &view, PythonFile &file) {
  const Decisions &d = view.d;
  file.comment("parallelism");
  file.set("parallelism.data_parallel_replicate_degree", view.replicas());
  file.set("parallelism.data_parallel_shard_degree", view.shards());
  file.set("parallelism.fsdp_reshard_after_forward", std::string(d.zero == 3 ? "always" : "never"));
  file.set("parallelism.tensor_parallel_degree", d.tp);
  file.setFlag("parallelism.enable_sequence_parallel", d.sequenceParallel);
  file.set("parallelism.context_parallel_degree", d.cp);
  file.set("parallelism.expert_parallel_degree", d.ep);
  writePipeline(view, file);
}

void writeTraining(const PlanView &view, PythonFile &file) {
  const Plan &plan = view.plan;
  if (countsTokens(view)) {
    file.comment("batches, counted in tokens");
    file.set("training.max_context_length", plan.sequenceLength);
    file.set("training.num_tokens_per_microbatch_per_dp_rank",
             view.d.microBatch * plan.sequenceLength);
    file.set("training.num_tokens_per_train_step", plan.globalBatch * plan.sequenceLength);
  } else {
    // A pipeline cuts a rank's batch into micro-batches; without one the rest is accumulated.
    file.comment("batches, counted in samples");
    file.set("training.seq_len", plan.sequenceLength);
    file.set("training.local_batch_size",
             view.d.microBatch * (view.d.pp > 1 ? view.d.numMicroBatches : 1));
    file.set("training.global_batch_size", plan.globalBatch);
  }
  file.comment("precision");
  file.set("training.dtype", std::string("float32"));
  file.set("training.mixed_precision_param", arrayTypeOf(plan.precision).str());
  file.set("training.mixed_precision_reduce", std::string("float32"));
  file.setFlag("training.enable_cpu_offload", false);
  // torchtitan refuses CUDA graphs with either.
  if (view.d.pp > 1 || view.d.ep > 1)
    file.setFlag("training.disable_cuda_graphs", true);
}

// Configurations of linear layers, and of experts, become those of layers in 8 bits.
void writeEightBits(const PlanView &view, PythonFile &file, std::string &import) {
  std::string compiled = "model_compile_enabled=" + pythonFlag(view.software.joinsPointwise);
  std::string names = "Float8LinearConverter";
  file.comment("8 bits; the output layer stays in 16");
  file.setCode("model_spec.model", "Float8LinearConverter.Config(filter_fqns=[\"lm_head\"], " +
                                       compiled + ").build().convert(config.model_spec.model)");
  if (view.hasExperts) {
    names = "Float8GroupedExpertsConverter, " + names;
    file.setCode("model_spec.model", "Float8GroupedExpertsConverter.Config(" + compiled +
                                         ").build().convert(config.model_spec.model)");
  }
  import += "\nfrom torchtitan.components.quantization import " + names + "\n";
}

// Policies that recomputation of the plan needs, besides none.
void writeRecompute(const PlanView &view, PythonFile &file, std::string &import) {
  file.comment("recomputation");
  if (view.d.recompute == Recompute::None)
    return file.setNone("activation_checkpoint");
  std::string policy = view.d.recompute == Recompute::Full ? "FullAC" : "SelectiveAC";
  import += "\nfrom torchtitan.distributed.activation_checkpoint import " + policy + "\n";
  file.setCode("activation_checkpoint", policy + ".Config()");
}

} // namespace

Result<ExportedPlan> exportToTorchTitan(const PlanView &view) {
  Capabilities can = capabilities();
  if (view.plan.sequenceLength == 0)
    return UserError("torchtitan trains on sequences, and the plan's model has none");
  Misfits misfits(view, can);
  addCommonMisfits(view, can, misfits);
  checkMesh(view, misfits);
  if (!misfits.empty())
    return misfits.error();
  PythonFile file;
  std::string import;
  writeTraining(view, file);
  writeParallelism(view, file);
  if (view.plan.precision == Precision::FP8)
    writeEightBits(view, file, import);
  writeRecompute(view, file, import);
  file.comment("chains of elementwise ops are one kernel where the plan has them so");
  file.setFlag("compile.enable", view.software.joinsPointwise);
  file.setFlag("compile.enable_async_tensor_parallel",
               view.hidesTensor() && view.software.joinsPointwise);

  ExportedPlan out;
  out.text = pythonDocstring(view, kUse) + "import importlib\nimport os\n" + import +
             "\n\ndef apply_plan(config):\n"
             "    \"\"\"Sets what the plan decides, and returns the configuration.\"\"\"\n" +
             file.body + kPlan.str();
  noteRanks(view, can.name, kMegatronOrder, out.notes);
  if (view.d.zero == 2 && view.d.numMicroBatches > 1)
    out.notes.push_back("torchtitan gathers parameters for each of the " +
                        std::to_string(view.d.numMicroBatches) +
                        " micro-batches under fsdp_reshard_after_forward \"never\", and the plan "
                        "counts one gather a step");
  if (view.mayHideTensor() && !view.hidesTensor())
    out.notes.push_back(
        "ranks of tp are on several nodes: where these share NVLink, the plan counts "
        "on enable_async_tensor_parallel, which is for you to set");
  if (view.d.pp == 1 && view.replicas() > 1 && view.d.zero > 0 && view.d.numMicroBatches > 1)
    out.notes.push_back("FSDP2 adds gradients up between groups for each of the " +
                        std::to_string(view.d.numMicroBatches) +
                        " micro-batches, and the plan counts that once a step");
  if (view.d.bucketBytes > 0)
    out.notes.push_back("torchtitan reduces gradients layer by layer, and the plan in buckets of " +
                        std::to_string(view.d.bucketBytes) + " bytes");
  out.notes.push_back("the optimizer is that of DTC_BASE, and the plan counts on AdamW; launch " +
                      std::to_string(view.plan.nodes) + " x " +
                      std::to_string(view.devicesPerNode()) + " processes");
  return out;
}

} // namespace dtc::launch
