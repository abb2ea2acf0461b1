// What the stages of a pipeline tell each other.
include "dialects/graph/GraphOpBase.td"

def Graph_SendOp : Graph_Op<"send"> {
  let summary = "Sends a tensor to the stage of another chunk";
  let description = [{
    A pipeline cuts the model into chunks, which stages hold (`graph.stage_of_chunk` of the module). What one chunk makes and
    one of another stage uses is sent in `@microbatch` of the one and received in that of the other, under one name: each
    rank sends its part to the rank that differs from it on the pipeline's mesh axis alone. Shapes are local.

    Constraints:
    - (C1) both chunks are 0 or more, and are two.
    - (C2) the shape is static.
    - (C3) the name is not empty.

    Example:
    ```mlir
    graph.send %hidden chunk 0 to 1 "hidden" : tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$value, I64Attr:$from, I64Attr:$to, StrAttr:$name);
  let assemblyFormat = "$value `chunk` $from `to` $to $name attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Graph_ReceiveOp : Graph_Op<"receive"> {
  let summary = "Receives a tensor from the stage of another chunk";
  let description = [{
    What that stage sends of the same chunks under the same name (`graph.send`). Shapes are local.

    Constraints: those of `graph.send`.

    Example:
    ```mlir
    %hidden = graph.receive chunk 1 from 0 "hidden" : tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins I64Attr:$to, I64Attr:$from, StrAttr:$name);
  let results = (outs Graph_Tensor:$value);
  let assemblyFormat = "`chunk` $to `from` $from $name attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Graph_StageReduceOp : Graph_Op<"stage_reduce", [SameOperandsAndResultType]> {
  let summary = "Adds up a tensor over stages, or takes its maximum";
  let description = [{
    Every rank of the `stages` has the result: what the ranks have that differ from it on the pipeline's mesh axis alone,
    combined element by element. It stands in `@update` of each of these stages, in the same order among its like. What it
    moves, and whether compute may go on beside it, says its `#graph.communication`. Shapes are local.

    Constraints:
    - (C1) the stages are two at least, 0 or more, ascending and distinct.
    - (C2) it is a sum or a maximum.
    - (C3) the shape is static.

    Example:
    ```mlir
    %grad = graph.stage_reduce sum %part stages [0, 3] <gradient> : tensor<64x16xf32>
    ```
  }];
  let arguments = (ins Graph_ReduceKindAttr:$reduce, Graph_FloatTensor:$value, DenseI64ArrayAttr:$stages,
    Graph_CommunicationAttr:$communication);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$reduce $value `stages` $stages $communication attr-dict `:` type($value)";
  let hasVerifier = 1;
}
