// DeepSpeed's JSON configuration. Pipelines, recomputation and attention are the model code's
// there: notes say what it has to be given.
#include "compiler/show/export/Capabilities.h"
#include "compiler/show/export/ExportedPlan.h"
#include "compiler/show/export/Launchers.h"

#include <nlohmann/json.hpp>

namespace dtc::launch {
namespace {

using Json = nlohmann::ordered_json;

// ZeRO-3 within groups (MiCS), which releases no longer have.
bool hasGroups(const PlanView &view) { return view.release.version != kDeepSpeedRelease; }

Capabilities capabilities(const PlanView &view) {
  static constexpr ScheduleKind schedules[] = {ScheduleKind::OneForwardOneBackward};
  static constexpr int64_t zero[] = {0, 1, 2, 3}, zeroOfPipelines[] = {0, 1};
  static constexpr Precision precisions[] = {Precision::BF16, Precision::F16, Precision::F32};
  static constexpr OptimizerKind optimizers[] = {OptimizerKind::AdamW, OptimizerKind::Lamb,
                                                 OptimizerKind::Sgd};
  static constexpr ContextKind contexts[] = {ContextKind::AllToAll}; // Ulysses
  Capabilities can;
  can.contexts = contexts;
  can.name = "DeepSpeed";
  can.stack = "deepspeed";
  can.schedules = schedules;
  can.zero = zero;
  can.zeroOfPipelines = zeroOfPipelines;
  can.zeroGroups = hasGroups(view); // only with stage 3: checkZero
  can.expertParallel = true;
  can.precisions = precisions;
  can.optimizers = optimizers;
  can.halfReductions = can.offload = true;
  can.selective = Selective::InModel;
  can.freezesParameters = true;
  return can;
}

void checkZero(const PlanView &view, Misfits &out) {
  const Decisions &d = view.d;
  if (hasGroups(view) && d.zero > 0 && d.zero < 3 && view.replicas() > 1)
    out.add("groups of ZeRO-3 alone (MiCS)",
            "groups of " + std::to_string(view.shards()) + " ranks of ZeRO " +
                std::to_string(d.zero),
            "zero_group=" + std::to_string(d.dp));
  if (d.offloadOptimizer && d.zero == 0)
    out.add("the optimizer on the host with ZeRO-1 to 3", "ZeRO 0", "zero=1");
  if (view.plan.optimizer == OptimizerKind::Lamb && d.zero > 0)
    out.add("lamb without ZeRO", "ZeRO " + std::to_string(d.zero), "zero=0");
  // engine.py: "unsupported mix of model_dtype and grad_accum_dtype".
  if (view.plan.precision != Precision::F32 && d.zero == 0 && view.accumulated == Width::Full)
    out.add("gradients of 32 bits beside a model of 16 with ZeRO-1 to 3", "ZeRO 0", "zero=1");
}

// Returns true if gradients can be reduced during the backward pass. Pipelines reduce them after
// it, and so does BF16_Optimizer, which DeepSpeed uses for ZeRO-1 in bf16 with gradients of 32
// bits.
bool mayOverlap(const PlanView &view) {
  bool isBf16Optimizer = view.d.zero == 1 && view.plan.precision == Precision::BF16 &&
                         view.accumulated == Width::Full && !view.d.offloadOptimizer;
  return view.d.zero > 0 && view.d.pp == 1 && !isBf16Optimizer;
}

void checkSplits(const PlanView &view, Misfits &out) {
  const Decisions &d = view.d;
  std::string ep = "ep " + std::to_string(d.ep), cp = "cp " + std::to_string(d.cp),
              others = " with tp " + std::to_string(d.tp) + " and pp " + std::to_string(d.pp);
  if (view.gradientRanks() > 1 && d.overlapGradients && !mayOverlap(view))
    out.add("gradients reduced behind the backward pass of pipelines, of ZeRO-0 and of "
            "ZeRO-1 in bf16 with gradients of 32 bits",
            "them beside it", d.pp > 1 ? "overlap=0" : "zero=2");
  if (d.tp > 1 && d.zero == 3)
    out.add("tensor parallelism with ZeRO-0 to 2", "ZeRO 3 with tp " + std::to_string(d.tp),
            "zero=2");
  // deepspeed.initialize takes one mpu, and that of Ulysses knows dp and sp.
  if (d.cp > 1 && d.devices() > d.dp * d.cp)
    out.add("context parallelism without tp and pp", cp + others, "tp=1,pp=1");
  if (d.cp > 1 && d.ep > 1)
    out.add("context parallelism without expert parallelism", cp + " with " + ep, "ep=1");
  if (d.ep > 1 && (d.tp > 1 || d.pp > 1))
    out.add("expert parallelism without tp and pp", ep + others, "tp=1,pp=1");
}

std::string widthName(const PlanView &view, Width width) {
  Precision precision = width == Width::Full ? Precision::F32 : view.plan.precision;
  return trainingModeOf(precision).str();
}

Json zeroOf(const PlanView &view) {
  const Decisions &d = view.d;
  Json zero{{"stage", d.zero}};
  if (d.zero == 0)
    return zero;
  bool overlaps = view.gradientRanks() > 1 && d.overlapGradients;
  zero["overlap_comm"] = overlaps;
  zero["contiguous_gradients"] = true;
  if (overlaps && view.bucketElements() > 0) {
    zero["reduce_bucket_size"] = view.bucketElements();
    if (d.zero < 3)
      zero["allgather_bucket_size"] = view.bucketElements();
  }
  if (d.zero == 3 && view.replicas() > 1)
    zero["mics_shard_size"] = view.shards() * d.cp; // counts all ranks with the same parameters
  if (d.offloadOptimizer)
    zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  return zero;
}

void addPrecision(const PlanView &view, Json &config) {
  Precision precision = view.plan.precision;
  if (precision == Precision::F32)
    return;
  config[trainingModeOf(precision).str()] = {{"enabled", true}};
  config["data_types"] = {{"grad_accum_dtype", widthName(view, view.accumulated)}};
  config["communication_data_type"] = widthName(view, view.reduced);
}

llvm::StringRef optimizerName(OptimizerKind optimizer) {
  switch (optimizer) {
  case OptimizerKind::AdamW:
    return "AdamW";
  case OptimizerKind::Sgd:
    return "SGD";
  case OptimizerKind::Lamb:
    return "Lamb";
  case OptimizerKind::Lars:
  case OptimizerKind::Muon:
    break;
  }
  llvm_unreachable("no optimizer of the launcher");
}

void addOptimizer(const PlanView &view, Json &config) {
  OptimizerKind optimizer = view.plan.optimizer;
  config["optimizer"] = {{"type", optimizerName(optimizer)}, {"params", Json::object()}};
  if (optimizer == OptimizerKind::Sgd && view.d.zero > 0)
    config["zero_allow_untested_optimizer"] = true;
}

// Lists the recomputed layers of each stage, for a model whose layers recompute differently.
std::string recomputedLayers(const PlanView &view) {
  std::string text;
  for (const Chunk &chunk : view.chunks)
    text += (text.empty() ? "" : ", ") + std::string("stage ") + std::to_string(chunk.stage) +
            ": " + std::to_string(chunk.full) + " in full and " + std::to_string(chunk.selective) +
            " selectively of " + std::to_string(chunk.layers());
  return text;
}

void addNotes(const PlanView &view, ExportedPlan &out) {
  const Decisions &d = view.d;
  out.notes.push_back("launch " + std::to_string(view.plan.nodes) + " nodes with " +
                      std::to_string(view.devicesPerNode()) +
                      " devices each (deepspeed --num_nodes " + std::to_string(view.plan.nodes) +
                      " --num_gpus " + std::to_string(view.devicesPerNode()) +
                      "), and give sequences of " + std::to_string(view.plan.sequenceLength) +
                      " tokens; learning rate and betas go into optimizer.params");
  if (d.pp > 1)
    out.notes.push_back("the model code makes the pipeline: PipelineModule(layers, "
                        "topology=PipeModelDataParallelTopology("
                        "num_pp=" +
                        std::to_string(d.pp) + ", num_mp=" + std::to_string(d.tp) +
                        ", num_dp=" + std::to_string(d.dp) +
                        "), partition_method=\"type:<the layer's class>\"), " +
                        std::to_string(view.chunks.front().layers()) + " layers a stage");
  if (d.pp > 1 && d.tp > 1)
    out.notes.push_back("the model code splits layers over the " + std::to_string(d.tp) +
                        " ranks of tp under a pipeline; tensor_parallel is of models without one");
  if (d.cp > 1)
    out.notes.push_back(
        "the model code swaps parts of sequences for heads: UlyssesSPAttentionHF."
        "register_with_transformers(sequence_parallel_size=" +
        std::to_string(d.cp) +
        ", ...) before the model is built gives the mpu of deepspeed.initialize, and "
        "UlyssesSPDataLoaderAdapter the batches");
  if (!view.recomputesEvenly())
    out.notes.push_back(
        "the model code recomputes layers with deepspeed.checkpointing.checkpoint: " +
        recomputedLayers(view));
  else if (d.recompute != Recompute::None)
    out.notes.push_back(
        d.recompute == Recompute::Full
            ? "the model code recomputes every layer (deepspeed.checkpointing.checkpoint, "
              "activation_checkpoint_interval=1 of a PipelineModule, or transformers' "
              "gradient_checkpointing_enable)"
            : "the model code recomputes selectively in every layer, as the stack '" +
                  view.software.name + "' has it");
  if (d.zero == 3 && view.replicas() > 1)
    out.notes.push_back("the model code builds the model within deepspeed.zero.MiCS_Init");
  if (view.plan.frozenParameters > 0)
    out.notes.push_back("the model code freezes " + std::to_string(view.plan.frozenParameters) +
                        " parameters (requires_grad_(False)) before deepspeed.initialize");
  noteRanks(view, "DeepSpeed", kMegatronOrder, out.notes);
}

} // namespace

Result<ExportedPlan> exportToDeepSpeed(const PlanView &view) {
  Capabilities can = capabilities(view);
  Misfits misfits(view, can);
  addCommonMisfits(view, can, misfits);
  checkZero(view, misfits);
  checkSplits(view, misfits);
  if (!misfits.empty())
    return misfits.error();
  const Decisions &d = view.d;
  // runtime/config.py reads the keys that it knows and passes over others.
  Json config{{"dtc_plan", view.summary()},
              {"train_batch_size", view.plan.globalBatch},
              {"train_micro_batch_size_per_gpu", d.microBatch},
              {"gradient_accumulation_steps", d.numMicroBatches},
              {"zero_optimization", zeroOf(view)}};
  addPrecision(view, config);
  addOptimizer(view, config);
  if (d.tp > 1 && d.pp == 1)
    config["tensor_parallel"] = {{"autotp_size", d.tp}};
  if (d.ep > 1)
    config["expert_parallel"] = {{"enabled", true}, {"autoep_size", d.ep}};
  ExportedPlan out;
  out.text = config.dump(2) + "\n";
  addNotes(view, out);
  return out;
}

} // namespace dtc::launch
