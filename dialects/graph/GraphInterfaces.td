// What every graph op says about itself; passes use these and never the op's name.
#ifndef DTC_GRAPH_INTERFACES_TD
#define DTC_GRAPH_INTERFACES_TD

include "mlir/IR/OpBase.td"

def RuleOpInterface : OpInterface<"RuleOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "States how the op's loops map to its operands and results (Rule.h).";
  let methods = [InterfaceMethod<"The rule at the current operand types.", "::dtc::graph::OpRule", "getRule">];
}

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Builds the op's reverse-mode gradient.";
  let methods = [InterfaceMethod<[{
      Builds the gradients of the operands. `resultGrads[i]` is null where nothing flows back into result i; at least one
      is not null. Fills `operandGrads` (one per operand) for operands with `needed[i]`, leaving the others null.
      Fails after emitting a diagnostic when the op has no gradient.
    }], "::llvm::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads, "::llvm::ArrayRef<bool>":$needed,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGrads)>];
}

// Ops that add something up, or take its maximum, and go on with what comes out: where that loop is split over ranks, they
// can't be done in one go.
def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = [{
    Has staged loops (Rule.h). Where one is split the op is replaced by ops that compute the same, of which each sum or maximum
    over the loop is a result of its own: partitioning finishes it where the next op reads it.
  }];
  let methods = [InterfaceMethod<"Builds these ops and returns a value per result.", "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::mlir::OpBuilder &":$builder)>];
}

// Ops of one output point per input point: what fusion joins. Broadcast operands are those whose rule lacks a loop.
def PointwiseOpInterface : OpInterface<"PointwiseOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = [{
    Computes results point by point. The loops of the rule are those of the results, in order. `buildPoint` emits scalar arith/math ops
    (which vectorise) for one point; `indices` are the *global* indices of the point's loops (index type), offset by the op's windows,
    and of ops that draw random numbers, which all read their indices, then the first sample of the micro-batch and the stream.
  }];
  let methods = [InterfaceMethod<"Emits the scalar body and returns one value per result.",
    "::llvm::SmallVector<::mlir::Value>", "buildPoint",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands, "::mlir::ValueRange":$indices)>,
    InterfaceMethod<"Whether buildPoint reads its indices.", "bool", "needsIndices", (ins), "", "return false;">];
}

// Ops that look something up by integers: what an input that is given to them may hold.
def IndexOpInterface : OpInterface<"IndexOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Takes integers as indices.";
  let methods = [
    InterfaceMethod<"Indices in operand `operand` are from 0 to below this; 0 where it holds none.", "int64_t", "getIndexLimit", (ins "unsigned":$operand)>,
    InterfaceMethod<"An index that the op leaves out, besides those.", "std::optional<int64_t>", "getIgnoredIndex", (ins), "", "return std::nullopt;">];
}

// Ops that draw random numbers: keyed so that neither plan nor layer order changes them.
def RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Draws random numbers by global element index, from the stream `id`.";
  let methods = [
    InterfaceMethod<"The stream; 0 where none is given yet.", "int64_t", "getStream", (ins), "", "return $_op.getIdAttr() ? $_op.getIdAttr().getInt() : 0;">,
    InterfaceMethod<"Draws from another stream.", "void", "setStream", (ins "int64_t":$stream), "", "$_op.setId(static_cast<uint64_t>(stream));">,
    InterfaceMethod<"Makes this the op of call number `instance` of its block.", "void", "setInstance", (ins "uint64_t":$instance)>,
    InterfaceMethod<"Makes this the part of one rank of an op whose result has `shape`, for ops whose element index is that of the whole.",
      "void", "becomePartOf", (ins "::llvm::ArrayRef<int64_t>":$shape), "", "(void)shape;">];
}

// Ops that people write without what follows from the rest: results for the backward pass, keys, numbers that have a formula.
def ShortFormOpInterface : OpInterface<"ShortFormOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Has a short form, as models are written, and a complete one, which all passes but dtc-complete-ops see.";
  let methods = [
    InterfaceMethod<"Whether something is left out.", "bool", "isShort">,
    InterfaceMethod<[{
      Replaces the op by its complete form, at the place of `builder`. Ops that draw random numbers take their stream from
      `nextStream`.
    }], "void", "writeOut", (ins "::mlir::OpBuilder &":$builder, "::llvm::function_ref<int64_t()>":$nextStream)>];
}

// Calls of blocks, once or several times: operand i is for argument i, result i is result i of the block.
def BlockCallOpInterface : OpInterface<"BlockCallOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = [{
    Executes a block. An operand or result that is a stack where the block's argument or result is an entry of it stands for
    one of them in each execution.
  }];
  let methods = [
    InterfaceMethod<"The block.", "::mlir::FlatSymbolRefAttr", "getBlockAttr">,
    InterfaceMethod<"Makes it a call of another block.", "void", "setBlockAttr", (ins "::mlir::FlatSymbolRefAttr":$block)>,
    InterfaceMethod<"How often the block is executed.", "int64_t", "getNumExecutions">,
    InterfaceMethod<"How many first operands and results go from one execution to the next.", "int64_t", "getNumCarried">,
    InterfaceMethod<"Whether the last entry of stacks is first.", "bool", "isReversed">,
    InterfaceMethod<"The instance of the block that its first entry is.", "int64_t", "getFirstInstance">,
    InterfaceMethod<"Where the names of the block's parameters are, or null.", "::mlir::StringAttr", "getPrefixAttr">];
  let extraSharedClassDeclaration = [{
    ::llvm::StringRef getBlockName() { return $_op.getBlockAttr().getValue(); }
  }];
}

// Ops ahead of the compiler: graph, rules, gradients and costs are complete, so that plans can be searched.
def PlanOnlyOpInterface : OpInterface<"PlanOnlyOpInterface"> {
  let cppNamespace = "::dtc::graph";
  let description = "Can be planned, but perhaps not compiled yet.";
  let methods = [InterfaceMethod<"Why the op cannot be compiled, as the end of a sentence about it; empty when it can.",
    "::std::string", "whyPlanOnly", (ins), "",
    [{return "has no kernels yet: mixtures of experts can be planned, and compiled once expert parallelism is there";}]>];
}
#endif
