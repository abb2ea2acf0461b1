// Flags of Megatron-LM's pretrain_gpt.py, as a file that bash sources.
#include "compiler/export/Launchers.h"
#include "compiler/export/MegatronSettings.h"

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
  if (d.cp > 1)
    file.flag("cp-comm-type", contextCommType(d.contextKind));
  if (d.contextKind == ContextKind::Both)
    file.flag("hierarchical-context-parallel-sizes",
              llvm::ArrayRef<int64_t>{d.contextInner, d.cp / d.contextInner});
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
  const std::string &precision = view.plan.precision;
  if (precision == "f32")
    return;
  file.section("precision");
  bool isBrain = precision != "f16"; // 8 bits are beside bf16
  file.flag(isBrain ? "bf16" : "fp16");
  if (precision == "fp8") {
    file.flag("fp8-format", std::string("hybrid"));
    file.flag("fp8-recipe", std::string("tensorwise"));
  }
  // Under f16 gradients are reduced in f16 unless the flag says otherwise.
  if (view.reduced == Width::Full)
    file.flag("accumulate-allreduce-grads-in-fp32");
  else
    file.flagIf(isBrain, "grad-reduce-in-bf16");
  if (view.reduced == Width::Half && view.accumulated == Width::Full)
    file.flag("ddp-param-name-patterns-for-fp32-local-accumulation", std::string("all"));
}

void writeRecompute(const MegatronSettings &settings, FlagFile &file) {
  if (settings.layersOnHost > 0) {
    file.section("activations in the host's memory");
    file.flag("cpu-offloading-num-layers", settings.layersOnHost);
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
  file.section("the model and its batches");
  file.flag("num-layers", view.layers);
  if (view.plan.sequenceLength > 0)
    file.flag("seq-length", view.plan.sequenceLength);
  file.flag("micro-batch-size", view.d.microBatch);
  file.flag("global-batch-size", view.plan.globalBatch);
  writeParallelism(view, *settings, file);
  writeReplicas(view, *settings, file);
  writePrecision(view, file);
  writeRecompute(*settings, file);

  ExportedPlan out;
  for (const std::string &line : view.summary())
    out.text += "# " + line + "\n";
  out.text +=
      "# To use it: source this file, then on each node\n"
      "#   torchrun --nnodes \"$DTC_NODES\" --nproc-per-node \"$DTC_DEVICES_PER_NODE\" ... \\\n"
      "#     pretrain_gpt.py \"${DTC_PLAN[@]}\" ...\n"
      "# Yours to add: the flags of the model but --num-layers, of the data, the learning rate and "
      "checkpoints.\n";
  out.text += "DTC_NODES=" + std::to_string(view.plan.nodes) + "\n";
  out.text += "DTC_DEVICES_PER_NODE=" + std::to_string(view.devicesPerNode()) + "\n";
  if (settings->needsOneConnection)
    out.text += "# GPUs before Blackwell want it for tensor and context parallelism.\n"
                "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  out.text += "DTC_PLAN=(\n" + file.text + ")\n";
  out.notes = settings->notes;
  return out;
}

} // namespace dtc::launch
