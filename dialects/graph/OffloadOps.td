// Ops that copy between device memory and host memory.
include "dialects/graph/GraphOpBase.td"

class Graph_MoveOp<string mnemonic, string to, string from> : Graph_Op<mnemonic,
    [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Copies a tensor to the memory of the " # to;
  let description = [{
    Copies `%x` from the memory of the }] # from # [{ to that of the }] # to # [{. `dtc-offload-update` inserts it
    into the step of one rank. Nothing folds it.

    Example:
    ```mlir
    %there = graph.}] # mnemonic # [{ %x : tensor<16x8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def Graph_ToHostOp : Graph_MoveOp<"to_host", "host", "device">;
def Graph_ToDeviceOp : Graph_MoveOp<"to_device", "device", "host">;
