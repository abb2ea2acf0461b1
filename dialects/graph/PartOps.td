// Long sums in two steps, which fill a GPU: the sums of parts, then the sums over all parts.
// dtc-split-sums makes them from ops that are one sum, after partitioning: they work on a rank's
// shards.
include "dialects/graph/GraphOpBase.td"

class Graph_PartOp<string mnemonic> : Graph_Op<mnemonic, [Pure]> {
  let hasVerifier = 1;
}

def Graph_ChunkSquaresOp : Graph_PartOp<"chunk_squares"> {
  let summary = "Sums the squares of chunks of tensors";
  let description = [{
    Tensor i is cut into `chunks[i]` runs of elements, all except the last with the same multiple of 1024 elements. The
    result has the sums of their squares, tensor by tensor, and zeros after them. Shapes are local.

    Constraints:
    - (C1) `chunks` has an entry for each tensor, each 1 or more.
    - (C2) the tensors have one element type, and static shapes.
    - (C3) the result has one dim, a multiple of 4 that is no less than the sum of `chunks`, and is in f32.

    Example:
    ```mlir
    %p = graph.chunk_squares %w, %b chunks [3, 1] : (tensor<200x192xf32>, tensor<192xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_FloatTensor>:$tensors, DenseI64ArrayAttr:$chunks);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$tensors `chunks` $chunks attr-dict `:` functional-type($tensors, $result)";
}

def Graph_SumChunksOp : Graph_PartOp<"sum_chunks"> {
  let summary = "Sums all elements of results of graph.chunk_squares";
  let description = [{
    Constraints:
    - (C1) the operands, one at least, are in f32 and have one static dim, a multiple of 4.

    Example:
    ```mlir
    %s = graph.sum_chunks %p, %q : tensor<4xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_FloatTensor>:$sums);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$sums attr-dict `:` type($sums)";
}

def Graph_RowPartSumsOp : Graph_PartOp<"row_part_sums"> {
  let summary = "Sums parts of the rows of a tensor";
  let description = [{
    Dim 0 of the result is the part, its other dims are the last ones of `x`; it sums over the first dims of `x`, its
    rows. All parts have equally many rows, except the last ones.

    Constraints:
    - (C1) the last dims of `x` are those of the result after its first.
    - (C2) all dims are static, and dim 0 of the result is 1 or more.
    - (C3) the result is in f32.

    Example:
    ```mlir
    %p = graph.row_part_sums %x : tensor<8x1024x768xbf16> -> tensor<86x768xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def Graph_NormParamGradPartsOp : Graph_PartOp<"norm_param_grad_parts"> {
  let summary = "Sums parts of the rows of the parameter gradients of a norm";
  let description = [{
    The sums of parts, as in `graph.row_part_sums`, of dweight = sum over rows of dy * (x - mean) * rstd, and of dbias =
    sum over rows of dy if there is a second result. Without `mean`, as for rms_norm, it is 0.

    Constraints:
    - (C1) `dy` has the shape of `x`, `rstd` and `mean` that of its rows, in f32.
    - (C2) there are one or two results of one type, in f32: [parts, last dim of `x`], all static.

    Example:
    ```mlir
    %dw, %db = graph.norm_param_grad_parts %x, %rstd, %dy mean %mean
        : (tensor<64x16xf32>, tensor<64xf32>, tensor<64x16xf32>, tensor<64xf32>)
      -> (tensor<4x16xf32>, tensor<4x16xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy,
      Optional<Graph_FloatTensor>:$mean);
  let results = (outs Variadic<Graph_FloatTensor>:$parts);
  let assemblyFormat = "$x `,` $rstd `,` $dy (`mean` $mean^)? attr-dict `:` functional-type(operands, results)";
}

def Graph_SumPartsOp : Graph_PartOp<"sum_parts"> {
  let summary = "Sums tensors over their parts";
  let description = [{
    Result i is the sum of operand i over dim 0, times `scale`.

    Constraints:
    - (C1) the operands are of one type, in f32, of two static dims or more.
    - (C2) there are as many results, with the other dims.

    Example:
    ```mlir
    %b = graph.sum_parts %p scale 0.5 : (tensor<86x768xf32>) -> tensor<768xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_FloatTensor>:$parts, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Variadic<Graph_FloatTensor>:$results);
  let assemblyFormat = "$parts (`scale` $scale^)? attr-dict `:` functional-type($parts, $results)";
}
