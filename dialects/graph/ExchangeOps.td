// Rows of experts that are on several ranks: tensors that move between placements, blocks of rows
// for each rank, the rounds in which they move, and their order by expert on the rank that receives
// them. graph.place_rows and graph.pack_rows (RouteOps.td) make the blocks.
include "dialects/graph/GraphOpBase.td"

class Graph_ExchangeFamilyOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, [Pure, Graph_Rule] # traits> {
  let hasVerifier = 1;
}

def Graph_ExchangeOp : Graph_ExchangeFamilyOp<"exchange", [Graph_Gradient, AllTypesMatch<["x", "result"]>]> {
  let summary = "A tensor whose split by ranks of experts or of sequences moves from one dim to another";
  let description = [{
    Returns `x`. Ranks of an axis of role `expert` have different samples before the experts of a layer, different
    experts within, and different samples again behind; those of role `context` have parts of the sequence, of the
    heads, and of the sequence again. They split dim `from` of `x` where it is made, and dim `to` of the result:
    `dtc-partition` replaces this op by the one all-to-all that it takes. Along other axes the result is placed as `x`,
    partial sums too. The gradient moves back.

    Constraints:
    - (C1) `from` and `to` are different dims of `x`.

    Example:
    ```mlir
    %received = graph.exchange %blocks from 1 to 0 : tensor<2x?x256x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$from, I64Attr:$to);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x `from` $from `to` $to attr-dict `:` type($x)";
}

def Graph_RoundRowsOp : Graph_ExchangeFamilyOp<"round_rows", [AllTypesMatch<["rowOf", "result"]>]> {
  let summary = "The rows of choices in the blocks of one round";
  let description = [{
    `rowOf` of `graph.place_rows` numbers the rows of blocks that have room for all choices of a sample. Round r of
    blocks with less `room` has the rows r * room to (r + 1) * room of each block, so that each choice is in one round.
    The result is the row of the choice in the blocks of the round, and -1 for a choice of another one.

    On the mesh the batch splits.

    Constraints:
    - (C1) `rowOf` is i32 [batch, sequence, top], with all but the batch static.
    - (C2) `room` is from 1 to sequence * top, and `round` is one of ceil(sequence * top / room).

    Example:
    ```mlir
    %now = graph.round_rows %rowOf round 1 room 160 : tensor<?x128x2xi32>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$rowOf, I64Attr:$round, I64Attr:$room);
  let results = (outs Graph_IntTensor:$result);
  let assemblyFormat = "$rowOf `round` $round `room` $room attr-dict `:` type($rowOf)";
}

def Graph_RoundCountsOp : Graph_ExchangeFamilyOp<"round_counts", [AllTypesMatch<["counts", "result"]>]> {
  let summary = "The number of rows of each expert in the blocks of one round";
  let description = [{
    A block has the rows of one sample for the `experts` experts of a rank, by expert. `counts[b, e]` are those of
    expert e, and the result says how many of them are among the rows round * room to (round + 1) * room of the block.
    Over all rounds they add up to `counts`.

    On the mesh batch and ranks split, the latter with the experts.

    Constraints:
    - (C1) `counts` is i32 [batch, experts of all ranks], the second dim static and a multiple of `experts`.
    - (C2) `room` is 1 or more, and `round` 0 or more.

    Example:
    ```mlir
    %now = graph.round_counts %counts experts 4 round 1 room 160 : tensor<?x8xi32>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$counts, I64Attr:$experts, I64Attr:$round, I64Attr:$room);
  let results = (outs Graph_IntTensor:$result);
  let assemblyFormat = "$counts `experts` $experts `round` $round `room` $room attr-dict `:` type($counts)";
}

def Graph_PlaceBlocksOp : Graph_ExchangeFamilyOp<"place_blocks"> {
  let summary = "Orders the rows of blocks by expert";
  let description = [{
    The result has a number for each row of blocks [ranks, batch, rows, columns], in which block (r, b) has the rows of
    sample b for the experts of rank r, ordered by expert, at its begin. A row that is there has the number that it gets
    if all are ordered by expert, and by sample and place in the block among those of one expert. Block (r, b) has
    `counts[b, e]` rows of expert e; each rank has as many experts, which are neighbours. Rows that are not there have
    the negative numbers -1 - n, where n counts on behind the last row that is.

    On the mesh batch and ranks split, the latter with the experts.

    Constraints:
    - (C1) `counts` is i32 [batch, experts], the experts static.
    - (C2) the result is i32 [ranks, batch, rows], ranks and rows static.
    - (C3) `ranks` divides the experts.

    Example:
    ```mlir
    %rowOf = graph.place_blocks %counts : (tensor<?x8xi32>) -> tensor<2x?x256xi32>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$counts);
  let results = (outs Graph_IntTensor:$result);
  let assemblyFormat = "$counts attr-dict `:` functional-type(operands, results)";
}

def Graph_SortRowsOp : Graph_ExchangeFamilyOp<"sort_rows", [Graph_Gradient]> {
  let summary = "Copies the rows of blocks into the order of experts";
  let description = [{
    Row rowOf[r, b, j] of the result, of all of its rows in order, is blocks[r, b, j, :]; rows that no block has are
    zero, and what blocks have there is not read. On the mesh batch, ranks and columns split: a split of ranks is one of
    experts. The gradient is `graph.unsort_rows`.

    Constraints:
    - (C1) `blocks` is [ranks, batch, rows, columns], with all but the batch static.
    - (C2) `rowOf` is i32 [ranks, batch, rows].
    - (C3) the result is [experts, batch, mean, columns] in the element type of `blocks`, the experts a multiple of
      ranks, (C4) with room for all rows of blocks.

    Example:
    ```mlir
    %rows = graph.sort_rows %blocks at %rowOf
      : (tensor<2x?x256x16xf32>, tensor<2x?x256xi32>) -> tensor<8x?x64x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$blocks, Graph_IntTensor:$rowOf);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$blocks `at` $rowOf attr-dict `:` functional-type(operands, results)";
}

def Graph_UnsortRowsOp : Graph_ExchangeFamilyOp<"unsort_rows", [Graph_Gradient]> {
  let summary = "Copies rows in the order of experts back into blocks";
  let description = [{
    blocks[r, b, j, :] is row rowOf[r, b, j], or zero where that is negative: the transpose of `graph.sort_rows`, with
    its shapes. Partial sums of rows give partial sums.

    Constraints: (C1) to (C4) of `graph.sort_rows`, with `rows` for the result and the result for `blocks`.

    Example:
    ```mlir
    %blocks = graph.unsort_rows %rows at %rowOf
      : (tensor<8x?x64x16xf32>, tensor<2x?x256xi32>) -> tensor<2x?x256x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_IntTensor:$rowOf);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$rows `at` $rowOf attr-dict `:` functional-type(operands, results)";
}
