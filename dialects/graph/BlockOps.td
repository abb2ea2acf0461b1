// Blocks: the parameters that they declare, calls and repeats.
include "dialects/graph/GraphOpBase.td"

def Graph_ParamOp : Graph_Op<"param"> {
  let summary = "Declares parameters of the function around it, and reads them";
  let description = [{
    A block owns its parameters: their names are relative to the place of its instantiation (`under` of `graph.call` and
    `graph.repeat`); those of `@loss` are full names. There is one result per parameter, in order. Attributes are those
    of `graph.parameter` (`decay`, `frozen`); `stored` gives the dims of the type that make up each dim in a checkpoint
    file, so that no size is repeated. `dtc-instantiate-blocks` turns them into `graph.parameter`s, the only form that
    other passes see.

    Constraints:
    - (C1) there is a result for each parameter.
    - (C2) the shape is static.
    - (C3) `stored` has the dims of the type, in order.
    - (C4) the standard deviation is 0 or more.
    - (C5) a name is not empty, and has at most one `{}`, in `@loss` none.

    Example:
    ```mlir
    %ln_weight, %ln_bias = graph.param "ln_1.weight" ones, "ln_1.bias" zeros : tensor<768xf32>, tensor<768xf32>
    %w = graph.param "attn.c_attn.weight" normal(0.0, 0.02) stored [[0], [1, 2, 3]] decay : tensor<768x3x12x64xf32>
    %table = graph.param "wte.weight" normal(0.0, 0.02) frozen : tensor<256x768xf32>
    ```
  }];
  let arguments = (ins TypedArrayAttrBase<Graph_DeclarationAttr, "declarations">:$declarations);
  let results = (outs Variadic<Graph_FloatTensor>:$results);
  let assemblyFormat = "custom<Declarations>($declarations) attr-dict `:` type($results)";
  let hasVerifier = 1;
}

def Graph_CallOp : Graph_Op<"call", [CallOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<BlockCallOpInterface>]> {
  let summary = "Calls a block";
  let description = [{
    `under` is the prefix of the names of the parameters that the block declares (`graph.param`): with "encoder" the
    full name of its "ln.weight" is "encoder.ln.weight". `instance` is the number of the block's execution: inlining
    adds `65536 * instance` to the streams of the block's random ops, so that each draws different numbers. A call of a
    kernel has the `streams` of its random ops, in order, so that one kernel serves all of them.

    Constraints:
    - (C1) the callee is a `graph.func`.
    - (C2) there are as many arguments as the callee has, (C3) of the same types.
    - (C4) there are as many results as the callee has, (C5) of the same types.
    - (C6) `instance` is 0 or more.
    - (C7) `under` has no `{}`, and neither have names of the block where `@loss` calls it: there is one instance.

    Example:
    ```mlir
    %y = graph.call @block(%x, %w) instance 3 : (tensor<?x8x16xf32>, tensor<16x16xf32>) -> tensor<?x8x16xf32>
    %z = graph.call @encoder(%y) under "encoder" : (tensor<?x8x16xf32>) -> tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands, OptionalAttr<StrAttr>:$under,
    DefaultValuedAttr<I64Attr, "0">:$instance,  // the execution of the block: keys random streams
    OptionalAttr<DenseI64ArrayAttr>:$streams,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let results = (outs Variadic<AnyType>:$results);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::FlatSymbolRefAttr":$callee,
      "::mlir::ValueRange":$operands, "int64_t":$instance)>];
  let assemblyFormat = [{$callee `(` $operands `)` (`under` $under^)? (`instance` $instance^)?
      (`streams` $streams^)? attr-dict `:`
    functional-type($operands, results)}];
  let extraClassDeclaration = [{
    operand_range getArgOperands() { return getOperands(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() { return getOperandsMutable(); }
    ::mlir::CallInterfaceCallable getCallableForCallee() { return getCalleeAttr(); }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(::llvm::cast<::mlir::FlatSymbolRefAttr>(::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
  }];
}

def Graph_RepeatOp : Graph_Op<"repeat", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<BlockCallOpInterface>]> {
  let summary = "Runs a block several times, each on what the one before returned";
  let description = [{
    The first `carrying` (default 1) results of the block are passed from one execution to the next: they are its first
    arguments, start as the first operands, and are the first results at the end. Among the other operands, a stack
    (`!graph.stack`) gives execution i its entry i; any other operand is the same for all. The other results of the
    block are collected in stacks, entry i by execution i. With `reversed` the executions go from the last entry to the
    first.

    `under` is as in `graph.call`, with `{}` for the number of the execution: "h.{}" turns the block's "ln.weight" into
    the parameters "h.0.ln.weight", "h.1.ln.weight" and so on; "h.{4}" counts from 4. Execution i is instance `instance`
    + i of the block.

    Names of the block may have the `{}` instead of `under`, and count by a step: where layers alternate, a block has
    one period of them, and its "h.{0:2}.w" and "h.{1:2}.w" are the parameters "h.0.w", "h.2.w" ... of the layers with
    even numbers, and "h.1.w", "h.3.w" ... of the others.

    Differentiation, placement and partitioning keep the repeat, whatever `count`; the schedule unrolls it.

    Constraints:
    - (C1) the callee is a `graph.func`.
    - (C2) `count` is from 1 to 65536.
    - (C3) there are as many operands as the callee has arguments, (C4) of the same types or stacks of them.
    - (C5) there are as many results as the callee has.
    - (C6) a carried value has one type as operand, argument and result, of the block and of the op.
    - (C7) other results are stacks of `count` of the callee's types.
    - (C8) `under` and a name of the block have one `{}` together.
    - (C9) `instance` is 0 or more.

    Example:
    ```mlir
    %y = graph.repeat 12 @block(%x) under "transformer.h.{}" : (tensor<?x8x16xf32>) -> tensor<?x8x16xf32>
    %z = graph.repeat 12 @layer(%y, %w) : (tensor<?x8x16xf32>, !graph.stack<12 x tensor<16x16xf32>>)
        -> tensor<?x8x16xf32>
    // 12 layers, of which @pair has two: it declares "h.{0:2}.w" and "h.{1:2}.w".
    %u = graph.repeat 6 @pair(%z) : (tensor<?x8x16xf32>) -> tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins I64Attr:$count, FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands,
      DefaultValuedAttr<I64Attr, "1">:$carrying,
    UnitAttr:$reversed, OptionalAttr<StrAttr>:$under, DefaultValuedAttr<I64Attr, "0">:$instance);
  let results = (outs Variadic<AnyType>:$results);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "int64_t":$count, "::mlir::FlatSymbolRefAttr":$callee,
    "::mlir::ValueRange":$operands, "int64_t":$carrying, "bool":$reversed, "int64_t":$instance)>];
  let assemblyFormat = [{$count (`reversed` $reversed^)? $callee `(` $operands `)` (`carrying` $carrying^)?
      (`under` $under^)?
    (`instance` $instance^)? attr-dict `:` functional-type($operands, results)}];
}
