// Prints the work of the blocks of a case on one rank.
#include "bench/planner/Report.h"
#include "compiler/support/Table.h"

#include "llvm/Support/Format.h"

namespace dtc::published {
namespace {

std::string scaleText(uint8_t bits) {
  std::string text;
  for (auto [bit, letter] : {std::pair(ScalesWithBatch, 'b'), std::pair(ScalesWithSequence, 's'),
                             std::pair(ScalesWithExperts, 'e'), std::pair(ScalesWithCapacity, 'c')})
    if (bits & bit)
      text += letter;
  return text;
}

std::string amountText(const Amount &amount) {
  std::string text;
  for (size_t bits = 0; bits < numScaleSets; ++bits)
    if (amount.parts[bits] != 0)
      llvm::raw_string_ostream(text)
          << llvm::format("%s%.4g", text.empty() ? "" : " + ", amount.parts[bits] / 1e6)
          << scaleText(static_cast<uint8_t>(bits));
  return text;
}

void printBlock(const BlockCell &cell, llvm::raw_ostream &out) {
  out << cell.name << ": parameters " << amountText(cell.parameters) << ", input "
      << amountText(cell.input) << ", kept " << amountText(cell.kept) << ", kept selective "
      << amountText(cell.keptSelective) << ", transient " << amountText(cell.forwardTransient)
      << " and " << amountText(cell.backwardTransient) << "\n";
  Table table({"phase", "kind", "batch", "m", "n", "k", "GFLOP", "MB", "loose MB", "joined"});
  auto size = [](int64_t value, uint8_t bits) { return std::to_string(value) + scaleText(bits); };
  const char *phases[] = {"forward", "input", "weight"},
             *kinds[] = {"memory", "product", "attention"};
  for (const CellOp &op : cell.ops) {
    std::string flops;
    llvm::raw_string_ostream(flops)
        << llvm::format("%.4g", op.flops / 1e9) << scaleText(op.flopsScale);
    table.addRow({phases[static_cast<size_t>(op.phase)], kinds[static_cast<size_t>(op.kind)],
                  size(op.batch, op.batchScale), size(op.m, op.mScale), size(op.n, op.nScale),
                  size(op.k, op.kScale), flops, amountText(op.bytes), amountText(op.looseBytes),
                  op.joined ? "joined" : ""});
  }
  const char *axes[] = {"tp", "cp", "ep"};
  const char *collectives[] = {"all-reduce", "all-gather", "reduce-scatter",
                               "all-to-all", "broadcast",  "send"};
  for (const CellCollective &collective : cell.collectives)
    table.addRow({phases[static_cast<size_t>(collective.phase)],
                  collectives[static_cast<size_t>(collective.kind)],
                  axes[static_cast<size_t>(collective.axis)], "", "", "", "",
                  amountText(collective.bytes)});
  table.print(out, 2);
}

} // namespace

void printCells(const Case &item, llvm::raw_ostream &out) {
  out << item.row->text("model") << ", one sample, tp " << item.cells->tp
      << "; f32 bytes and elements in millions; b: times samples, s: / cp, e: / ep, c: x ep\n";
  printBlock(item.cells->embedding, out);
  for (const BlockCell &block : item.cells->blocks)
    printBlock(block, out);
  printBlock(item.cells->head, out);
}

} // namespace dtc::published
