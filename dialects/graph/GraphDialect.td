// The dialect, its enums and its attributes.
#ifndef DTC_GRAPH_DIALECT_TD
#define DTC_GRAPH_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "dialects/graph/GraphInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::dtc::graph";
  let summary = "A training graph on one logical device";
  let description = [{
    Tensor ops with the names of the field. A model is a module of `graph.parameter`s, block functions (`graph.func`,
    called once per layer) and one function `@loss`. Shapes are static except for the batch, which is the first dim and
    dynamic until `dtc-bind-batch`. After partitioning the same ops stand for the shard of one rank, with upstream
    `shard` collectives between them.

    Passes communicate by discardable attributes (dialects/graph/Attributes.h), which the dialect checks on every
    holder: the module, the mesh, a collective, an op, an argument or a result.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

class Graph_I32Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dtc::graph";
  let genSpecializedAttr = 0;
}
class Graph_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Graph_Dialect, info, mnemonic>;

def Graph_ReduceKind : Graph_I32Enum<"ReduceKind", "how values combine", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Mean", 2, "mean">]>;
def Graph_ReduceKindAttr : Graph_EnumAttr<Graph_ReduceKind, "reduce_kind">;

def Graph_GeluKind : Graph_I32Enum<"GeluKind", "which GELU", [
  I32EnumAttrCase<"Erf", 0, "erf">, I32EnumAttrCase<"Tanh", 1, "tanh">]>;
def Graph_GeluKindAttr : Graph_EnumAttr<Graph_GeluKind, "gelu_kind">;

def Graph_ScheduleKind : Graph_I32Enum<"ScheduleKind", "shape of the learning rate over steps", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Cosine", 1, "cosine">]>;
def Graph_ScheduleKindAttr : Graph_EnumAttr<Graph_ScheduleKind, "schedule_kind">;

def Graph_InitKind : Graph_I32Enum<"InitKind", "how a parameter starts", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">,
  I32EnumAttrCase<"Constant", 2, "constant">, I32EnumAttrCase<"Normal", 3, "normal">]>;
def Graph_InitKindAttr : Graph_EnumAttr<Graph_InitKind, "init_kind">;

def Graph_InputRole : Graph_I32Enum<"InputRole", "a value that the runtime supplies every step", [
  I32EnumAttrCase<"Step", 0, "step">, I32EnumAttrCase<"BaseLr", 1, "base_lr">,
  I32EnumAttrCase<"TotalSteps", 2, "total_steps">, I32EnumAttrCase<"Seed", 3, "seed">]>;
def Graph_InputRoleAttr : Graph_EnumAttr<Graph_InputRole, "input_role">;

def Graph_CollectiveRole : Graph_I32Enum<"CollectiveRole", "what a collective moves", [
  I32EnumAttrCase<"Gradient", 0, "gradient">,  // the gradient of a parameter, for the optimizer
  // a parameter from its storage placement to that of its use, or a new one from the optimizer
  I32EnumAttrCase<"Parameter", 1, "parameter">,
  I32EnumAttrCase<"Activation", 2, "activation">, // a tensor inside of the step, forward or backward
  I32EnumAttrCase<"Expert", 3, "expert">,  // tokens sent to their experts or back
  I32EnumAttrCase<"Pipeline", 4, "pipeline">,  // activations and gradients between stages
  I32EnumAttrCase<"Control", 5, "control">]>;     // single numbers: loss, norm

def Graph_AxisRole : Graph_I32Enum<"AxisRole", "what a mesh axis is for", [
  I32EnumAttrCase<"Data", 0, "data">,  // ranks along it have different samples
  I32EnumAttrCase<"Tensor", 1, "tensor">,  // ranks along it have different parts of the weights
  // ranks along it have different parts of each sequence, through attention
  I32EnumAttrCase<"Context", 2, "context">,
  I32EnumAttrCase<"Expert", 3, "expert">,  // ranks along it have different experts
  I32EnumAttrCase<"Pipeline", 4, "pipeline">]>;  // ranks along it have different layers

class Graph_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<Graph_Dialect, name, traits> {
  let mnemonic = mnem;
}

