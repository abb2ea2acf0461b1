// Turns published rows into decisions of the planner.
#include "bench/planner/Case.h"

#include "bench/planner/Sources.h"
#include "compiler/decide/decisions/Pipeline.h"
#include "compiler/decide/decisions/Words.h"

namespace dtc::published {
namespace {

// Returns the column of a figure beyond that of any run, which is an error of the table and would
// only take time and memory.
std::optional<std::string> beyondRuns(const Row &row) {
  constexpr std::pair<const char *, double> most[] = {
      {"n_layers", 1 << 12},    {"d_model", 1 << 18},     {"n_heads", 1 << 14},
      {"n_kv_heads", 1 << 14},  {"d_ff", 1 << 21},        {"vocab", 1 << 24},
      {"seq_len", 1 << 24},     {"moe_experts", 1 << 14}, {"moe_topk", 1 << 10},
      {"n_gpus", 1 << 18},      {"tp", 1 << 14},          {"pp", 1 << 12},
      {"cp", 1 << 14},          {"ep", 1 << 14},          {"vpp", 1 << 12},
      {"micro_batch", 1 << 20}, {"global_batch", 1 << 26}};
  for (auto [column, limit] : most)
    if (row.number(column).value_or(0) > limit)
      return std::string("a figure beyond what any run had: ") + column;
  return std::nullopt;
}

// Returns the reason why no plan of dtc describes a row.
std::optional<std::string> inexpressible(const Row &row) {
  if (!row.malformed.empty())
    return row.malformed;
  if (std::optional<std::string> beyond = beyondRuns(row))
    return beyond;
  if (row.notes("LoRA") && !row.text("model").contains_insensitive("moe"))
    return "LoRA: weights without gradients";
  if (row.notes("method \"interlaced"))
    return "interlaced pipeline, whose stages all wait while each computes its part of the output "
           "layer: not one of the planner's decisions";
  return std::nullopt;
}

ScheduleKind scheduleOf(const Row &row, int64_t virtualStages) {
  if (row.notes("schedule ZB-1p"))
    return ScheduleKind::ZeroBubbleH1;
  if (row.notes("schedule ZB-2p"))
    return ScheduleKind::ZeroBubble2P;
  if (row.notes("V-Half schedule"))
    return ScheduleKind::VHalf;
  if (row.notes("schedule zbv") || row.notes("schedule ZBV"))
    return ScheduleKind::ZeroBubbleV;
  return virtualStages > 1 ? ScheduleKind::Interleaved : ScheduleKind::OneForwardOneBackward;
}

std::optional<std::string> setDegrees(const Row &row, Case &item) {
  Decisions &d = item.decisions;
  int64_t devices = *row.count("n_gpus");
  bool isSharded = ruleOf(row).zero == 3; // No more is given in the row: data parallelism alone.
  if (!isSharded && devices > 1 && (!row.count("tp") || !row.count("pp")))
    return "the source does not state the parallel layout";
  d.tp = row.countOr("tp", 1);
  d.pp = row.countOr("pp", 1);
  d.cp = row.countOr("cp", 1);
  d.ep = item.model.isMoe ? row.countOr("ep", 1) : 1;
  if (devices % (d.tp * d.pp * d.cp) != 0)
    return "tp x pp x cp does not divide the number of devices";
  d.dp = devices / (d.tp * d.pp * d.cp);
  // Experts are folded over tensor ranks if the source says so, or has no other ranks for them.
  d.foldedExperts = item.model.isMoe && d.tp > 1 &&
                    (ruleOf(row).foldsExperts || row.notes("w/ Folding") || row.notes("ETP 1") ||
                     row.notes("(ETP) 1") || d.ranksOfExperts() % d.ep != 0);
  while (d.ep > 1 && d.ranksOfExperts() % d.ep != 0)
    d.ep /= 2;
  while (d.ep > 1 && item.model.experts % d.ep != 0)
    d.ep /= 2;
  return std::nullopt;
}

std::optional<std::string> setBatch(const Row &row, Case &item) {
  Decisions &d = item.decisions;
  std::optional<int64_t> global = row.count("global_batch"), micro = row.count("micro_batch");
  if (!micro)
    item.assumed += "micro-batch 1; ";
  d.microBatch = micro.value_or(1);
  if (!global && d.pp > 1)
    return "the source does not state the global batch of a pipeline";
  if (!global)
    item.assumed += "one micro-batch a step; ";
  item.globalBatch = global.value_or(d.microBatch * d.dp);
  if (item.globalBatch % d.dp != 0) {
    // Some sources round the batch, so this takes the nearest batch that dp divides.
    int64_t samples = std::max<int64_t>(1, (item.globalBatch + d.dp / 2) / d.dp);
    item.assumed += "global batch rounded; ";
    item.globalBatch = samples * d.dp;
  }
  int64_t samples = item.globalBatch / d.dp;
  if (samples % d.microBatch != 0)
    d.microBatch = std::min(d.microBatch, samples);
  d.numMicroBatches = std::max<int64_t>(1, samples / d.microBatch);
  return std::nullopt;
}

std::optional<std::string> setPipeline(const Row &row, Case &item) {
  Decisions &d = item.decisions;
  d.virtualStages = d.pp > 1 ? row.countOr("vpp", 1) : 1;
  if (d.pp > 1 && !row.count("vpp") && ruleOf(row).interleaves) {
    // Takes chunks of the fewest layers, two or more, that divide the layers of a stage; if none
    // do, chunks of one layer.
    int64_t perStage = item.model.layers / d.pp;
    for (int64_t size = 2; size < perStage && d.virtualStages == 1; ++size)
      if (item.model.layers % d.pp == 0 && perStage % size == 0)
        d.virtualStages = perStage / size;
    if (d.virtualStages == 1 && item.model.layers % d.pp == 0)
      d.virtualStages = perStage;
    item.assumed += std::to_string(d.virtualStages) + " virtual stages; ";
  }
  d.schedule = scheduleOf(row, d.virtualStages);
  d.virtualStages = virtualStagesOf(d.schedule).value_or(d.virtualStages);
  if (d.pp == 1) {
    d.schedule = ScheduleKind::OneForwardOneBackward;
    d.virtualStages = 1;
  }
  if (isV(d.schedule) && 2 * d.pp > item.model.layers)
    return "more chunks of the pipeline than layers";
  // Megatron's flag counts stages of one chunk; some tables print chunks of one layer.
  while (d.virtualStages > 1 && d.pp * d.virtualStages > item.model.layers + 2)
    --d.virtualStages;
  if (d.pp > item.model.layers + 2)
    return "more pipeline stages than layers";
  if (d.virtualStages == 1 && d.schedule == ScheduleKind::Interleaved)
    d.schedule = ScheduleKind::OneForwardOneBackward;
  d.evenStages = !row.notes("redis");
  d.vocabOverPp = row.notes("vocab-1") ? 1 : row.notes("vocab-2") ? 2 : 0;
  if (d.vocabOverPp > 0 && (!mayDivideVocabulary(d) || item.model.tied))
    return "vocabulary divided over pipeline stages with a schedule or a model that the planner "
           "does not divide it for";
  return std::nullopt;
}

void setMemoryOptions(const Row &row, Case &item) {
  Decisions &d = item.decisions;
  const SourceRule &rule = ruleOf(row);
  llvm::StringRef sequence = row.text("seq_parallel"), recompute = row.text("recompute");
  // Megatron-Core needs sequence parallelism for experts under tensor parallelism.
  d.sequenceParallel =
      d.foldedExperts ||
      (d.tp > 1 && (sequence.empty() ? rule.sequenceParallel : sequence.starts_with("y")));
  if (sequence.empty() && d.tp > 1)
    item.assumed += d.sequenceParallel ? "sequence parallel; " : "not sequence parallel; ";
  d.zero = rule.zero;
  if (std::optional<double> zero = row.number("zero_stage"))
    d.zero = std::clamp<int64_t>(static_cast<int64_t>(*zero), 0, 3);
  else
    item.assumed += "ZeRO " + std::to_string(d.zero) + "; ";
  // Hybrid sharding, over a part of the data ranks, is counted as sharding over all.
  llvm::StringRef stack = item.stack;
  bool shards = stack.starts_with("fsdp") || stack.starts_with("maxtext") || stack == "paxml";
  if (shards && row.text("zero_stage").empty())
    d.zero = 3;
  if (recompute.empty()) {
    recompute = rule.recompute;
    item.assumed += "recompute " + recompute.str() + ", or what fits; ";
  }
  d.recompute = recompute.starts_with("full")  ? Recompute::Full
                : recompute.starts_with("sel") ? Recompute::Selective
                                               : Recompute::None;
  // MaxText's policy of that name: base.yml, decoders.py.
  item.hasQueriesOnHost = row.notes("remat_policy=qkv_proj_offloaded");
  if (item.hasQueriesOnHost) {
    d.recompute = Recompute::Full;
    item.assumed += "copies of queries, keys and values hidden; ";
  }
  // Megatron-Core's recompute_modules, if a recipe names them.
  llvm::StringRef modules = row.text("notes").split("recompute_modules=").second;
  modules = modules.take_until([](char c) { return c == ';' || c == ' '; });
  item.recomputesPointwise = modules.contains("layernorm") && modules.contains("moe_act");
  // If the source does not say, as few layers as necessary recompute everything.
  if (recompute == "partial" || row.text("recompute").empty())
    d.recomputeMost = Recompute::Full;
  if (row.notes("cpu_offloading_num_layers")) {
    d.layersOnHost = LayersOnHost::Some;
    item.assumed += "activations on the host of as few layers as fit; ";
  }
  d.offloadOptimizer = row.notes("CPU offload") || row.notes("optimizer offload");
}

Precision precisionOf(const Row &row, const DeviceKind &device, std::string &assumed) {
  llvm::StringRef precision = row.text("precision");
  if (precision.contains("fp8") || precision == "nvfp4")
    return Precision::FP8;
  if (precision.starts_with("fp32") || precision == "f32")
    return Precision::F32;
  if (precision.empty())
    assumed += "16 bits; ";
  // Devices without bf16 use f16.
  bool half = precision == "fp16" || device.peak(ComputeType::BF16) == 0;
  return half ? Precision::F16 : Precision::BF16;
}

} // namespace

Result<Case> makeCase(const Row &row, CellCache &cache) {
  Case item;
  item.row = &row;
  item.ranOutOfMemory = row.ranOutOfMemory();
  if (std::optional<std::string> why = inexpressible(row))
    return UserError(*why);
  Result<Topology> topology = topologyOf(row);
  if (!topology)
    return topology.error();
  item.topology = std::move(*topology);
  item.device = item.topology.description;
  item.memoryLimit = static_cast<double>(item.topology.device.memoryBytes);
  Result<ModelShape> model = shapeOf(row);
  if (!model)
    return model.error();
  item.model = *model;
  item.stack = stackOf(row);
  for (auto set : {setDegrees, setBatch, setPipeline})
    if (std::optional<std::string> why = set(row, item))
      return UserError(*why);
  setMemoryOptions(row, item);
  item.precision = precisionOf(row, item.topology.device, item.assumed);
  std::string reason;
  item.cells = cache.cellsOf(item.model, item.decisions, reason);
  if (!item.cells)
    return UserError("the model can't be partitioned: " + reason);
  readPublishedTime(item);
  if (std::optional<double> memory = row.number("mem_gb_per_gpu"))
    item.memory = *memory * (row.notes("GiB") ? 1024.0 * 1024 * 1024 : 1e9);
  if (item.seconds == 0 && item.memory == 0 && !item.ranOutOfMemory)
    return UserError("neither a time nor memory to compare");
  return item;
}

} // namespace dtc::published
