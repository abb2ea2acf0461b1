// Ops that read or write elements at indices that are data, and selection by size.
include "dialects/graph/GraphOpBase.td"

def Graph_GatherOp : Graph_Op<"gather", [Pure, Graph_Rule, Graph_Gradient, Graph_Index]> {
  let summary = "Reads the elements of a dim at indices";
  let description = [{
    y[..., i, ...] = x[..., index[..., i, ...], ...] along `dim`, as torch.gather. An index of one dim holds for all
    other dims, as in torch.index_select. Indices are integers or whole numbers in f32; an index outside of the dim
    gives 0. On the mesh the dim is whole, and the others split.

    Constraints:
    - (C1) `dim` is a dim of `x` of static size.
    - (C2) `index` has the dims of `x`, in any size along `dim`, or that dim alone, of static size.
    - (C3) the result has the dims of `x`, with the size of `index` along `dim`.
    - (C4) the result has the element type of `x`.
    - (C5) `index` is of integers or f32.

    Example:
    ```mlir
    %y = graph.gather %x, %i dim 1 : (tensor<?x8x4xf32>, tensor<?x3x4xi32>) -> tensor<?x3x4xf32>
    %z = graph.gather %x, %j dim 2 : (tensor<?x8x4xf32>, tensor<5xf32>) -> tensor<?x8x5xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_Tensor:$index, I64Attr:$dim);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $index `dim` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ScatterAddOp : Graph_Op<"scatter_add", [Pure, Graph_Rule, Graph_Gradient, Graph_Index]> {
  let summary = "Adds elements to zeros at indices of a dim";
  let description = [{
    y[..., j, ...] is the sum over i of u[..., i, ...] where index[..., i, ...] is j, along `dim`, as torch.scatter_add
    to zeros: the gradient of `graph.gather`. Sums are made in f32, in the order of i, and the result is f32. An index
    outside of the dim adds nothing. On the mesh the dim is whole, and the others split.

    Constraints:
    - (C1) `dim` is a dim of `u` of static size.
    - (C2) `index` has the dims of `u`, or the dim `dim` alone.
    - (C3) the result has the dims of `u`, in any static size along `dim`.
    - (C4) the result is f32.
    - (C5) `index` is of integers or f32.

    Example:
    ```mlir
    %y = graph.scatter_add %u, %i dim 1 : (tensor<?x3x4xf32>, tensor<?x3x4xi32>) -> tensor<?x8x4xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$u, Graph_Tensor:$index, I64Attr:$dim);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$u `,` $index `dim` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_TopKOp : Graph_Op<"top_k", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Selects the largest elements of a dim, in order";
  let description = [{
    The largest elements along `dim`, from the largest on, and their indices, as whole numbers in f32. With `smallest`,
    the smallest elements, from the smallest on. Of equal elements the one of the lower index comes first, and NaN is
    larger than all numbers, as in a stable torch.sort. Sorting is a selection of all elements. The work is that of
    looking at each element of the dim once for each one that is selected. On the mesh the dim is whole, and the others
    split.

    Constraints:
    - (C1) `dim` is a dim of `x` of static size.
    - (C2) both results have the dims of `x`, with at least 1 and at most all elements along `dim`.
    - (C3) the values have the element type of `x`, (C4) the indices are f32.
    - (C5) the dim has at most 2^24 elements, whose indices f32 holds.

    Example:
    ```mlir
    %v, %i = graph.top_k %x dim 1 : tensor<?x8xf32> -> (tensor<?x2xf32>, tensor<?x2xf32>)
    %w, %j = graph.top_k %x dim 1 smallest : tensor<?x8xf32> -> (tensor<?x8xf32>, tensor<?x8xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$dim, UnitAttr:$smallest);
  let results = (outs Graph_FloatTensor:$values, Graph_FloatTensor:$indices);
  let assemblyFormat = "$x `dim` $dim (`smallest` $smallest^)? attr-dict `:` type($x) `->` "
      "`(` type($values) `,` type($indices) `)`";
  let hasVerifier = 1;
}
