// Flags of Megatron-LM's pretrain_gpt.py, as a file that bash sources.
#include "compiler/show/export/ExportedPlan.h"
#include "compiler/show/export/Launchers.h"
#include "compiler/show/export/MegatronSettings.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc::launch {
namespace {

// An array of flags with comments between them.
class FlagFile {
public:
  void section(llvm::StringRef title) { text += ("  # " + title + "\n").str(); }
  void flag(llvm::StringRef name) { text += ("  --" + name + "\n").str(); }
  void flag(llvm::StringRef name, int64_t value) { flag(name, std::to_string(value)); }
  // `value` may have characters that bash would read.
  void flag(llvm::StringRef name, const std::string &value) {
    bool isPlain =
        value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.-") == std::string::npos;
    text += ("  --" + name + " " + (isPlain ? value : "'" + value + "'") + "\n").str();
  }
  void flag(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    text += ("  --" + name).str();
    for (int64_t value : values)
      text += " " + std::to_string(value);
    text += "\n";
  }
  void flagIf(bool isSet, llvm::StringRef name) {
    if (isSet)
      flag(name);
  }

  std::string text;
};

// The model, as far as the plan says it, and what it leaves to the user.
void writeModel(const PlanView &view, const MegatronSettings &settings, FlagFile &file,
                std::vector<std::string> &notes) {
  const ModelArchitecture &model = view.plan.architecture;
  file.section("the model");
  file.flag("num-layers", view.layers);
  if (view.plan.sequenceLength > 0)
    file.flag("seq-length", view.plan.sequenceLength);
  if (settings.expertCapacity > 0) {
    file.flag("moe-expert-capacity-factor", decimalOf(settings.expertCapacity));
    file.flag("moe-pad-expert-input-to-capacity");
  }
  if (!model.isWhole) {
    notes.push_back("the plan does not say the model's sizes, or its layers differ: the flags of "
                    "the model but --num-layers are for you to add");
    return;
  }
  bool isRotary = model.rotaryBase > 0;
  file.flag("hidden-size", model.hidden);
  file.flag("ffn-hidden-size", model.inner);
  file.flag("num-attention-heads", model.heads);
  if (model.kvHeads != model.heads) {
    file.flag("group-query-attention");
    file.flag("num-query-groups", model.kvHeads);
  }
  file.flag("kv-channels", model.headDim);
  file.flag("vocab-size", model.vocabulary);
  file.flag("max-position-embeddings", std::max(view.plan.sequenceLength, model.learnedPositions));
  if (isRotary || model.learnedPositions > 0)
    file.flag("position-embedding-type", std::string(isRotary ? "rope" : "learned_absolute"));
  else
    notes.push_back("the plan does not say how the model tells positions apart: "
                    "--position-embedding-type is for you to add");
  if (isRotary)
    file.flag("rotary-base", static_cast<int64_t>(model.rotaryBase));
  if (model.rotaryFactor > 0) {
    file.flag("use-rope-scaling");
    file.flag("rope-scaling-factor", decimalOf(model.rotaryFactor));
  }
  file.flag("normalization", std::string(model.norm == "rms" ? "RMSNorm" : "LayerNorm"));
  file.flag("norm-epsilon", decimalOf(model.epsilon));
  file.flagIf(model.activation == "swiglu", "swiglu");
  file.flagIf(!model.tied, "untie-embeddings-and-output-weights");
  file.flagIf(!model.biases, "disable-bias-linear");
  file.flagIf(!model.biases && model.qkvBiases, "add-qkv-bias");
  file.flag("hidden-dropout", decimalOf(model.dropout));
  file.flag("attention-dropout", decimalOf(model.attentionDropout));
  if (model.window > 0)
    file.flag("window-size", std::to_string(model.window - 1) + ",0");
  if (model.experts > 0) {
    file.flag("num-experts", model.experts);
    file.flag("moe-ffn-hidden-size", model.inner);
    file.flag("moe-router-topk", model.expertsOfToken);
  }
  if (model.rotaryBase != static_cast<double>(static_cast<int64_t>(model.rotaryBase)))
    notes.push_back("the model's rotary base is " + decimalOf(model.rotaryBase) +
                    ", and --rotary-base takes whole numbers");
  if (model.rotaryFactor > 0)
    notes.push_back("--use-rope-scaling stretches rotary embedding as Llama 3.1 does, from 8192 "
                    "tokens on: see whether the model's is so");
  if (model.activation == "relu" || model.activation == "silu")
    notes.push_back("Megatron-LM has no flag for the activation " + model.activation +
                    " of the model");
}

void writeParallelism(const PlanView &view, const MegatronSettings &settings, FlagFile &file) {
  const Decisions &d = view.d;
  file.section("parallelism");
  file.flag("tensor-model-parallel-size", d.tp);
  file.flagIf(d.tp > 1 && d.sequenceParallel, "sequence-parallel");
  file.flagIf(settings.overlapsTensor, "tp-comm-overlap");
  file.flag("pipeline-model-parallel-size", d.pp);
  if (!settings.layout.empty())
    file.flag("pipeline-model-parallel-layout", settings.layout);
  else if (settings.virtualStages > 1)
    file.flag("num-virtual-stages-per-pipeline-rank", settings.virtualStages);
  file.flag("context-parallel-size", d.cp);
  if (!settings.contextCommType.empty())
    file.flag("cp-comm-type", settings.contextCommType);
  if (!settings.contextSizes.empty())
    file.flag("hierarchical-context-parallel-sizes",
              llvm::ArrayRef<int64_t>(settings.contextSizes));
  if (d.ep > 1)
    file.flag("expert-model-parallel-size", d.ep);
  if (settings.expertTensorRanks > 0)
    file.flag("expert-tensor-parallel-size", settings.expertTensorRanks);
  if (!settings.dispatcher.empty())
    file.flag("moe-token-dispatcher-type", settings.dispatcher);
  if (settings.dispatcher == "flex")
    file.flag("moe-flex-dispatcher-backend", std::string("deepep"));
  file.flagIf(view.hasExperts, "moe-grouped-gemm");
  file.flagIf(settings.pipelineBeforeData, "use-tp-pp-dp-mapping");
}

void writeReplicas(const PlanView &view, const MegatronSettings &settings, FlagFile &file) {
  file.section("what data parallelism shards, and its collectives");
  file.flagIf(settings.distributedOptimizer, "use-distributed-optimizer");
  if (!settings.fsdpStrategy.empty()) {
    file.flag("use-megatron-fsdp");
    file.flag("data-parallel-sharding-strategy", settings.fsdpStrategy);
    file.flag("ckpt-format", std::string("fsdp_dtensor"));
  }
  if (settings.optimizerInstances > 1)
    file.flag("num-distributed-optimizer-instances", settings.optimizerInstances);
  file.flagIf(settings.overlapsReduce, "overlap-grad-reduce");
  file.flagIf(settings.overlapsGather, "overlap-param-gather");
  if (settings.bucketElements > 0)
    file.flag(settings.fsdpStrategy.empty() ? "ddp-bucket-size"
                                            : "suggested-communication-unit-size",
              settings.bucketElements);
  file.section("the optimizer");
  file.flag("optimizer", settings.optimizer);
  if (view.d.offloadOptimizer) {
    file.flag("optimizer-cpu-offload");
    file.flag("optimizer-offload-fraction", std::string("1.0"));
    file.flag("use-precision-aware-optimizer");
  }
}

void writePrecision(const PlanView &view, FlagFile &file) {
  Precision precision = view.plan.precision;
  if (precision == Precision::F32)
    return;
  file.section("precision");
  file.flag(trainingModeOf(precision).str());
  if (precision == Precision::FP8) {
    file.flag("fp8-format", std::string("hybrid"));
    file.flag("fp8-recipe", std::string("tensorwise"));
  }
  // Under f16 gradients are reduced in f16 unless the flag says otherwise.
  if (view.reduced == Width::Full)
    file.flag("accumulate-allreduce-grads-in-fp32");
  else
    file.flagIf(storedAs(precision) == Precision::BF16, "grad-reduce-in-bf16");
  if (view.reduced == Width::Half && view.accumulated == Width::Full)
    file.flag("ddp-param-name-patterns-for-fp32-local-accumulation", std::string("all"));
}

void writeRecompute(const MegatronSettings &settings, FlagFile &file) {
  if (settings.offloadedLayers > 0) {
    file.section("activations in the host's memory");
    file.flag("cpu-offloading-num-layers", settings.offloadedLayers);
  }
  if (settings.granularity.empty())
    return;
  file.section("recomputation");
  file.flag("recompute-granularity", settings.granularity);
  if (settings.granularity == "selective") {
    file.flag("recompute-modules", std::string("core_attn"));
    return;
  }
  file.flag("recompute-method", settings.method);
  file.flag("recompute-num-layers", settings.recomputedLayers);
}

} // namespace

