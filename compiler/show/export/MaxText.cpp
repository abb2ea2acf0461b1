// MaxText's YAML configuration, on top of its base.yml.
#include "compiler/show/export/Capabilities.h"
#include "compiler/show/export/ExportedPlan.h"
#include "compiler/show/export/Launchers.h"

#include "llvm/Support/Format.h"

#include <array>
#include <numeric>

namespace dtc::launch {
namespace {

// The axes of dcn_NAME_parallelism and ici_NAME_parallelism, in the order of mesh_axes.
enum Axis : size_t { Data, Pipeline, Fsdp, Context, Tensor, TensorSequence, Expert, kNumAxes };
constexpr llvm::StringRef axisNames[kNumAxes] = {"data",   "pipeline",        "fsdp",  "context",
                                                 "tensor", "tensor_sequence", "expert"};
// All other axes of the mesh, which the plan has one rank of.
constexpr llvm::StringRef unusedAxes[] = {
    "diloco",        "fsdp_transpose", "sequence", "context_usp_ulysses", "context_autoregressive",
    "autoregressive"};

struct AxisSizes {
  int64_t within = 1, between = 1; // nodes
};
using Mesh = std::array<AxisSizes, kNumAxes>;

Capabilities capabilities() {
  // Its pipeline is a scan, whose backward pass JAX makes: all forwards, then all backwards.
  static constexpr ScheduleKind schedules[] = {ScheduleKind::GPipe};
  static constexpr int64_t zero[] = {0, 1, 3};
  static constexpr Precision precisions[] = {Precision::BF16, Precision::F32, Precision::FP8};
  static constexpr OptimizerKind optimizers[] = {OptimizerKind::AdamW, OptimizerKind::Sgd};
  static constexpr ContextKind contexts[] = {ContextKind::AllGather};
  Capabilities can;
  can.contexts = contexts;
  can.name = "MaxText";
  can.stack = "maxtext";
  can.schedules = schedules;
  can.zero = can.zeroOfPipelines = zero;
  can.zeroGroups = can.expertParallel = can.splitExperts = true;
  can.sequenceParallel = can.expertCapacity = true;
  can.unevenVocabulary = false; // jax splits arrays in equal parts alone
  can.precisions = precisions;
  can.optimizers = optimizers;
  can.halfReductions = can.offload = can.offloadActivations = true;
  can.selective = Selective::AllButProducts;
  return can;
}

// base.yml splits parameters over fsdp, context and expert in the same way.
void checkShards(const PlanView &view, Misfits &out) {
  const Decisions &d = view.d;
  if (d.zero < 3 && (d.cp > 1 || d.ep > 1))
    return out.add("parameters split over the ranks of cp and ep",
                   "ZeRO " + std::to_string(d.zero) + " with cp " + std::to_string(d.cp) +
                       " and ep " + std::to_string(d.ep),
                   "zero=3");
  if (d.zero == 1 && view.replicas() > 1)
    out.add("ZeRO-1 over all of dp", "groups of " + std::to_string(view.shards()) + " ranks",
            "zero_group=" + std::to_string(d.dp));
  if (view.shards() % d.ep != 0)
    out.add("an ep that divides the ranks of dp which share parameters",
            "ep " + std::to_string(d.ep) + " of " + std::to_string(view.shards()), "ep=1");
}

void checkLayers(const PlanView &view, Misfits &out) {
  const Decisions &d = view.d;
  if (d.pp > 1 && d.numMicroBatches % d.pp != 0)
    out.add("numbers of micro-batches that pp divides",
            std::to_string(d.numMicroBatches) + " micro-batches with pp " + std::to_string(d.pp),
            "");
  if (!view.recomputesEvenly())
    out.add("one remat_policy for all layers", "layers that differ in it", "recompute=full");
  if (d.offloadsSomeLayers())
    out.add("one remat_policy for all layers", "activations of some layers on the host",
            "offload_activations=0");
  if (d.offloadsAllLayers() && d.recompute == Recompute::None)
    out.add("activations on the host of layers that recompute what is cheap",
            "layers that recompute nothing", "recompute=selective");
}

// Returns MaxText's name of the hardware.
llvm::StringRef hardwareOf(const PlanView &view) {
  llvm::StringRef topology = view.plan.topologyName;
  return topology.starts_with("tpu") ? "tpu" : topology == "cpu" ? "cpu" : "gpu";
}

// Ranks of each axis within a node and between nodes: the innermost axes of the plan fill the node.
// Nothing where a node would hold parts of several groups that don't divide it.
std::optional<Mesh> meshOf(const PlanView &view) {
  const Decisions &d = view.d;
  std::array<int64_t, kNumAxes> sizes{};
  sizes.fill(1);
  // Only ZeRO-3 comes with experts: checkShards.
  sizes[Expert] = d.ep;
  sizes[Fsdp] = d.zero == 3 ? view.shards() / d.ep : 1;
  sizes[Data] = d.zero == 3 ? view.replicas() : d.dp;
  sizes[d.sequenceParallel ? TensorSequence : Tensor] = d.tp;
  sizes[Context] = d.cp;
  sizes[Pipeline] = d.pp;
  Mesh mesh;
  // A slice of TPUs is one torus, however many hosts it has.
  bool isTorus = hardwareOf(view) == "tpu";
  int64_t left = isTorus ? view.plan.devices : view.devicesPerNode();
  auto place = [&](Axis axis) {
    mesh[axis].within = std::gcd(left, sizes[axis]);
    mesh[axis].between = sizes[axis] / mesh[axis].within;
    left /= mesh[axis].within;
  };
  for (char letter : d.order)
    switch (letter) {
    case 't':
      place(Tensor);
      place(TensorSequence);
      break;
    case 'c':
      place(Context);
      break;
    case 'd':
      place(Expert);
      place(Fsdp);
      place(Data);
      break;
    default:
      place(Pipeline);
    }
  if (left > 1)
    return std::nullopt;
  return mesh;
}

class YamlFile {
public:
  void comment(llvm::StringRef line) { text += ("# " + line + "\n").str(); }
  void set(llvm::StringRef key, llvm::StringRef value) {
    text += (key + ": " + value + "\n").str();
  }
  void set(llvm::StringRef key, int64_t value) { set(key, std::to_string(value)); }
  void setFlag(llvm::StringRef key, bool value) { set(key, value ? "true" : "false"); }

