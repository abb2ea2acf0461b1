// Interfaces of graph ops; passes use these and never the op's name.
#ifndef DTC_GRAPH_INTERFACES_TD
#define DTC_GRAPH_INTERFACES_TD

include "mlir/IR/OpBase.td"

def RuleOpInterface : OpInterface<"RuleOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "States how the op's loops map to its operands and results (Rule.h).";
  let methods = [InterfaceMethod<"Returns the rule at the current operand types.", "::dtc::graph::OpRule", "getRule">];
}

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Builds the op's reverse-mode gradient.";
  let methods = [InterfaceMethod<[{
      Builds the gradients of the operands. `resultGrads[i]` is null if result i has no gradient; at least one is not
      null. Fills `operandGrads` (one per operand) for operands with `needed[i]`, leaving the others null.
      Fails after emitting a diagnostic if the op has no gradient.
    }], "::llvm::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads, "::llvm::ArrayRef<bool>":$needed,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGrads)>];
}

// Ops that compute a sum or maximum over a loop and use the result: if that loop is split over
// ranks, they need several steps.
def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = [{
    Has staged loops (Rule.h). If one is split, ops that compute the same replace the op. Each sum or maximum over the
    loop is then a separate result, which partitioning finishes before the next op reads it.
  }];
  let methods = [InterfaceMethod<"Builds these ops and returns a value per result.",
      "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::mlir::OpBuilder &":$builder)>];
}

// Ops with one output point per input point: fusion joins them. Broadcast operands are those whose
// rule lacks a loop.
def PointwiseOpInterface : OpInterface<"PointwiseOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = [{
    Computes results point by point. The loops of the rule are those of the results, in order. `buildPoint` emits scalar
    arith/math ops (which vectorise) for one point. `indices` are the *global* indices of the point's loops (index
    type), offset by the op's windows. Ops that draw random numbers all read their indices, and get two more: the first
    sample of the micro-batch and the stream.
  }];
  let methods = [InterfaceMethod<"Emits the scalar body and returns one value per result.",
    "::llvm::SmallVector<::mlir::Value>", "buildPoint",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands,
    "::mlir::ValueRange":$indices)>,
    InterfaceMethod<"Returns true if buildPoint reads its indices.", "bool", "needsIndices", (ins), "",
      "return false;">];
}

// Ops that use integers as indices: they limit the values of an integer input.
def IndexOpInterface : OpInterface<"IndexOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Takes integers as indices.";
  let methods = [
    InterfaceMethod<"Returns the exclusive limit of indices in operand `operand`; 0 if it holds none.", "int64_t",
    "getIndexLimit", (ins "unsigned":$operand)>,
    InterfaceMethod<"Returns a further index, which the op ignores.", "std::optional<int64_t>", "getIgnoredIndex",
    (ins), "", "return std::nullopt;">];
}

// Ops that draw random numbers, keyed so that neither plan nor layer order changes them.
def RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Draws random numbers by global element index, from the stream `id`.";
  let methods = [
    InterfaceMethod<"Returns the stream; 0 if none is set yet.", "int64_t", "getStream", (ins), "",
    "return $_op.getIdAttr() ? $_op.getIdAttr().getInt() : 0;">,
    InterfaceMethod<"Draws from another stream.", "void", "setStream", (ins "int64_t":$stream), "",
    "$_op.setId(static_cast<uint64_t>(stream));">,
    InterfaceMethod<"Makes this the op of call number `instance` of its block.", "void", "setInstance",
    (ins "uint64_t":$instance)>,
    InterfaceMethod<"Makes this the shard of an op whose result has `shape`, for ops that number its elements.",
      "void", "becomePartOf", (ins "::llvm::ArrayRef<int64_t>":$shape), "", "(void)shape;">];
}

// Ops that have a short form for people, without results for the backward pass, keys, and numbers
// that follow from a formula.
def ShortFormOpInterface : OpInterface<"ShortFormOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Has a short form, for models, and a complete one, for all passes except dtc-complete-ops.";
  let methods = [
    InterfaceMethod<"Returns true for the short form.", "bool", "isShort">,
    InterfaceMethod<[{
      Replaces the op by its complete form, at the insertion point of `builder`. Ops that draw random numbers take their
      stream from `nextStream`.
    }], "void", "writeOut", (ins "::mlir::OpBuilder &":$builder, "::llvm::function_ref<int64_t()>":$nextStream)>];
}

// Calls of blocks, once or several times: operand i is for argument i, result i is result i of the
// block.
def BlockCallOpInterface : OpInterface<"BlockCallOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = [{
    Executes a block. An operand or result that is a stack, while the block's argument or result is an entry of it,
    stands for one entry in each execution.
  }];
  let methods = [
    InterfaceMethod<"Returns the block.", "::mlir::FlatSymbolRefAttr", "getBlockAttr">,
    InterfaceMethod<"Makes it a call of another block.", "void", "setBlockAttr",
    (ins "::mlir::FlatSymbolRefAttr":$block)>,
    InterfaceMethod<"Returns the number of executions of the block.", "int64_t", "getNumExecutions">,
    InterfaceMethod<"Returns the number of carried operands and results, which come first.", "int64_t",
    "getNumCarried">,
    InterfaceMethod<"Returns true if execution starts with the last entry of stacks.", "bool", "isReversed">,
    InterfaceMethod<"Returns the instance of the first entry.", "int64_t", "getFirstInstance">,
    InterfaceMethod<"Returns the prefix of the names of the block's parameters, or null.", "::mlir::StringAttr",
      "getPrefixAttr">];
  let extraSharedClassDeclaration = [{
    ::llvm::StringRef getBlockName() { return $_op.getBlockAttr().getValue(); }
  }];
}

// Ops that can be planned but not compiled yet: graph, rules, gradients and costs are complete, so
// that plans can be searched.
def PlanOnlyOpInterface : OpInterface<"PlanOnlyOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Can be planned, but perhaps not compiled yet.";
  let methods = [InterfaceMethod<"Returns why the op cannot be compiled, as the end of a sentence; empty if it can.",
    "::std::string", "whyPlanOnly", (ins), "",
    [{return "has no kernels: experts with a capacity can be planned, not compiled; "
      "graph.route and the ops beside it drop nothing (a config.json without "
      "'moe_expert_capacity_factor')";}]>];
}
#endif