Result<ExportedPlan> exportToMegatronLm(const PlanView &view) {
  Result<MegatronSettings> settings =
      megatronSettings(view, megatronCapabilities("Megatron-LM", "megatron-core"));
  if (!settings)
    return settings.error();
  FlagFile file;
  ExportedPlan out;
  writeModel(view, *settings, file, out.notes);
  file.section("batches");
  file.flag("micro-batch-size", view.d.microBatch);
  file.flag("global-batch-size", view.plan.globalBatch);
  writeParallelism(view, *settings, file);
  writeReplicas(view, *settings, file);
  writePrecision(view, file);
  writeRecompute(*settings, file);

  for (const std::string &line : view.summary())
    out.text += "# " + line + "\n";
  out.text +=
      "# To use it: source this file, then on each node\n"
      "#   torchrun --nnodes \"$DTC_NODES\" --nproc-per-node \"$DTC_DEVICES_PER_NODE\" ... \\\n"
      "#     pretrain_gpt.py \"${DTC_PLAN[@]}\" ...\n"
      "# Yours to add: the flags of the tokenizer and the data, the learning rate and checkpoints" +
      std::string(view.plan.architecture.isWhole ? "" : ", and of the model but --num-layers") +
      ".\n";
  out.text += "DTC_NODES=" + std::to_string(view.plan.nodes) + "\n";
  out.text += "DTC_DEVICES_PER_NODE=" + std::to_string(view.devicesPerNode()) + "\n";
  if (settings->needsOneConnection)
    out.text += "# GPUs before Blackwell want it for tensor and context parallelism.\n"
                "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  out.text += "DTC_PLAN=(\n" + file.text + ")\n";
  llvm::append_range(out.notes, settings->notes);
  return out;
}

} // namespace dtc::launch
