#include "compiler/price/workload/VocabularyShare.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

constexpr uint8_t kRows = ScalesWithBatch | ScalesWithSequence;

CellOp product(const char *name, CellPhase phase) {
  CellOp op;
  op.name = name;
  op.kind = WorkKind::Product;
  op.phase = phase;
  return op;
}

// 16 rows per sample, 8 channels, 64 words: an embedding with dropout, a norm, an output layer and
// its loss. Tensor parallelism gathers the norm's result for the output layer, and sums statistics
// of the norm.
ModelCells cellsOfWords() {
  ModelCells cells;
  BlockCell &embedding = cells.embedding, &head = cells.head;
  CellOp lookup, dropout;
  lookup.name = "embedding";
  lookup.bytes.parts[ScalesWithVocabulary] = 64 * 8 * 4;
  lookup.bytes.parts[kRows] = 16 * 8 * 4;
  dropout.name = "dropout";
  dropout.bytes.parts[kRows] = 2 * 16 * 8 * 4;
  embedding.ops = {lookup, dropout};
  embedding.parameters.parts[ScalesWithVocabulary] = 64 * 8;
  embedding.parameters.parts[0] = 16 * 8; // positions
  CellOp norm, loss, logits = product("linear", CellPhase::Forward);
  norm.name = "norm";
  norm.bytes.parts[kRows] = 2 * 16 * 8 * 4;
  logits.m = 16;
  logits.mScale = kRows;
  logits.n = 64;
  logits.nScale = ScalesWithVocabulary;
  logits.k = 8;
  loss.name = "cross_entropy";
  loss.isLoss = true;
  loss.bytes.parts[kRows | ScalesWithVocabulary] = 16 * 64 * 4;
  head.ops = {norm, logits, loss};
  CellCollective statistics, gather;
  statistics.of = {0};
  gather.kind = CollectiveKind::AllGather;
  gather.of = {0, 1};
  head.collectives = {statistics, gather};
  head.input.parts[kRows] = 16 * 8 * 4;
  head.kept.parts[kRows] = 3 * 16 * 8 * 4;
  head.kept.parts[kRows | ScalesWithVocabulary] = 16 * 64 * 4;
  head.parameters.parts[ScalesWithVocabulary] = 64 * 8;
  head.parameters.parts[0] = 8; // the norm's
  head.hostSeconds = 1;
  return cells;
}

std::vector<std::string> namesOf(const BlockCell &cell) {
  std::vector<std::string> names;
  for (const CellOp &op : cell.ops)
    names.push_back(op.name);
  return names;
}

TEST(DivideVocabulary, LeavesOnTheEndsWhatIsNotOfWords) {
  VocabularyCells divided = divideVocabulary(cellsOfWords());
  using Names = std::vector<std::string>;
  EXPECT_EQ(namesOf(divided.embedding), Names{"dropout"});
  EXPECT_EQ(namesOf(divided.head), Names{"norm"});
  EXPECT_EQ(namesOf(divided.share), (Names{"embedding", "linear", "cross_entropy"}));
  CellScale whole;
  EXPECT_EQ(divided.embedding.parameters.at(whole), 16 * 8);
  EXPECT_EQ(divided.head.parameters.at(whole), 8);
  EXPECT_EQ(divided.head.kept.at(whole), 3 * 16 * 8 * 4);
  EXPECT_EQ(divided.head.hostSeconds, 0);
  EXPECT_EQ(divided.share.hostSeconds, 1);
  // The input of the output layer is gathered, at its place among the ops of the share.
  ASSERT_EQ(divided.head.collectives.size(), 1U);
  EXPECT_EQ(divided.head.collectives.front().kind, CollectiveKind::AllReduce);
  ASSERT_EQ(divided.share.collectives.size(), 1U);
  EXPECT_EQ(divided.share.collectives.front().kind, CollectiveKind::AllGather);
  EXPECT_EQ(divided.share.collectives.front().of, std::vector<int>{1});
}

TEST(DivideVocabulary, GivesEachStageItsWordsAndAllRows) {
  VocabularyCells divided = divideVocabulary(cellsOfWords());
  CellScale scale;
  scale.samples = 2;
  scale.vocabulary = 4;
  const BlockCell &share = divided.share;
  EXPECT_EQ(share.parameters.at(scale), 2 * 64 * 8 / 4);
  EXPECT_EQ(share.kept.at(scale), 2 * (3 * 16 * 8 * 4 + 16 * 64 * 4 / 4));
  EXPECT_EQ(share.ops[0].bytes.at(scale), 64 * 8 * 4 / 4 + 2 * 16 * 8 * 4);
  EXPECT_EQ(static_cast<double>(share.ops[1].n) * scale.factor(share.ops[1].nScale), 16);
  EXPECT_EQ(share.ops[2].bytes.at(scale), 2 * 16 * 64 * 4 / 4);
}

// Two samples of 16 rows of 8 channels, in 16 bits except for the head's input and three numbers
// per row.
TEST(VocabularyCollectives, SendRowsAndThreeNumbersOfEach) {
  CellScale scale;
  scale.samples = 2;
  std::vector<VocabularyCollective> all =
      vocabularyCollectives(divideVocabulary(cellsOfWords()), scale, 0.5);
  double rows = 2 * 16, wide = rows * 8 * 4, narrow = rows * 8 * 2;
  double broadcast = 0, reduced = 0, forward = 0;
  for (const VocabularyCollective &each : all) {
    (each.kind == CollectiveKind::Broadcast ? broadcast : reduced) += each.count * each.bytes;
    forward += each.phase == CellPhase::Forward ? each.count * each.bytes : 0;
  }
  EXPECT_EQ(broadcast, wide + narrow);
  EXPECT_EQ(reduced, 2 * narrow + 3 * rows * 4);
  EXPECT_EQ(forward, wide + narrow + 3 * rows * 4);
}

} // namespace
} // namespace dtc
