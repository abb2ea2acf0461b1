// Ops that move elements, and reductions.
include "dialects/graph/GraphOpBase.td"

def Graph_ReduceOp : Graph_Op<"reduce", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Combines the elements along dims";
  let description = [{
    `sum` (times `scale`), `max` or `mean` over `dims`, which the result lacks. A mean has no scale; `dtc-bind-batch`
    turns it into a sum with scale 1/count, so that partitioning keeps the global count. On the mesh a split dim of
    `dims` leaves a partial sum or maximum; padded elements of a maximum (`windows`) count as -infinity.

    Constraints:
    - (C1) `dims` are dims of `x` in ascending order.
    - (C2) the result has the other dims.
    - (C3) the result has the element type of `x`, or f32.
    - (C4) only a sum has a scale.
    - (C5) `windows` are about the dims of a maximum.

    Example:
    ```mlir
    %s = graph.reduce sum %x dims [0, 1] scale 0.5 : tensor<?x8x4xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_ReduceKindAttr:$kind, DenseI64ArrayAttr:$dims,
      DefaultValuedAttr<F64Attr, "1.0">:$scale,
    OptionalAttr<ArrayAttr>:$windows);   // max: padded elements count as -infinity
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "`` $kind $x `dims` $dims (`scale` $scale^)? attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$x, "::dtc::graph::ReduceKind":$kind,
    "::llvm::ArrayRef<int64_t>":$dims), [{
      build($_builder, $_state, result, x, kind, dims, ::llvm::APFloat(1.0), ::mlir::ArrayAttr());
    }]>];
  let hasVerifier = 1;
}

def Graph_CumsumOp : Graph_Op<"cumsum", [Pure, Graph_Rule, Graph_Gradient, SameOperandsAndResultType]> {
  let summary = "Adds up the elements along a dim, step by step";
  let description = [{
    Element i along `dim` is the sum of the elements 0 to i of `x`; with `reverse`, of the elements i to the last. Sums
    are made in f32, in order. The dim is whole on the mesh; the others split.

    Constraints:
    - (C1) `dim` is a dim of `x` of static size.

    Example:
    ```mlir
    %y = graph.cumsum %x dim 1 : tensor<?x8x4xf32>
    %z = graph.cumsum %x dim 1 reverse : tensor<?x8x4xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `dim` $dim (`reverse` $reverse^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_BroadcastOp : Graph_Op<"broadcast", [Pure, Graph_Rule, Graph_Gradient, Graph_Pointwise]> {
  let summary = "Repeats along new dims";
  let description = [{
    Result dims `dims` are new (or, if `x` has as many dims as the result, grow from 1); the others are those of `x` in
    order. If the batch is new and dynamic, dim 0 of `like` gives its size; its elements are not read.

    Constraints:
    - (C1) `dims` are dims of the result in ascending order.
    - (C2) the result has as many dims more than `x`, or as many as `x`.
    - (C3) a dim that grows has size 1 in `x`.
    - (C4) a new dim is dynamic only if it is dim 0 and `like` is present.
    - (C5) the other dims and the element type are those of `x`.
    - (C6) dim 0 of `like` is that of the result.

    Example:
    ```mlir
    %y = graph.broadcast %x dims [1] : tensor<4xf32> -> tensor<4x8xf32>
    %z = graph.broadcast %s like %tokens : tensor<?x8xi32>, dims [0, 1] : tensor<f32> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, DenseI64ArrayAttr:$dims,
    Optional<Graph_Tensor>:$like);   // gives the size of a dynamic batch
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x (`like` $like^ `:` type($like) `,`)? `dims` $dims attr-dict `:` type($x) `->` type($result)";
  let hasCanonicalizer = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Reads the same elements with another shape";
  let description = [{
    Elements keep their row-major order. On the mesh, dims that factor split: 4x6 to 24 has the loops 4 and 6, and the
    split of 24 is that of 4. Parts that do not factor are whole. A dynamic batch is one dim on each side, with the same
    number of elements before it on both; it may absorb dims behind it, and release them again. A row holds elements of
    one sample only: tensor<?x4xf32>, with a sample of 4 elements in each row, cannot become tensor<?x8xf32>.

    Constraints:
    - (C1) the element type stays.
    - (C2) both shapes hold the same elements.

    Example:
    ```mlir
    %y = graph.reshape %x : tensor<?x8x2x4xf32> -> tensor<?x8x8xf32>
    %rows = graph.reshape %y : tensor<?x8x8xf32> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Graph_TensorOrBytes:$x);
  let results = (outs Graph_TensorOrBytes:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_Op<"transpose", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Permutes dims";
  let description = [{
    Result dim i is dim `permutation[i]` of `x`. Any dim splits over the mesh.

    Constraints:
    - (C1) `permutation` has one entry per dim.
    - (C2) every dim appears once.
    - (C3) the result has the permuted shape.
    - (C4) the element type stays.

    Example:
    ```mlir
    %y = graph.transpose %x by [0, 2, 1] : tensor<?x8x4xf32> -> tensor<?x4x8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x `by` $permutation attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_Op<"slice", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Takes a range of one dim";
  let description = [{
    Elements [start, start + size) of `dim`. `squeeze` drops the dim, whose size must then be 1. The dim is whole on the
    mesh (unless all of it is taken); the others split.

    Constraints:
    - (C1) `dim` is a dim of `x` of static size.
    - (C2) the range is not empty and inside the dim.
    - (C3) `squeeze` takes one element.
    - (C4) the result has the sliced shape.
    - (C5) the element type stays.

    Example:
    ```mlir
    %q = graph.slice %qkv dim 2 start 0 size 1 squeeze : tensor<?x8x3x4x16xf32> -> tensor<?x8x4x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim, I64Attr:$start, I64Attr:$size, UnitAttr:$squeeze);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x `dim` $dim `start` $start `size` $size "
      "(`squeeze` $squeeze^)? attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_UnstackOp : Graph_Op<"unstack", [Pure, Graph_ShortForm]> {
  let summary = "Takes the elements of one dim apart";
  let description = [{
    Result i is element i of `dim`, without that dim: the inverse of `concat ... stack`. A short form, which
    `dtc-complete-ops` writes out as one `graph.slice` for each.

    Constraints:
    - (C1) `dim` is a dim of `x` of static size.
    - (C2) there are as many results as it has elements.
    - (C3) the results have the other dims of `x` and its element type.

    Example:
    ```mlir
    %q, %k, %v = graph.unstack %qkv dim 2 : tensor<?x8x3x4x16xf32> -> tensor<?x8x4x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim);
  let results = (outs Variadic<Graph_Tensor>:$elements);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Graph_PadOp : Graph_Op<"pad", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Adds zeros before and after one dim";
  let description = [{
    `low` zeros before and `high` zeros after the elements of `dim`: the gradient of `graph.slice`. The dim is whole on
    the mesh; the others split.

    Constraints:
    - (C1) `dim` is a dim of `x` of static size.
    - (C2) `low` and `high` are 0 or more.
    - (C3) the result has the padded shape.
    - (C4) the element type stays.

    Example:
    ```mlir
    %y = graph.pad %x dim 1 low 0 high 3 : tensor<?x5xf32> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim, I64Attr:$low, I64Attr:$high);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x `dim` $dim `low` $low `high` $high attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ConcatOp : Graph_Op<"concat", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Joins tensors along one dim";
  let description = [{
    The inputs one after the other along `dim`. `stack`: every input gets a new dim of size 1 at `dim` first; the
    inverse of `slice ... squeeze`. The dim is whole on the mesh; the others split.

    Constraints:
    - (C1) there is at least one input.
    - (C2) `dim` is a dim of the result of static size.
    - (C3) the result has as many dims as the inputs, one more with `stack`.
    - (C4) the other dims and the element type are those of the result.
    - (C5) the sizes along `dim` add up.

    Example:
    ```mlir
    %y = graph.concat %a, %b dim 1 : (tensor<?x3xf32>, tensor<?x5xf32>) -> tensor<?x8xf32>
    %s = graph.concat %q, %k, %v dim 2 stack : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>)
      -> tensor<?x8x3x4x16xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$dim, UnitAttr:$stack);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$inputs `dim` $dim (`stack` $stack^)? attr-dict `:` functional-type(operands, results)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}