  std::string text;
};

void writeMesh(const Mesh &mesh, YamlFile &file) {
  file.comment("devices: ici within a node, dcn between nodes");
  for (llvm::StringRef network : {"ici", "dcn"}) {
    auto set = [&](llvm::StringRef axis, int64_t ranks) {
      file.set((network + "_" + axis + "_parallelism").str(), ranks);
    };
    for (size_t axis = 0; axis < kNumAxes; ++axis)
      set(axisNames[axis], network == "ici" ? mesh[axis].within : mesh[axis].between);
    for (llvm::StringRef axis : unusedAxes)
      set(axis, 1);
  }
}

// `numerator` / `denominator` with as many digits as a double needs.
std::string quotient(int64_t numerator, int64_t denominator) {
  if (numerator % denominator == 0)
    return std::to_string(numerator / denominator) + ".0";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.17g", static_cast<double>(numerator) /
                                                              static_cast<double>(denominator));
  return text;
}

void writeBatches(const PlanView &view, YamlFile &file) {
  const Decisions &d = view.d;
  const Plan &plan = view.plan;
  file.comment("batches: per_device_batch_size is of all devices, whatever they split");
  file.set("max_target_length", plan.sequenceLength);
  if (d.pp == 1) {
    file.set("per_device_batch_size", quotient(plan.globalBatch / d.numMicroBatches, plan.devices));
    file.set("gradient_accumulation_steps", d.numMicroBatches);
    return;
  }
  file.set("per_device_batch_size", quotient(plan.globalBatch, plan.devices));
  file.set("gradient_accumulation_steps", 1);
  file.comment("the pipeline");
  file.set("num_pipeline_microbatches", d.numMicroBatches);
  file.set("num_layers_per_pipeline_stage", view.layers / d.pp);
  file.set("num_pipeline_repeats", 1);
  file.set("pipeline_parallel_layers", view.layers);
}

// Names the policy of the plan's recomputation. A layer that recomputes nothing keeps all, but for
// MaxText's own stack, whose [kept] kept_share is that of save_qkv_proj.
llvm::StringRef rematPolicy(const PlanView &view) {
  switch (view.d.recompute) {
  case Recompute::None:
    return view.software.keptShare < 0.5 ? "save_qkv_proj" : "none";
  case Recompute::Full:
    return "full";
  default:
    return "minimal_with_context";
  }
}

// base.yml: "custom" reads of each named tensor whether it is on the device, offloaded, or computed
// again. Those of the mixture's names that a model lacks say nothing.
void writeRemat(const PlanView &view, YamlFile &file) {
  constexpr llvm::StringRef products[] = {"context",    "mlpwi",    "mlpwi_0",    "mlpwi_1",
                                          "mlpwo",      "qkv_proj", "query_proj", "key_proj",
                                          "value_proj", "out_proj"};
  if (!view.d.offloadsLayers())
    return file.set("remat_policy", ("\"" + rematPolicy(view) + "\"").str());
  file.set("remat_policy", "\"custom\"");
  file.set("decoder_layer_input", "\"offload\"");
  for (llvm::StringRef tensor : products)
    file.set(tensor, view.d.recompute == Recompute::Full ? "\"remat\"" : "\"offload\"");
}

} // namespace

