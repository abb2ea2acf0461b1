// Counts the matrix products of a training step.
#include "compiler/price/workload/TrainingFlops.h"

#include "passes/graph/SampleRows.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

// Follows what is trained through functions: a value is active where it depends on a trained
// parameter, so that backward computes its gradient.
class FlopCounter {
public:
  // Without `backward` nothing is active.
  FlopCounter(ModuleOp module, CausalPairs pairs, const SampleRows &rows, bool backward)
      : module(module), pairs(pairs), rows(rows), backward(backward) {}

  struct Counted {
    double flops = 0;
    std::vector<bool> active; // results of the function
  };

  const Counted &count(graph::FuncOp func, const std::vector<bool> &arguments) {
    auto [entry, isNew] = known.try_emplace({func.getSymName().str(), arguments});
    if (!isNew)
      return entry->second;
    Counted counted;
    llvm::DenseSet<Value> active;
    for (auto [argument, isActive] : llvm::zip(func.getArguments(), arguments))
      if (isActive)
        active.insert(argument);
    for (Operation &op : func.getBody().front().without_terminator())
      visit(op, active, counted.flops);
    for (Value value : func.getBody().front().getTerminator()->getOperands())
      counted.active.push_back(active.contains(value));
    return entry->second = std::move(counted);
  }

private:
  void visit(Operation &op, llvm::DenseSet<Value> &active, double &flops) {
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
      return visitCall(call, active, flops);
    flops += flopsOf(op, active);
    bool isActive =
        llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); });
    if (auto get = dyn_cast<graph::GetOp>(op)) {
      auto parameter = module.lookupSymbol<graph::ParameterOp>(get.getSymbol());
      isActive = backward && parameter && !parameter.getFrozen();
    }
    for (Value result : op.getResults())
      if (isActive && isa<FloatType>(graph::tensorOf(result.getType()).getElementType()))
        active.insert(result);
  }

  // Counts a call, or all executions of a repeat: values that it carries may become active from the
  // second execution on.
  void visitCall(graph::BlockCallOpInterface call, llvm::DenseSet<Value> &active, double &flops) {
    auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    std::vector<bool> arguments;
    for (Value operand : call->getOperands())
      arguments.push_back(active.contains(operand));
    std::vector<bool> results;
    for (int64_t left = call.getNumExecutions(); left > 0;) {
      const Counted &counted = count(callee, arguments);
      results = counted.active;
      std::vector<bool> next = arguments;
      std::copy_n(results.begin(), call.getNumCarried(), next.begin());
      int64_t equal = next == arguments ? left : 1;
      flops += counted.flops * static_cast<double>(equal);
      left -= equal;
      arguments = std::move(next);
    }
    for (auto [result, isActive] : llvm::zip(call->getResults(), results))
      if (isActive)
        active.insert(result);
  }

  // Backward multiplies once for each of the two operands that is active; attention computes the
  // gradients of queries, keys and values together.
  double flopsOf(Operation &op, const llvm::DenseSet<Value> &active) const {
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (!interface)
      return 0;
    graph::OpRule rule = interface.getRule();
    if (!rule.multiplies())
      return 0;
    double points = rule.flopsPerPoint * rule.modelShare;
    for (const graph::Loop &loop : rule.loops)
      points *= static_cast<double>(ShapedType::isDynamic(loop.size) ? rows.ofOp(&op) : loop.size);
    if (pairs == CausalPairs::Seen && rule.isCausal)
      points /= 2; // rules count a window, too, as twice the pairs that it leaves
    auto numActive = llvm::count_if(op.getOperands().take_front(2),
                                    [&](Value operand) { return active.contains(operand); });
    if (rule.kind == graph::OpKind::Attention)
      numActive =
          llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); })
              ? 2
              : 0;
    return points * static_cast<double>(1 + numActive);
  }

  ModuleOp module;
  CausalPairs pairs;
  const SampleRows &rows;
  bool backward;
  std::map<std::pair<std::string, std::vector<bool>>, Counted> known;
};

} // namespace

double trainingFlops(ModuleOp module, CausalPairs pairs) {
  FailureOr<SampleRows> read = SampleRows::read(module);
  SampleRows rows = failed(read) ? SampleRows() : std::move(*read);
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  bool hasFrozen = llvm::any_of(module.getOps<graph::ParameterOp>(),
                                [](graph::ParameterOp op) { return op.getFrozen(); });
  FlopCounter counter(module, pairs, rows, hasFrozen);
  double flops = counter.count(loss, std::vector<bool>(loss.getNumArguments(), false)).flops;
  return hasFrozen ? flops : 3 * flops;
}

} // namespace dtc
