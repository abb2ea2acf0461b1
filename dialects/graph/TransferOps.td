// Transfers between the stages of a pipeline.
include "dialects/graph/GraphOpBase.td"

def Graph_SendOp : Graph_Op<"send"> {
  let summary = "Sends a tensor to the stage of another chunk";
  let description = [{
    A pipeline cuts the model into chunks, which stages hold (`graph.stage_of_chunk` of the module). A value that a
    chunk of another stage uses is sent in `@microbatch` of its stage and received in that of the other, under one name:
    each rank sends its shard to the rank that differs from it on the pipeline's mesh axis alone. Shapes are local.

    Constraints:
    - (C1) both chunks are 0 or more, and differ.
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
    The value that the stage of the other chunk sends for the same chunks under the same name (`graph.send`). Shapes are
    local.

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
    Combines, element by element, the tensors of the ranks that differ on the pipeline's mesh axis alone; every rank of
    the `stages` has the result. It is in `@update` of each of these stages, in the same order among such ops. Its
    `#graph.communication` gives its role and if compute may overlap with it. Shapes are local.

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