Result<ExportedPlan> exportToMaxText(const PlanView &view) {
  Capabilities can = capabilities();
  Misfits misfits(view, can);
  addCommonMisfits(view, can, misfits);
  checkShards(view, misfits);
  checkLayers(view, misfits);
  std::optional<Mesh> mesh = meshOf(view);
  if (!mesh)
    misfits.add("axes whose ranks within a node fill it",
                "nodes of " + std::to_string(view.devicesPerNode()) + " devices that none does",
                "");
  if (!misfits.empty())
    return misfits.error();
  const Decisions &d = view.d;
  YamlFile file;
  for (const std::string &line : view.summary())
    file.comment(line);
  file.comment(
      "To use it: python3 -m maxtext.trainers.pre_train.train THIS_FILE.yml model_name=... "
      "run_name=...");
  file.comment("Yours to add: the model, the data, the learning rate and checkpoints.");
  file.set("base_config", "\"base.yml\"");
  file.set("hardware", ("\"" + hardwareOf(view) + "\"").str());
  writeMesh(*mesh, file);
  file.setFlag("shard_optimizer_over_data", d.zero == 1);
  if (d.cp > 1)
    file.set("context_parallel_strategy", "\"all_gather\"");
  writeBatches(view, file);
  file.comment("precision, recomputation and the optimizer");
  file.set("dtype", ("\"" + arrayTypeOf(view.plan.precision) + "\"").str());
  if (view.plan.precision == Precision::FP8)
    file.set("quantization", "\"fp8\"");
  file.set("weight_dtype", "\"float32\"");
  file.set("grad_dtype", view.reduced == Width::Full ? "\"float32\"" : "\"bfloat16\"");
  writeRemat(view, file);
  if (view.hasCapacity()) {
    file.comment(
        "experts have room for so many times their share, and drop more: of dense products alone");
    file.set("capacity_factor", decimalOf(view.plan.architecture.capacity));
    file.setFlag("sparse_matmul", false);
    file.setFlag("megablox", false);
  }
  file.set("opt_type", ("\"" + nameOf(view.plan.optimizer) + "\"").str());
  file.setFlag("optimizer_memory_host_offload", d.offloadOptimizer);

  ExportedPlan out;
  out.text = file.text;
  noteRanks(view, can.name, kMegatronOrder, out.notes);
  if (view.gradientRanks() > 1 && (!d.overlapGradients || d.bucketBytes > 0))
    out.notes.push_back("XLA's flags say what is hidden behind compute, and in which pieces: the "
                        "plan counts on " +
                        std::string(d.overlapGradients
                                        ? "gradients beside the backward pass, in "
                                          "buckets of " +
                                              std::to_string(d.bucketBytes) + " bytes"
                                        : "gradients behind the backward pass"));
  return out;
}

} // namespace dtc::launch
