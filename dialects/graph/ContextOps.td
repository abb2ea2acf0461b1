// Ops of sequences that are on several ranks.
include "dialects/graph/GraphOpBase.td"

def Graph_ChunkStartsOp : Graph_Op<"chunk_starts", [Pure, Graph_Rule, Graph_IndexedPointwise]> {
  let summary = "Where chunks of sequences begin";
  let description = [{
    starts[b, c] = c * size + offset: the position of the first token of chunk c of each sequence, counted from a token
    -offset; with `within` [least, most] no less and no more than these. With `turned` [by, of], chunks are in groups of
    `of`, and chunk c stands for the one `by` places behind it in its group, around its end: chunk
    of * (c / of) + (c + by) mod of. `dtc-partition` makes it where attention's queries are split: keys in front of a
    rank's chunk are seen by all of its queries, and keys that pass round a ring are those of a chunk that turns. On the
    mesh both dims split, and `windows` give the chunks of this rank.

    Constraints:
    - (C1) `starts` has 2 dims.
    - (C2) `size` is 1 or more.
    - (C3) `windows` are about the chunks.
    - (C4) `within` has two numbers, the second no less than the first.
    - (C5) `turned` has two numbers, the first from 0 to below the second.

    Example:
    ```mlir
    %starts = graph.chunk_starts size 512 : tensor<4x8xi32>
    %seen = graph.chunk_starts size 512 offset -1024 within [0, 512] : tensor<4x8xi32>
    %passed = graph.chunk_starts size 512 turned [3, 4] : tensor<4x8xi32>
    ```
  }];
  let arguments = (ins I64Attr:$size, DefaultValuedAttr<I64Attr, "0">:$offset,
    OptionalAttr<DenseI64ArrayAttr>:$within, OptionalAttr<DenseI64ArrayAttr>:$turned,
    OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_IntTensor:$starts);
  let assemblyFormat = [{`size` $size (`offset` $offset^)? (`within` $within^)? (`turned` $turned^)?
    attr-dict `:` type($starts)}];
  let hasVerifier = 1;
}
