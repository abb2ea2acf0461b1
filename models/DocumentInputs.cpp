// Builds models of documents: their inputs, and what blocks read of them.
#include "dialects/graph/NnOps.h"
#include "models/ModelBuilder.h"

using namespace mlir;

namespace dtc {

// The inputs of '@loss' that a model of documents has behind tokens and targets.
constexpr unsigned kDocuments = 2, kPositions = 3, kWeights = 4;

graph::FuncOp ModelBuilder::beginLoss() {
  SmallVector<std::pair<StringRef, Type>> inputs{{"tokens", ids()}, {"targets", ids()}};
  if (hasDocuments())
    inputs.append({{kDocumentsInput, ids()}, {kPositionsInput, ids()}});
  if (documentKind == Documents::LossPerDocument)
    inputs.push_back({kWeightsInput, batched({sequence})});
  return beginLoss(inputs);
}

Value ModelBuilder::documents() {
  if (!hasDocuments())
    return {};
  bool isLoss = current.getSymName() == graph::kLossFunction;
  return current.getArgument(isLoss ? kDocuments : current.getNumArguments() - 1);
}

Value ModelBuilder::positions() {
  return hasDocuments() ? Value(current.getArgument(kPositions)) : Value();
}

// Weights are 1 / n for the n targets of a document, so that their sum is the number of documents.
Value ModelBuilder::documentLoss(Value logits, Value targets) {
  std::string name = names.empty() ? "loss" : names.front();
  Value rows =
      as("token_losses")
          .make<graph::CrossEntropyOp>(batched({sequence}), Type(), logits, targets,
                                       builder.getI64IntegerAttr(kIgnoredTarget), UnitAttr())
          .getLoss();
  return as(name).make<graph::WeightedMeanOp>(tensor({}), rows, current.getArgument(kWeights));
}

} // namespace dtc