// #graph.placement<[replicate, shard(1), partial(sum)]>: one entry per mesh axis, outermost first.
def Graph_PlacementAttr : Graph_Attr<"Placement", "placement"> {
  let summary = "Where a tensor lives: one entry per mesh axis";
  let description = [{
    `replicate`, `shard(dim)` or `partial(sum|max)`, for sums and maxima that are still to be taken over the axis.

    Axes that split the same dim do so in the order of the mesh, outermost first; `[shard(0), shard(0)]` on 2x4 gives
    the rank at (i, j) part 4i + j of 8. `level` sets another order: by ascending level, then in the order of the mesh.
    `[shard(0, level 1), shard(0)]` gives it part 2j + i. Levels are the smallest that express the order, so that equal
    placements are equal attributes.

    `shard(dim, zigzag)` cuts the part that outer axes leave into 2n chunks, of which the rank at coordinate c of n has
    c and 2n-1-c; inner axes split each of the two.

    A dim is padded once, at its end, to equal pieces for all ranks.
  }];
  let parameters = (ins ArrayRefParameter<"::dtc::graph::AxisPlacement">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

// #graph.window<loop = 2, local = 6283, global = 50257, axes = [1]>
def Graph_WindowAttr : Graph_Attr<"Window", "window"> {
  let summary = "Which part of a global loop this rank has";
  let description = [{
    `axes` are the mesh axes that split loop `loop`, outermost first; without axes the loop is whole, only padded. Local
    index i is global index `coordinate * local + i`, with the coordinate counted over all axes; indices of `global` or
    more are padding. With a `zigzag` axis the rank has two pieces of local / 2, one after the other, which start where
    the #graph.placement says.
  }];
  let parameters = (ins "unsigned":$loop, "int64_t":$local, "int64_t":$global,
    OptionalArrayRefParameter<"int64_t">:$axes, DefaultValuedParameter<"int64_t", "-1">:$zigzag);
  let assemblyFormat = [{`<` `loop` `=` $loop `,` `local` `=` $local `,` `global` `=` $global
    (`,` `axes` `=` `[` $axes^ `]`)? (`zigzag` $zigzag^)? `>`}];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isSplit() const { return !getAxes().empty(); }
    int64_t getPieces() const { return getZigzag() < 0 ? 1 : 2; }
    int64_t getPieceSize() const { return getLocal() / getPieces(); }
  }];
}

// #graph.declaration<"attn.c_attn.weight" normal(0.0, 0.02) stored [[0], [1, 2, 3]] decay>
def Graph_DeclarationAttr : Graph_Attr<"Declaration", "declaration"> {
  let summary = "A parameter that a block declares, but for its type";
  let description = [{
    `name` is relative to the place of the block's instantiation. `stored` gives the number of dims of the type that
    make up each dim in a checkpoint file; empty if the shape is stored unchanged. `decay` and `frozen` are those of
    `graph.parameter`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::dtc::graph::InitKind":$init,
      APFloatParameter<"mean, or value of a constant">:$mean, APFloatParameter<"standard deviation">:$stddev,
    OptionalArrayRefParameter<"int64_t">:$stored, "bool":$decay, "bool":$frozen);
  let hasCustomAssemblyFormat = 1;
}

// #graph.communication<gradient async>
def Graph_CommunicationAttr : Graph_Attr<"Communication", "communication"> {
  let summary = "What a collective moves, and whether compute may go on beside it";
  let description = [{
    Set when partitioning inserts a collective (`graph.communication`), and kept up to the executable. `async`: the
    result is not needed soon, so the collective may run on a stream of its own. `use` numbers the uses, from 1, of a
    parameter whose storage placement differs from the one in which it is used; where keys pass round a ring, those of
    the forward pass (1) and of the backward pass (2). It keeps the collectives of both apart, so that what they bring
    is not kept from one to the other.
  }];
  let parameters = (ins "::dtc::graph::CollectiveRole":$role, "bool":$async, "int64_t":$use);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

// !graph.stack<12 x tensor<768xf32>>
def Graph_StackType : TypeDef<Graph_Dialect, "Stack"> {
  let mnemonic = "stack";
  let summary = "Several tensors of one type, one for each execution of a repeat";
  let description = [{
    `graph.repeat` distributes its entries to the executions of its block, and collects results in one. It is not a
    tensor with one more dim: the schedule decides the addresses of its entries.
  }];
  let parameters = (ins "int64_t":$count, "::mlir::RankedTensorType":$entry);
  let assemblyFormat = "`<` $count `x` $entry `>`";
  let genVerifyDecl = 1;
}
#endif
