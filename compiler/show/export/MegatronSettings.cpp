#include "compiler/show/export/MegatronSettings.h"

#include "compiler/decide/decisions/Words.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace dtc::launch {
namespace {

constexpr AxisOrder kPipelineBeforeData{'t', 'c', 'p', 'd'};

// "t*4"; nothing for a stage without layers.
std::string layersText(int64_t count) {
  return count > 1 ? "t*" + std::to_string(count) : count == 1 ? "t" : "";
}

std::string layoutOf(const PlanView &view) {
  std::string text;
  for (auto [index, chunk] : llvm::enumerate(view.chunks)) {
    std::string layers = layersText(chunk.layers());
    llvm::SmallVector<llvm::StringRef, 3> parts;
    if (index == 0)
      parts.push_back("E");
    if (!layers.empty())
      parts.push_back(layers);
    if (index + 1 == view.chunks.size())
      parts.push_back("L");
    text += (index == 0 ? "" : "|") + llvm::join(parts, ",");
  }
  return text;
}

// The layers that each chunk recomputes, where one number says it: a chunk of fewer layers
// recomputes all of its own.
std::optional<int64_t> blockSize(const PlanView &view) {
  int64_t most = 0;
  for (const Chunk &chunk : view.chunks)
    most = std::max(most, chunk.full);
  for (const Chunk &chunk : view.chunks)
    if (chunk.full != std::min(most, chunk.layers()))
      return std::nullopt;
  return most;
}

void setRecompute(const PlanView &view, Misfits &misfits, MegatronSettings &out) {
  int64_t selective = 0, full = 0;
  for (const Chunk &chunk : view.chunks) {
    selective += chunk.selective;
    full += chunk.full;
  }
  if (selective + full == 0)
    return;
  if (selective > 0 && selective < view.layers)
    return misfits.add("selective recomputation of all layers or of none",
                       std::to_string(selective) + " of " + std::to_string(view.layers) +
                           " layers with it",
                       "recompute=selective");
  if (selective > 0) {
    out.granularity = "selective";
    return;
  }
  out.granularity = "full";
  if (full == view.layers) {
    out.method = "uniform";
    out.recomputedLayers = 1;
    return;
  }
  std::optional<int64_t> size = blockSize(view);
  if (!size)
    return misfits.add(
        "full recomputation of as many layers on each stage, and in each chunk, as on the others",
        "stages that differ in it", "recompute=full");
  out.method = "block";
  out.recomputedLayers = *size;
}

// transformer_config.py: "CPU offloading can be done only for layers less than" all, "no support
// for Pipeline parallelism with CPU offloading", "CPU offloading does not work when activation
// recomputation is enabled".
void setOffloadedLayers(const PlanView &view, Misfits &misfits, MegatronSettings &out) {
  if (!view.d.offloadsLayers())
    return;
  std::string found = offloadText(view.d);
  if (view.d.offloadsAllLayers())
    misfits.add("activations of all layers but one on the host at most", found,
                "offload_activations=0");
  if (view.d.pp > 1)
    misfits.add("no activations on the host of pipelines",
                found + " and pp " + std::to_string(view.d.pp), "pp=1");
  if (!out.granularity.empty())
    misfits.add("activations on the host of layers that recompute nothing",
                found + " and recomputation", "recompute=none");
  out.offloadedLayers = view.plan.stages.front().offloadedLayers;
}

std::string contextCommType(ContextKind kind) {
  switch (kind) {
  case ContextKind::Ring:
    return "p2p";
  case ContextKind::AllToAll:
    return "a2a";
  case ContextKind::Both:
    return "a2a+p2p";
  case ContextKind::AllGather:
    return "all_gather";
  }
  llvm_unreachable("all kinds have words");
}

void setContext(const PlanView &view, Misfits &misfits, MegatronSettings &out) {
  const Decisions &d = view.d;
  if (d.cp > 1)
    out.contextCommType = contextCommType(d.contextKind);
  if (d.headRanks() > 1 && d.ringRanks() > 1)
    out.contextSizes = {d.headRanks(), d.ringRanks()};
}

void setZero(const PlanView &view, Misfits &misfits, MegatronSettings &out) {
  const Decisions &d = view.d;
  bool isShared = view.gradientRanks() > 1;
  out.distributedOptimizer = d.zero > 0;
  out.optimizerInstances = d.zero > 0 ? view.replicas() : 1;
  if (d.zero >= 2)
    out.fsdpStrategy = d.zero == 2 ? "optim_grads" : "optim_grads_params";
  if (d.zero >= 2 && isShared && !d.overlapGradients)
    misfits.add("Megatron-FSDP, which reduces gradients beside the backward pass,", "overlap 0",
                "overlap=1");
  if (d.offloadOptimizer && (d.zero == 0 || view.plan.optimizer != OptimizerKind::AdamW))
    misfits.add("the optimizer on the host with ZeRO-1 and adamw",
                "ZeRO " + std::to_string(d.zero) + " with " + nameOf(view.plan.optimizer).str(),
                "zero=1");
  out.overlapsReduce = isShared && d.overlapGradients;
  out.overlapsGather = out.overlapsReduce && d.zero > 0;
  if (out.overlapsReduce)
    out.bucketElements = view.bucketElements();
}

void setExperts(const PlanView &view, Misfits &misfits, MegatronSettings &out) {
  const Decisions &d = view.d;
  if (view.hasExperts && d.tp > 1 && !d.sequenceParallel)
    misfits.add("experts under tensor parallelism with sequence parallelism", "sp 0", "sp=1");
  if (view.hasExperts && d.tp > 1)
    out.expertTensorRanks = d.tensorRanksOfExpert();
  if (d.ep > 1)
    out.dispatcher = view.software.sendsTokensOnce ? "flex" : "alltoall";
  if (!view.hasCapacity())
    return;
  // token_dispatcher.py: its manager of DeepEP pads no expert's rows to a capacity.
  if (out.dispatcher == "flex")
    misfits.say("DeepEP pads no experts to a capacity, and the plan has one of " +
                    decimalOf(view.plan.architecture.capacity) + " times their share with it",
                "'--stack megatron-core'");
  out.expertCapacity = view.plan.architecture.capacity;
}

void setOrder(const PlanView &view, const Capabilities &launcher, MegatronSettings &out) {
  // Megatron-FSDP has the first order alone.
  // And the other one wants as many copies of experts as of everything else (parallel_state.py).
  const Decisions &d = view.d;
  bool haveEqualRanks = !view.hasExperts || d.ranksOfExperts() / d.ep == d.dp;
  out.pipelineBeforeData = !view.liesAs(kMegatronOrder) && view.liesAs(kPipelineBeforeData) &&
                           d.zero < 2 && haveEqualRanks;
  noteRanks(view, launcher.name, out.pipelineBeforeData ? kPipelineBeforeData : kMegatronOrder,
            out.notes);
}

// Returns what Megatron-Core calls an optimizer; its "adam" decays weights as AdamW.
llvm::StringRef optimizerName(OptimizerKind optimizer) {
  switch (optimizer) {
  case OptimizerKind::AdamW:
    return "adam";
  case OptimizerKind::Sgd:
    return "sgd";
  case OptimizerKind::Lamb:
  case OptimizerKind::Lars:
  case OptimizerKind::Muon:
    break;
  }
  llvm_unreachable("no optimizer of the launchers");
}

} // namespace

