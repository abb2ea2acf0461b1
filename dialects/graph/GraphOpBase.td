// Base classes and type constraints of the graph ops.
#ifndef DTC_GRAPH_OP_BASE_TD
#define DTC_GRAPH_OP_BASE_TD

include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "dialects/graph/GraphDialect.td"

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, traits>;

def Graph_FloatTensor : RankedTensorOf<[F32, BF16, F16]>;
def Graph_IntTensor : RankedTensorOf<[I32, I64]>;
def Graph_Tensor : RankedTensorOf<[F32, BF16, F16, I32, I64]>;
// Codes of numbers in 8 bits: optimizer state, which only the ops of StoredOps.td compute with.
def Graph_ByteTensor : RankedTensorOf<[I8]>;
def Graph_TensorOrBytes : RankedTensorOf<[F32, BF16, F16, I32, I64, I8]>;
def Graph_Stack : Type<CPred<"::llvm::isa<::dtc::graph::StackType>($_self)">, "stack of tensors">;
def Graph_Scalar : 0DTensorOf<[F32]>,
  BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getF32Type())">;
def Graph_Seed : 0DTensorOf<[I64]>,
  BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;

// An op with a sharding rule; `windows` is set by the partitioner only (see #graph.window).
def Graph_Rule : DeclareOpInterfaceMethods<RuleOpInterface>;
def Graph_Decompose : DeclareOpInterfaceMethods<DecomposeOpInterface>;
def Graph_Gradient : DeclareOpInterfaceMethods<GradientOpInterface>;
def Graph_Pointwise : DeclareOpInterfaceMethods<PointwiseOpInterface>;
def Graph_IndexedPointwise : DeclareOpInterfaceMethods<PointwiseOpInterface, ["needsIndices"]>;
def Graph_PlanOnly : DeclareOpInterfaceMethods<PlanOnlyOpInterface>;
def Graph_Index : DeclareOpInterfaceMethods<IndexOpInterface>;
def Graph_IndexButOne : DeclareOpInterfaceMethods<IndexOpInterface, ["getIgnoredIndex"]>;
def Graph_Random : DeclareOpInterfaceMethods<RandomOpInterface>;
def Graph_ShortForm : DeclareOpInterfaceMethods<ShortFormOpInterface>;
def Graph_RandomByShape : DeclareOpInterfaceMethods<RandomOpInterface, ["becomePartOf"]>;
#endif
