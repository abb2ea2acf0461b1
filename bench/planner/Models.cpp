// Builds the models of published rows, and caches cells by model and tensor group.
#include "bench/planner/Case.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/frontend/HfConfig.h"
#include "compiler/describe/frontend/ImportHf.h"
#include "dialects/graph/Graph.h"
#include "passes/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <nlohmann/json.hpp>

namespace dtc::published {
namespace {

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

bool anyOf(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> words) {
  for (llvm::StringRef word : words)
    if (text.contains_insensitive(word))
      return true;
  return false;
}

// Returns true for a model with gated layers, by its name.
bool hasGatedLayers(llvm::StringRef name) {
  return anyOf(name, {"llama", "mistral", "mixtral", "qwen", "deepseek", "intern",
                      "maxtext default", "grok", "gpt-oss", "kimi", "moonlight", "dsv3", "yi-",
                      "gemma", "olmo", "7b_model"});
}

// Figures that rows have no column for: experts that every token uses, and heads wider or narrower
// than width / heads. Shared experts count as additional top-k experts of the same size; latent
// attention counts as heads of 128 whose keys and values are shared.
struct KnownModel {
  llvm::StringRef name;
  int64_t sharedExperts, headDim, kvHeads;
  int64_t expertWidth = 0; // used if the row has none
  int64_t expertsEvery = 1, denseInner = 0;
};
constexpr KnownModel knownModels[] = {
    {"DeepSeek-V2-Lite", 2, 128, 2},
    {"DeepSeek", 1, 128, 4, 2048},
    {"dsv3", 1, 128, 4, 2048},
    {"Kimi", 1, 128, 4, 2048},
    {"Moonlight", 2, 128, 2},
    {"Qwen3", 0, 128, 0},
    {"Qwen2-57B", 8, 128, 0},
    {"GPT-OSS", 0, 64, 0},
    {"maverick", 1, 128, 0, 0, 2, 16384},
};

const KnownModel *knownModel(const Row &row) {
  for (const KnownModel &known : knownModels)
    if (row.text("model").contains_insensitive(known.name))
      return &known;
  return nullptr;
}

void applyKnown(const Row &row, ModelShape &model) {
  if (const KnownModel *known = knownModel(row)) {
    model.topK += model.isMoe ? known->sharedExperts : 0;
    model.headDim = known->headDim;
    model.expertsEvery = known->expertsEvery;
    model.denseInner = known->denseInner;
    if (known->kvHeads && !row.count("n_kv_heads"))
      model.kvHeads = known->kvHeads;
    return;
  }
  if (row.notes("head_dim 128"))
    model.headDim = 128;
}

nlohmann::json configOf(const ModelShape &model) {
  nlohmann::json config;
  config["vocab_size"] = model.vocabulary;
  config["tie_word_embeddings"] = model.tied;
  if (!model.isGated) {
    config["model_type"] = "gpt2";
    config["n_layer"] = 1;
    config["n_embd"] = model.width;
    config["n_head"] = model.heads;
    config["n_inner"] = model.inner;
    config["n_positions"] = model.sequence;
    config["resid_pdrop"] = config["embd_pdrop"] = config["attn_pdrop"] = 0;
    return config;
  }
  config["model_type"] = model.isMoe ? "mixtral" : "llama";
  config["num_hidden_layers"] = 1;
  config["hidden_size"] = model.width;
  config["num_attention_heads"] = model.heads;
  config["num_key_value_heads"] = model.kvHeads;
  config["head_dim"] = model.headDim;
  config["intermediate_size"] = model.inner;
  config["max_position_embeddings"] = model.sequence;
  if (model.isMoe) {
    config["num_local_experts"] = model.experts;
    config["num_experts_per_tok"] = model.topK;
    config["moe_expert_capacity_factor"] = 1; // rows as if all experts are used alike
    config["sliding_window"] = nullptr;
  }
  return config;
}

} // namespace

void fillArchitectures(std::vector<Row> &rows) {
  auto isWhole = [](const Row &row) { return row.count("n_layers") && row.count("d_model"); };
  llvm::StringMap<const Row *> whole;
  for (const Row &row : rows)
    if (isWhole(row) && !row.text("model").empty())
      whole.try_emplace(row.text("model"), &row);
  for (Row &row : rows) {
    auto it = whole.find(row.text("model"));
    if (it == whole.end() || row.count("n_layers") || row.count("d_model"))
      continue;
    for (const char *column : {"n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "vocab",
                               "moe_experts", "moe_topk"})
      if (row.text(column).empty())
        row.cells[column] = it->second->text(column).str();
  }
}

Result<ModelShape> shapeOf(const Row &row) {
  ModelShape model;
  llvm::StringRef name = row.text("model");
  if (anyOf(name, {"mamba", "nemotron-h", "nemotronh", "nemotron-3"}))
    return UserError("layers of state-space models, which dtc does not build");
  for (const char *column : {"n_layers", "d_model"})
    if (!row.count(column))
      return UserError("the source does not state the model's architecture");
  if (!row.count("seq_len"))
    return UserError("the source does not state the sequence length");
  model.layers = *row.count("n_layers");
  model.width = *row.count("d_model");
  model.sequence = *row.count("seq_len");
  // If the source has no count, heads are 128 wide.
  model.heads = row.countOr("n_heads", std::max<int64_t>(1, model.width / 128));
  model.kvHeads = row.countOr("n_kv_heads", model.heads);
  model.headDim = model.width / model.heads;
  model.experts = row.countOr("moe_experts", 0);
  model.isMoe = model.experts > 1;
  model.topK = row.countOr("moe_topk", 2);
  applyKnown(row, model);
  // Grouped queries are built with gated layers only; with 2/3 of the inner width they do the same
  // work.
  bool isGated = hasGatedLayers(name) || model.isMoe, isGrouped = model.kvHeads != model.heads;
  // A model without a telling name counts as gated if its inner width is no multiple of 4 widths.
  // Grouped queries and unusual heads are built with gated layers too.
  bool isUnnamed = !anyOf(name, {"gpt", "mpt", "opt", "bloom", "nemotron", "megatron", "falcon",
                                 "maxtext", "turing", "mt-nlg", "pythia", "neox"});
  if (isUnnamed && row.count("d_ff") && *row.count("d_ff") % (4 * model.width) != 0)
    isGated = true;
  model.isGated = isGated || isGrouped || model.headDim * model.heads != model.width;
  model.inner = row.countOr("d_ff", isGated ? roundUp(model.width * 8 / 3, 256) : 4 * model.width);
  if (const KnownModel *known = knownModel(row); known && known->expertWidth && !row.count("d_ff"))
    model.inner = known->expertWidth;
  if (model.isGated && !isGated)
    model.inner = roundUp(model.inner * 2 / 3, 128);
  // A source without a vocabulary gets GPT-2's, or Llama 2's for gated layers.
  model.vocabulary = row.countOr("vocab", isGated ? 32000 : 50257);
  model.tied = (!model.isGated || row.notes("shared embedding")) && !row.notes("untied") &&
               !row.notes("both embeddings");
  if (model.heads > model.width || model.kvHeads > model.heads)
    return UserError("more heads than the width, or than queries have");
  if (model.headDim % 2 != 0 || model.heads % model.kvHeads != 0 || model.headDim < 1)
    return UserError("a head width that dtc does not build");
  return model;
}

CellCache::CellCache()
    : context(std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED)) {
  loadDialects(*context);
}

