// Takes embedding and output layer apart by words.
#include "compiler/price/workload/VocabularyShare.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

bool isOfWords(const Amount &amount) {
  for (size_t bits = 0; bits < numScaleSets; ++bits)
    if ((bits & ScalesWithVocabulary) && amount.parts[bits] != 0)
      return true;
  return false;
}

bool isOfWords(const CellOp &op) {
  return ((op.mScale | op.nScale | op.kScale) & ScalesWithVocabulary) || isOfWords(op.bytes) ||
         isOfWords(op.looseBytes);
}

// The part of an amount that is of words, or the other one.
Amount partOf(Amount amount, bool ofWords) {
  for (size_t bits = 0; bits < numScaleSets; ++bits)
    if (((bits & ScalesWithVocabulary) != 0) != ofWords)
      amount.parts[bits] = 0;
  return amount;
}

// Adds the ops of `from` that are of words, or the others, and the collectives that are there for
// them: what one op of words reads or makes is there for those.
void addOps(BlockCell &to, const BlockCell &from, bool ofWords) {
  std::vector<int> positions(from.ops.size(), -1);
  for (auto [index, op] : llvm::enumerate(from.ops))
    if (isOfWords(op) == ofWords) {
      positions[index] = static_cast<int>(to.ops.size());
      to.ops.push_back(op);
    }
  for (CellCollective collective : from.collectives) {
    bool isForWords = llvm::any_of(
        collective.of, [&](int index) { return isOfWords(from.ops[static_cast<size_t>(index)]); });
    if (isForWords != ofWords)
      continue;
    std::vector<int> of;
    for (int index : collective.of)
      if (int position = positions[static_cast<size_t>(index)]; position >= 0)
        of.push_back(position);
    collective.of = std::move(of);
    to.collectives.push_back(std::move(collective));
  }
  to.parameters += partOf(from.parameters, ofWords);
  to.frozen += partOf(from.frozen, ofWords);
  to.sharedGradients += partOf(from.sharedGradients, ofWords);
}

// A few kernels, which no host has to keep up with as with those of a layer.
BlockCell restOf(const BlockCell &part) {
  BlockCell rest = part;
  rest.ops.clear();
  rest.collectives.clear();
  rest.selectiveOps.clear();
  rest.parameters = rest.frozen = rest.sharedGradients = {};
  addOps(rest, part, /*ofWords=*/false);
  for (Amount *amount : {&rest.kept, &rest.keptSelective, &rest.forwardTransient,
                         &rest.backwardTransient, &rest.logits})
    *amount = partOf(*amount, /*ofWords=*/false);
  rest.hostSeconds = 0;
  return rest;
}

} // namespace

VocabularyCells divideVocabulary(const ModelCells &cells) {
  VocabularyCells divided;
  divided.embedding = restOf(cells.embedding);
  divided.head = restOf(cells.head);
  // Logits, and the rows that they are made of, are kept from S to T; what the embedding keeps are
  // ids alone.
  divided.share = cells.head;
  BlockCell &share = divided.share;
  share.name = "vocabulary";
  share.ops.clear();
  share.collectives.clear();
  share.selectiveOps.clear();
  share.parameters = share.frozen = share.sharedGradients = share.rmsNormInputs = {};
  addOps(share, cells.embedding, /*ofWords=*/true);
  addOps(share, cells.head, /*ofWords=*/true);
  return divided;
}

std::vector<VocabularyCollective> vocabularyCollectives(const VocabularyCells &cells,
                                                        const CellScale &scale,
                                                        double activationShare) {
  constexpr double kWide = 4; // bytes of f32
  double activation = cells.share.input.at(scale), rows = 0;
  for (const CellOp &op : cells.share.ops)
    if (op.kind == WorkKind::Product && op.phase == CellPhase::Forward)
      rows = std::max(rows, static_cast<double>(op.m) * scale.factor(op.mScale));
  using enum CollectiveKind;
  return {
      {AllReduce, CellPhase::Forward, activation * activationShare}, // all-reduce of looked-up rows
      {Broadcast, CellPhase::Forward, activation},                   // to the output layer
      {AllReduce, CellPhase::Forward, rows * kWide, 3},
      {AllReduce, CellPhase::BackwardInput, activation * activationShare},
      // Broadcast of the rows' gradients.
      {Broadcast, CellPhase::BackwardInput, activation * activationShare}};
}

} // namespace dtc
