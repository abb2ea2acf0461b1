// Reads facts of a forward model that need no plan.
#include "compiler/price/workload/ModelFacts.h"

#include "compiler/decide/plan/ContextSupport.h"
#include "compiler/price/workload/Architecture.h"
#include "compiler/price/workload/TrainingFlops.h"
#include "dialects/graph/Moe.h"
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/StateOps.h"
#include "passes/graph/LossForm.h"
#include "passes/graph/StateValues.h"
#include "passes/shard/OpSplit.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace dtc {

// The most experts that an op of a block knows.
static int64_t countExperts(ModuleOp module) {
  int64_t experts = 1;
  for (auto func : module.getOps<graph::FuncOp>())
    for (Operation &op : func.getBody().front())
      if (auto interface = dyn_cast<graph::RuleOpInterface>(op)) {
        graph::OpRule rule = interface.getRule();
        for (unsigned loop : rule.expertLoops)
          experts = std::max<int64_t>(experts, rule.loops[loop].size);
      }
  return experts;
}

// Returns the number of token groups of the dispatch with the fewest.
static int64_t countTokenGroups(ModuleOp module) {
  std::optional<int64_t> groups;
  module.walk([&](graph::MoeDispatchOp dispatch) {
    int64_t sequence = cast<RankedTensorType>(dispatch.getTokens().getType()).getDimSize(1);
    int64_t own = sequence / static_cast<int64_t>(dispatch.getGroup());
    groups = std::min(groups.value_or(own), own);
  });
  // Without a capacity each token is a group of its own.
  module.walk([&](graph::PackRowsOp pack) {
    int64_t sequence = cast<RankedTensorType>(pack.getTokens().getType()).getDimSize(1);
    groups = std::min(groups.value_or(sequence), sequence);
  });
  return groups.value_or(1);
}

// Returns the number of key and value heads of the attention with the fewest.
static int64_t countKvHeads(ModuleOp module) {
  std::optional<int64_t> heads;
  module.walk([&](graph::RuleOpInterface op) {
    graph::OpRule rule = op.getRule();
    if (std::optional<unsigned> loop = groupedLoop(rule))
      heads = std::min(heads.value_or(rule.loops[*loop].size), rule.loops[*loop].size);
  });
  return heads.value_or(0);
}

static bool hasWindow(ModuleOp module) {
  return module
      .walk([](graph::AttentionOp attention) {
        int64_t keys = cast<RankedTensorType>(attention.getK().getType()).getDimSize(1);
        return attention.getSliding() && static_cast<int64_t>(*attention.getSliding()) < keys
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

// Returns the elements of the largest logits of a sample that a cross entropy reads; 0 if one has
// other tokens than the sequence, as all losses of a program are cut alike.
static int64_t countLogits(graph::FuncOp loss, int64_t sequence) {
  int64_t most = 0;
  for (auto op : loss.getBody().getOps<graph::RuleOpInterface>()) {
    auto logits = op->getNumOperands() > 0 ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                                           : RankedTensorType();
    if (!logits || op.getRule().kind != graph::OpKind::Loss)
      continue;
    if (logits.getRank() != 3 || logits.getDimSize(1) != sequence)
      return 0;
    int64_t elements = 1;
    for (int64_t size : logits.getShape())
      elements *= ShapedType::isDynamic(size) ? 1 : size;
    most = std::max(most, elements);
  }
  return most;
}

static bool needsWholeBatch(ModuleOp module) {
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (loss && findProductOfMeans(loss))
    return true;
  return module
      .walk([](Operation *op) {
        auto norm = dyn_cast<graph::BatchNormaliseOp>(op);
        auto observe = dyn_cast<graph::ObserveOp>(op);
        return (norm && !norm.getParts()) || (observe && takesWholeBatch(observe))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isUntied(graph::FuncOp loss) {
  llvm::StringSet<> tables;
  auto symbolOf = [](Value value) {
    auto get = value.getDefiningOp<graph::GetOp>();
    return get ? get.getSymbol() : StringRef();
  };
  for (auto embedding : loss.getBody().getOps<graph::EmbeddingOp>())
    if (!tables.insert(symbolOf(embedding.getTable())).second)
      return false; // looked up again behind the layers
  for (auto get : loss.getBody().getOps<graph::GetOp>())
    for (Operation *user : get->getUsers())
      if (tables.contains(get.getSymbol()) && !isa<graph::EmbeddingOp>(user))
        return false;
  return !tables.empty();
}

static std::string shapeOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (auto func : module.getOps<graph::FuncOp>())
    for (Operation &op : func.getBody().front()) {
      out << op.getName() << op.getOperandTypes() << op.getResultTypes();
      for (NamedAttribute attribute : op.getAttrDictionary())
        if (isa<IntegerAttr, DenseI64ArrayAttr>(attribute.getValue()))
          out << attribute.getName().getValue() << attribute.getValue();
      out << '\n';
    }
  for (auto [index, parameter] : llvm::enumerate(module.getOps<graph::ParameterOp>()))
    if (parameter.getFrozen())
      out << "frozen " << index << '\n';
  if (needsWholeBatch(module))
    out << "whole batch\n";
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

ModelFacts readModelFacts(ModuleOp module) {
  ModelFacts facts;
  facts.name = module.getName().value_or("model").str();
  if (auto sequence = module->getAttrOfType<IntegerAttr>(graph::kSequenceLengthAttr))
    facts.sequenceLength = sequence.getInt();
  for (auto parameter : module.getOps<graph::ParameterOp>()) {
    int64_t elements = static_cast<int64_t>(parameter.getRepeats().value_or(1)) *
                       cast<RankedTensorType>(parameter.getType()).getNumElements();
    facts.parameters += elements;
    facts.frozen += parameter.getFrozen() ? elements : 0;
  }
  facts.experts = countExperts(module);
  facts.tokenGroups = countTokenGroups(module);
  facts.kvHeads = countKvHeads(module);
  facts.slides = hasWindow(module);
  facts.contextKinds = contextKindsOf(module);
  facts.attentionKinds = attentionKindsOf(module);
  facts.needsWholeBatch = needsWholeBatch(module);
  auto multiplies = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  facts.multipliesMeansOfExperts =
      facts.experts > 1 && multiplies && findProductOfMeans(multiplies);
  facts.architecture = readArchitecture(module);
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  facts.logits = countLogits(loss, facts.sequenceLength);
  for (auto call : loss.getBody().getOps<graph::BlockCallOpInterface>())
    facts.layers += call.getNumExecutions();
  facts.untied = isUntied(loss);
  facts.flopsPerSample = trainingFlops(module, CausalPairs::All);
  facts.causalFlopsPerSample = trainingFlops(module, CausalPairs::Seen);
  facts.shape = shapeOf(module);
  return facts;
}

} // namespace dtc