CellCache::~CellCache() = default;

std::optional<FoldedModel> CellCache::foldedModel(const ModelShape &model, std::string &message) {
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream(message) << diagnostic;
    return mlir::success();
  });
  HfConfig config("row", configOf(model).dump());
  if (!config.ok()) {
    message = config.error().text();
    return std::nullopt;
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = importHfConfig(context.get(), config, model.sequence);
  if (!module || failed(completeModel(*module)))
    return std::nullopt;
  FoldedModel folded = foldLayers(*module);
  folded.chain.assign(static_cast<size_t>(model.layers), 0);
  return folded;
}

const ModelCells *CellCache::cellsOf(const ModelShape &shape, const Decisions &decisions,
                                     std::string &reason) {
  const int64_t tp = decisions.tp;
  const bool sequenceParallel = decisions.sequenceParallel,
             foldsExperts = decisions.foldedExperts && shape.isMoe;
  ModelShape model = shape;
  // Pads as Megatron does: a vocabulary that divides, and at least one key head a rank.
  model.vocabulary = roundUp(model.vocabulary, 128 * tp);
  if (model.kvHeads % tp != 0)
    model.kvHeads = tp % model.kvHeads == 0 ? tp : model.kvHeads;
  if (model.heads % tp != 0)
    model.heads = model.kvHeads = roundUp(model.heads, tp);
  if (model.isMoe)
    model.topK = std::min(model.topK, model.experts);
  std::string text = configOf(model).dump();
  std::string key = text + " " + std::to_string(model.sequence) + " " + std::to_string(tp) +
                    (sequenceParallel ? " sp" : "") + (foldsExperts ? " etp 1" : "");
  auto [it, isNew] = cells.try_emplace(key);
  if (isNew) {
    std::string message;
    if (std::optional<FoldedModel> folded = foldedModel(model, message)) {
      mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
        llvm::raw_string_ostream(message) << diagnostic;
        return mlir::success();
      });
      std::optional<ModelCells> read =
          readCells(*folded, tp, sequenceParallel, foldsExperts, TensorPattern::Textbook);
      if (read)
        it->second = std::make_unique<ModelCells>(std::move(*read));
    }
    if (!it->second)
      reasons[key] = message.empty() ? "tensor parallelism does not divide it" : message;
  }
  if (!it->second) {
    reason = reasons[key];
    return nullptr;
  }
  std::string chainKey = key + " x" + std::to_string(model.layers);
  if (auto whole = chained.find(chainKey); whole != chained.end())
    return whole->second.get();
  auto all = std::make_unique<ModelCells>(*it->second);
  all->chain.assign(static_cast<size_t>(model.layers), 0);
  if (model.isMoe && model.expertsEvery > 1) {
    ModelShape dense = shape;
    dense.isMoe = false;
    dense.inner = model.denseInner;
    dense.expertsEvery = 1;
    const ModelCells *between = cellsOf(dense, decisions, reason);
    if (!between)
      return nullptr;
    all->blocks.push_back(between->blocks.front());
    for (int64_t layer = 0; layer < model.layers; ++layer)
      all->chain[static_cast<size_t>(layer)] = (layer + 1) % model.expertsEvery == 0 ? 0 : 1;
  }
  return (chained[chainKey] = std::move(all)).get();
}

} // namespace dtc::published
