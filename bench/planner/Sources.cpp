// The table of sources.
#include "bench/planner/Sources.h"

namespace dtc::published {
namespace {

using enum FlopsFormula;

constexpr SourceRule rules[] = {
    // name, stack, family, formula, zero, sequence parallel, recompute
    {"dtc on", "dtc-gpu", "dtc", Graph, 0, false, "none"}, // bench/planner/measured.csv
    // Optimizer state is sharded: 13B fits 80 GB at tp 1 pp 1.
    {"Hagemann", "hagemann-torch", "Hagemann", Parameters, 1, false, "none"},
    {"llm-foundry", "llm-foundry", "llm-foundry", Parameters, 3, false, "none"},
    {"BLOOM", "bigscience", "BigScience", GraphRecomputed, 1, false, "full"},
    {"BigScience", "megatron-deepspeed", "BigScience", Parameters, 1, false, "full"},
    {"DGX Cloud", "megatron-core", "NVIDIA NeMo recipes", Graph, 1, true, "none", true},
    {"NeMo 2", "megatron-core", "NVIDIA NeMo recipes", Graph, 1, true, "none", true},
    {"NeMo-Megatron-Launcher", "megatron-core", "NVIDIA NeMo recipes", Graph, 1, true, "selective"},
    {"Zero-bubble", "megatron-2021", "Zero-bubble", Graph, 0, false, "none"},
    {"nanotron", "nanotron", "nanotron", Graph, 1, true, "none"},
    {"OneFlow", "oneflow", "OneFlow", GraphRecomputed, 0, false, "full"},
    {"MaxText TPU", "maxtext-tpu", "MaxText TPU", Graph, 3, true, "full"},
    {"Neuron", "neuron", "AWS Neuron", Graph, 1, true, "selective"},
    {"SC21", "megatron-2021", "Megatron 2021", GraphRecomputed, 0, false, "full"},

    {"Vocabulary-parallelism", "megatron-vocabulary", "Vocabulary parallelism", Graph, 0, false,
     "none"},
    {"vTrain", "megatron-deepspeed", "vTrain", GraphRecomputed, 1, false, "full"},
    // In src/megatron/bridge/recipes of NVIDIA-NeMo/Megatron-Bridge 067f987d,
    // expert_tensor_parallel_size is 1 wherever a mixture's recipe names it.
    {"Megatron-Bridge", "megatron-bridge", "Megatron-Bridge", Causal, 1, true, "none", true, true},
    {"AutoModel", "fsdp-compiled", "NeMo AutoModel", Causal, 3, false, "none"},
    {"MoE Parallel Folding", "megatron-core", "MoE Parallel Folding", Graph, 1, true, "none", true},
    {"MLPerf", "megatron-core", "MLPerf", Graph, 1, true, "none"},
    {"2020 README", "megatron-2021", "Megatron 2020", GraphRecomputed, 0, false, "full"},
    {"Korthikanti", "megatron-2021", "Korthikanti", Graph, 0, false, "none"},
    {"MT-NLG", "megatron-2021", "MT-NLG", GraphRecomputed, 0, false, "full"},
    {"Megatron-LM README", "megatron-core", "Megatron-LM README", Graph, 1, true, "none"},
    {"Megatron-LM CI", "megatron-core-eager", "Megatron-LM CI", Graph, 0, false, "none"},
    {"Megatron-LM examples", "megatron-core", "Megatron-LM README", Graph, 1, true, "none"},
    {"Megatron-LLaMA", "megatron-flash", "Megatron-LLaMA", Graph, 1, true, "none"},
    {"Megatron-DeepSpeed", "megatron-deepspeed", "Megatron-DeepSpeed", Graph, 1, false, "full"},
    {"MegaScale-MoE", "megatron-core", "MegaScale", Graph, 1, true, "none"},
    {"MegaScale", "megatron-core", "MegaScale", Graph, 1, true, "selective"},
    {"torchtitan", "fsdp-eager", "torchtitan", Parameters, 3, true, "selective"},
    {"fms-fsdp", "fsdp-compiled", "fms-fsdp", Parameters, 3, false, "none"},
    {"InternLM", "megatron-flash", "InternEvo", GraphRecomputed, 1, false, "none"},
    {"InternEvo", "megatron-flash", "InternEvo", GraphRecomputed, 1, false, "none"},
    {"Paxml", "paxml", "JAX-Toolbox", Graph, 3, false, "none"},
    {"JAX-Toolbox", "maxtext", "JAX-Toolbox", Graph, 3, false, "none"},
    {"MaxText", "maxtext", "MaxText GPU", Graph, 3, false, "none"},
    {"DeepSpeed on Azure", "deepspeed-zero3", "DeepSpeed", GraphRecomputed, 3, false, "full"},
    {"Sailor", "megatron-flash", "Sailor", Graph, 0, false, "none"},
    {"Mist", "megatron-flash", "Mist", Graph, 1, false, "none"},
    {"FP8-LM", "megatron-core", "FP8-LM", Graph, 1, true, "none"},
    {"Primus", "megatron-core", "Primus", Graph, 1, true, "none"},
    {"Llama-3", "megatron-core", "Llama 3", Graph, 2, true, "none"},
    {"Llama 3", "megatron-core", "Llama 3", Graph, 2, true, "none"},
    {"BloombergGPT", "fsdp-eager", "single points", GraphRecomputed, 3, false, "full"},
};

// Rules for sources that no rule above names: `name` is in the source, the notes or the device's
// name. The first match counts.
constexpr SourceRule nearestRules[] = {
    {"Trainium", "neuron", "other", Graph, 1, true, "selective"},
    {"trn1", "neuron", "other", Graph, 1, true, "selective"},
    {"TPU", "maxtext-tpu", "other", Graph, 3, true, "full"},
    {"MaxText", "maxtext", "other", Graph, 3, false, "none"},
    {"JAX", "maxtext", "other", Graph, 3, false, "none"},
    {"XLA", "maxtext", "other", Graph, 3, false, "none"},
    {"nanotron", "nanotron", "other", Graph, 1, true, "none"},
    {"torch.compile", "fsdp-compiled", "other", Parameters, 3, false, "none"},
    {"FSDP", "fsdp-eager", "other", Parameters, 3, false, "none"},
    {"NeMo", "megatron-core", "other", Graph, 1, true, "none", true},
    {"Megatron-Core", "megatron-core", "other", Graph, 1, true, "none"},
    {"MCore", "megatron-core", "other", Graph, 1, true, "none"},
    {"TransformerEngine", "megatron-core", "other", Graph, 1, true, "none"},
};
// These rules go by the row's figures alone.
constexpr SourceRule shardedRule = {"", "fsdp-eager", "other", Parameters, 3, false, "none"};
constexpr SourceRule deepspeed3Rule = {"", "deepspeed-zero3", "other", Graph, 3, false, "full"};
constexpr SourceRule deepspeedRule = {"", "megatron-deepspeed", "other", Graph, 1, false, "full"};
constexpr SourceRule voltaRule = {"", "megatron-2021", "other", Graph, 0, false, "full"};
constexpr SourceRule ampereRule = {"", "megatron-flash", "other", Graph, 1, false, "none"};
constexpr SourceRule newerRule = {"", "megatron-core-eager", "other", Graph, 1, true, "none"};

const SourceRule &nearestRule(const Row &row) {
  auto says = [&](llvm::StringRef word) {
    return row.notes(word) || row.text("source").contains_insensitive(word) ||
           row.text("gpu").contains_insensitive(word);
  };
  for (const SourceRule &rule : nearestRules)
    if (says(rule.name))
      return rule;
  bool sharded = row.number("zero_stage").value_or(0) == 3;
  if (says("DeepSpeed"))
    return sharded ? deepspeed3Rule : deepspeedRule;
  if (sharded)
    return shardedRule;
  // Chooses the software of the device's time: FlashAttention came with A100s in use, Transformer
  // Engine with H100s.
  return says("V100") ? voltaRule : says("A100") || says("A800") ? ampereRule : newerRule;
}

// A refinement of the stack by the notes of a row.
struct NotesRule {
  llvm::StringRef stack; // stack of the source; "": any
  llvm::StringRef notes;
  llvm::StringRef refined;
};

constexpr NotesRule notesRules[] = {
    {"hagemann-torch", "RMS kernel", "hagemann-flash2-rms"},
    {"hagemann-torch", "\"flash_attention2\"", "hagemann-flash2"},
    {"hagemann-torch", "\"flash_attentionv1", "hagemann-flash1"},
    {"hagemann-torch", "kernel \"fused\"", "hagemann-fused"},
    {"bigscience", "BF16_Optimizer", "bigscience-bf16"},
    {"oneflow", "Megatron-LM;", "megatron-2021"},
    {"", "MaxText", "maxtext"},
    {"", "Paxml", "paxml"},
    {"", "PaxML", "paxml"},
    {"megatron-2021", "(DeepSpeed)", "deepspeed-zero3"},
    {"fsdp-eager", "torch.compile", "fsdp-compiled"},
    {"fsdp-eager", "compile", "fsdp-compiled"},
    {"megatron-core", "method \"FSDP", "fsdp-eager"},
    // The dispatcher of a recipe that names none is the default one.
    {"megatron-bridge", "matched perf recipe", "megatron-bridge-alltoall"},
    {"megatron-bridge-alltoall", "hybridep", "megatron-bridge"},
    {"megatron-bridge-alltoall", "deepep", "megatron-bridge"},
    {"megatron-bridge", "full_iteration", "megatron-bridge-graph"},
    {"megatron-bridge-alltoall", "full_iteration", "megatron-bridge-graph"},
    {"megatron-bridge-graph", "moe_a2a_overlap", "megatron-bridge-graph-overlap"},
    {"megatron-bridge", "moe_a2a_overlap", "megatron-bridge-overlap"},
    {"megatron-bridge", "EP comm overlap ON", "megatron-bridge-overlap"},
    {"megatron-bridge-alltoall", "moe_a2a_overlap", "megatron-bridge-alltoall-overlap"},
    {"megatron-flash", "FSDP", "fsdp-eager"},
};

} // namespace

static const SourceRule *ownRule(const Row &row) {
  for (const SourceRule &rule : rules)
    if (row.text("source").contains(rule.name))
      return &rule;
  return nullptr;
}

bool isKnownSource(const Row &row) { return ownRule(row) != nullptr; }

const SourceRule &ruleOf(const Row &row) {
  const SourceRule *own = ownRule(row);
  return own ? *own : nearestRule(row);
}

bool isFitted(const Row &row) {
  std::string group =
      (ruleOf(row).family + "|" + row.text("model") + "|" + row.text("seq_len")).str();
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (unsigned char c : group)
    hash = (hash ^ c) * 0x100000001b3;
  return (hash >> 32 & 1) != 0;
}

bool isForRelease(const Row &row) { return (row.hash >> 40) % 5 == 0; }

std::string stackOf(const Row &row) {
  llvm::StringRef stack = ruleOf(row).stack;
  for (const NotesRule &rule : notesRules) // later ones refine what earlier ones say
    if ((rule.stack.empty() || rule.stack == stack) && row.notes(rule.notes))
      stack = rule.refined;
  if (stack == "maxtext" && row.text("gpu").contains_insensitive("TPU"))
    stack = "maxtext-tpu";
  return stack.str();
}

} // namespace dtc::published
