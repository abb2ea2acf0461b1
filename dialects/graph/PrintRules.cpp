// Prints each op's rule as a remark (pass dtc-print-rules).
#include "dialects/graph/PrintRules.h"

#include "dialects/graph/Graph.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

// Prints the dims of one tensor by loop number as [0, 1*2, -]; "-" is a dim without a loop.
void printDims(llvm::raw_ostream &out, const TensorLoops &dims) {
  out << "[";
  llvm::interleaveComma(dims, out, [&](const DimLoops &dim) {
    if (dim.empty())
      out << "-";
    llvm::interleave(dim, out, "*");
  });
  out << "]";
}

const char *kindText(LoopKind kind) {
  switch (kind) {
  case LoopKind::Parallel:
    return "parallel";
  case LoopKind::Sum:
    return "sum";
  case LoopKind::Max:
    return "max";
  case LoopKind::Staged:
    return "staged";
  case LoopKind::Whole:
    return "whole";
  case LoopKind::Mean:
    return "mean";
  case LoopKind::Weighted:
    return "weighted";
  }
  return "";
}

const char *kindText(OpKind kind) {
  switch (kind) {
  case OpKind::Memory:
    return "";
  case OpKind::View:
    return "view";
  case OpKind::Product:
    return "product";
  case OpKind::Attention:
    return "attention";
  case OpKind::Normalisation:
    return "normalisation";
  case OpKind::Dispatch:
    return "exchange";
  case OpKind::Loss:
    return "loss";
  }
  return "";
}

// Prints "product of m 0, k 1", or "attention of batch 0 1 2, m 3, n 4, k 5".
void printProduct(llvm::raw_ostream &out, const OpRule &rule) {
  const std::pair<ProductLoop, const char *> names[] = {{ProductLoop::Batch, "batch"},
                                                        {ProductLoop::M, "m"},
                                                        {ProductLoop::N, "n"},
                                                        {ProductLoop::K, "k"}};
  const char *before = " of ";
  for (auto [kind, name] : names) {
    if (!llvm::is_contained(rule.productLoops, kind))
      continue;
    out << before << name;
    for (auto [loop, ofLoop] : llvm::enumerate(rule.productLoops))
      if (ofLoop == kind)
        out << " " << loop;
    before = " ";
  }
}

// Returns a text such as "loops 0:4 parallel, 1:8 parallel, 2:? sum; [0, 2], [2, 1] -> [0, 1]; 2
// flops per point, product of m 0 n 1 k 2, zero-preserving; indexed 1".
std::string ruleText(const OpRule &rule) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "loops";
  for (const auto &[i, loop] : llvm::enumerate(rule.loops)) {
    out << (i ? ", " : " ") << i << ":";
    if (ShapedType::isDynamic(loop.size))
      out << "?";
    else
      out << loop.size;
    out << " " << kindText(loop.kind);
  }
  out << "; ";
  llvm::interleaveComma(rule.operands, out, [&](const TensorLoops &dims) { printDims(out, dims); });
  out << " -> ";
  llvm::interleaveComma(rule.results, out, [&](const TensorLoops &dims) { printDims(out, dims); });
  out << "; " << llvm::format("%g", rule.flopsPerPoint) << " flops per point";
  if (rule.kind != OpKind::Memory)
    out << ", " << kindText(rule.kind);
  printProduct(out, rule);
  if (rule.isGradient)
    out << ", gradient";
  if (rule.isCausal)
    out << ", causal";
  if (rule.isComposite)
    out << ", composite";
  if (rule.zeroPreserving)
    out << ", zero-preserving";
  if (rule.jointlyLinear)
    out << ", linear";
  auto printLoops = [&](const char *name, ArrayRef<unsigned> loops) {
    if (loops.empty())
      return;
    out << "; " << name << " ";
    llvm::interleaveComma(loops, out);
  };
  printLoops("indexed", rule.indexedLoops);
  printLoops("fed", rule.fedLoops);
  printLoops("experts", rule.expertLoops);
  printLoops("capacity", rule.capacityLoops);
  printLoops("sequence", rule.sequenceLoops);
  printLoops("channels", rule.channelLoops);
  return text;
}

struct PrintRules : PassWrapper<PrintRules, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintRules)

  StringRef getArgument() const final { return "dtc-print-rules"; }
  StringRef getDescription() const final { return "Prints each op's rule as a remark"; }
  void runOnOperation() final {
    getOperation()->walk([](RuleOpInterface op) { op->emitRemark(ruleText(op.getRule())); });
    markAllAnalysesPreserved();
  }
};

} // namespace

void dtc::graph::registerPrintRulesPass() { PassRegistration<PrintRules>(); }
