// Ops that move elements, and reductions.
include "dialects/graph/GraphOpBase.td"

// %s = graph.reduce sum %x dims [0, 1] scale 0.5 : tensor<?x8x4xf32> -> tensor<4xf32>; mean has no scale and becomes a
// sum with scale 1/count in dtc-bind-batch, so that partitioning keeps the global count.
def Graph_ReduceOp : Graph_Op<"reduce", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Combines the elements along dims";
  let arguments = (ins Graph_FloatTensor:$x, Graph_ReduceKindAttr:$kind, DenseI64ArrayAttr:$dims, DefaultValuedAttr<F64Attr, "1.0">:$scale,
    OptionalAttr<ArrayAttr>:$windows);   // max: padded elements count as -infinity
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$kind $x `dims` $dims (`scale` $scale^)? attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$x, "::dtc::graph::ReduceKind":$kind,
    "::llvm::ArrayRef<int64_t>":$dims), [{
      build($_builder, $_state, result, x, kind, dims, ::llvm::APFloat(1.0), ::mlir::ArrayAttr());
    }]>];
  let hasVerifier = 1;
}
// Inserts dims: result dims `dims` are new (or, where kept, grow from 1); the others are x's in order.
def Graph_BroadcastOp : Graph_Op<"broadcast", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise]> {
  let summary = "Repeats along new dims";
  let arguments = (ins Graph_FloatTensor:$x, DenseI64ArrayAttr:$dims,
    Optional<Graph_Tensor>:$like);   // gives the size of a dynamic batch
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x (`like` $like^ `:` type($like) `,`)? `dims` $dims attr-dict `:` type($x) `->` type($result)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}
def Graph_ReshapeOp : Graph_Op<"reshape", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Reads the same elements with another shape";
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
// Result dim i is x's dim permutation[i].
def Graph_TransposeOp : Graph_Op<"transpose", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Permutes dims";
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x `by` $permutation attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
// `squeeze` drops the dim (size must be 1): %q = graph.slice %qkv dim 2 start 0 size 1 squeeze : tensor<?x8x3x4x16xf32> -> tensor<?x8x4x16xf32>
def Graph_SliceOp : Graph_Op<"slice", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Takes a range of one dim";
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim, I64Attr:$start, I64Attr:$size, UnitAttr:$squeeze);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x `dim` $dim `start` $start `size` $size (`squeeze` $squeeze^)? attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
// Zeros around x along one dim.
def Graph_PadOp : Graph_Op<"pad", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Adds zeros before and after one dim";
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim, I64Attr:$low, I64Attr:$high);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x `dim` $dim `low` $low `high` $high attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
// `stack`: every input gets a new dim of size 1 first; the inverse of slice ... squeeze.
def Graph_ConcatOp : Graph_Op<"concat", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Joins tensors along one dim";
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$dim, UnitAttr:$stack);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$inputs `dim` $dim (`stack` $stack^)? attr-dict `:` functional-type(operands, results)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}