Capabilities megatronCapabilities(llvm::StringRef name, llvm::StringRef stack) {
  static constexpr ScheduleKind schedules[] = {ScheduleKind::OneForwardOneBackward,
                                               ScheduleKind::Interleaved};
  static constexpr int64_t zero[] = {0, 1, 2, 3}, zeroOfPipelines[] = {0, 1};
  static constexpr Precision precisions[] = {Precision::BF16, Precision::F16, Precision::F32,
                                             Precision::FP8};
  static constexpr OptimizerKind optimizers[] = {OptimizerKind::AdamW, OptimizerKind::Sgd};
  static constexpr ContextKind contexts[] = {ContextKind::Ring, ContextKind::AllToAll,
                                             ContextKind::Both, ContextKind::AllGather};
  Capabilities can;
  can.contexts = contexts;
  can.name = name;
  can.stack = stack;
  can.schedules = schedules;
  can.unevenStages = can.roundsOfStages = true;
  can.zero = zero;
  can.zeroOfPipelines = zeroOfPipelines;
  can.zeroGroups = can.expertParallel = can.splitExperts = true;
  can.wholeExperts = can.sequenceParallel = can.splitsKvGroups = true;
  can.precisions = precisions;
  can.optimizers = optimizers;
  can.halfReductions = can.offload = can.offloadActivations = true;
  can.expertCapacity = true;
  can.selective = Selective::Attention;
  return can;
}

Result<MegatronSettings> megatronSettings(const PlanView &view, const Capabilities &launcher) {
  const Decisions &d = view.d;
  MegatronSettings out;
  Misfits misfits(view, launcher);
  addCommonMisfits(view, launcher, misfits);
  if (d.pp > 1) {
    out.virtualStages = d.virtualStages;
    if (!view.hasEvenChunks())
      out.layout = layoutOf(view);
  }
  for (auto set : {setRecompute, setOffloadedLayers, setContext, setZero, setExperts})
    set(view, misfits, out);
  if (!misfits.empty())
    return misfits.error();
  setOrder(view, launcher, out);
  if (view.hasExperts && d.tp > 1 && d.sequenceParallel && !view.software.searchesPlacements)
    out.notes.push_back(
        "the plan's seconds count one all-gather over tp more each way in layers of "
        "experts than Megatron-Core has");
  out.overlapsTensor = view.hidesTensor();
  if (view.mayHideTensor() && !view.hidesTensor())
    out.notes.push_back(
        "ranks of tp are on several nodes: where these share NVLink, the plan counts "
        "on tp_comm_overlap, which is for you to add");
  out.optimizer = optimizerName(view.plan.optimizer).str();
  out.needsOneConnection = out.fsdpStrategy.empty() && (d.tp > 1 || d.cp > 1);
  return out;
}

} // namespace dtc::launch
