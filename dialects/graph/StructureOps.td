// Parameters, state and functions.
include "dialects/graph/GraphOpBase.td"

def Graph_ParameterOp : Graph_Op<"parameter", [Symbol]> {
  let summary = "Declares a tensor that is trained, or frozen";
  let description = [{
    A tensor that training changes, unless it is `frozen`. Its type is the global, unpadded shape, also after
    partitioning. `placement` (set from the plan) is the storage placement: the shard that each rank keeps between
    steps. `in_use` is the placement in which the step reads it, if that differs: each use gathers it, and its gradient
    is brought back to the storage placement. The initial value depends only on the name's key, the seed and the global
    element index, so it is the same under every plan.

    - `init`: `zeros`, `ones`, `constant(value)` or `normal(mean, stddev)`.
    - `stored`: the shape in a checkpoint file (safetensors) if it differs; the elements are in the same order.
    - `decay`: weight decay applies.
    - `frozen`: it keeps its value. It has no gradient, no state and no update, and backward stops before ops that
      depend on frozen parameters alone.

    A `*` in the name stands for the index in dim 0: the parameter consists of as many tensors of a checkpoint file, one
    for each index, with the number for the `*` and the other dims. So the weights of all experts of a layer are one
    parameter.

    With `repeats` n it is n parameters of the type, one for each execution of a `graph.repeat`: `{}` in the name stands
    for the number of the execution, and all have one placement. Braces may set the first number: `h.{4}.w` with
    `repeats` 2 is `h.4.w` and `h.5.w`, for a repeat that continues one of 4 executions. A step follows `:`, for a
    block that has several layers: `h.{1:2}.w` with `repeats` 2 is `h.1.w` and `h.3.w`.

    Constraints:
    - (C1) the shape is static.
    - (C2) `stored` has as many elements as the type.
    - (C3) `placement` holds no partial.
    - (C4) `placement` splits dims that exist.
    - (C5) the standard deviation is 0 or more.
    - (C6) a name has at most one `*`, and then the type a dim for it, which `stored` keeps.
    - (C7) `in_use` holds no partial, splits dims that exist, and has an entry for each one of `placement`.
    - (C8) the name has a `{}` with `repeats`, which is 1 or more, and none without.

    Example:
    ```mlir
    graph.parameter @"h.{}.ln_1.weight" : tensor<768xf32> init ones repeats 12
    graph.parameter @"h.{12}.ln_1.weight" : tensor<768xf32> init ones repeats 4
    graph.parameter @"experts.*.w1.weight" : tensor<8x56x32xf32> init normal(0.0, 0.02) decay
    graph.parameter @"wte.weight" : tensor<50257x768xf32> init normal(0.0, 0.02) decay
    graph.parameter @"wpe.weight" : tensor<1024x768xf32> init normal(0.0, 0.02) frozen
    graph.parameter @"h.0.attn.c_attn.weight" : tensor<768x3x12x64xf32> init normal(0.0, 0.02) stored [768, 2304] decay
      placement <[replicate, shard(2)]>
    graph.parameter @"lm_head.weight" : tensor<50257x768xf32> init zeros
        placement <[shard(0), shard(1)]> in_use <[replicate, shard(1)]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_FloatTensor>:$type,
    Graph_InitKindAttr:$init, DefaultValuedAttr<F64Attr, "0.0">:$mean, DefaultValuedAttr<F64Attr, "0.0">:$stddev,
    OptionalAttr<DenseI64ArrayAttr>:$stored_shape,     // shape in safetensors; default: the type's shape
    UnitAttr:$decay,                                    // weight decay applies
    UnitAttr:$frozen,  // training does not change it
    OptionalAttr<I64Attr>:$repeats,  // number of members, with numbers in their names; default: one
    OptionalAttr<Graph_PlacementAttr>:$placement,  // storage placement; set from the plan
    OptionalAttr<Graph_PlacementAttr>:$in_use);  // default: the storage placement
  let assemblyFormat = [{$sym_name `:` $type `init` custom<Init>($init, $mean, $stddev) (`stored` $stored_shape^)?
    (`decay` $decay^)? (`frozen` $frozen^)? (`repeats` $repeats^)? (`placement` $placement^)?
    (`in_use` $in_use^)? attr-dict}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    // Returns the type of graph.get: the type, or a stack of `repeats` of it.
    ::mlir::Type getValueType();
    // Returns the names of the parameters that it stands for.
    ::llvm::SmallVector<std::string> getMemberNames();
  }];
}

def Graph_StateOp : Graph_Op<"state", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Declares a tensor that is kept between steps and not trained";
  let description = [{
    A tensor that `@update` keeps for the next step, besides parameters: moments of a parameter, its copy in another
    element type, a loss scale, running statistics, a counter. Its initial value is `init`, zero by default. The type is
    the global shape.

    The state of a parameter is placed like it, or split further (under ZeRO). A parameter with `repeats` has equally
    many states, with a `{}` in their name too. A state without a parameter is whole on every rank.

    The last dim of a state with `graph.block` counts blocks of that many elements along the last dim of the parameter:
    it has a number for each, such as the largest magnitude of another state there. All states of such a parameter are
    split as this one is, so that no block is on two ranks.

    With `graph.by_rank` it has one more dim in front, which counts the ranks of data parallelism: each has its own
    part. With `graph.own_shape` it has any shape, and all ranks have the same. Compressed gradients have both.

    With `copy` it is the parameter itself in a wider element type: the tensor that is trained, of which the parameter
    is the rounded value. It starts as the unrounded initial value of the parameter.

    Constraints:
    - (C1) the shape is static.
    - (C2) `placement` holds no partial.
    - (C3) `placement` splits dims that exist.
    - (C4) the parameter exists.
    - (C5) the shape is the parameter's; the last dim is one for each `graph.block` elements of the parameter's.
    - (C6) the name has a `{}` if the parameter's has one, with the same number, and none without a parameter.
    - (C7) only floating-point numbers start random, with a standard deviation of at least 0.
    - (C8) a copy is of a parameter, in f32, and has no other initial value.

    Example:
    ```mlir
    graph.state @"wte.weight.exp_avg" of @"wte.weight" : tensor<50257x768xf32>
    graph.state @"lm_head.weight.master" copy of @"lm_head.weight" : tensor<50257x768xf32>
    graph.state @loss_scale : tensor<f32> init constant(65536.0)
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$copy, OptionalAttr<FlatSymbolRefAttr>:$parameter,
      TypeAttrOf<Graph_TensorOrBytes>:$type,
    DefaultValuedAttr<Graph_InitKindAttr, "InitKind::Zeros">:$init, DefaultValuedAttr<F64Attr, "0.0">:$mean,
    DefaultValuedAttr<F64Attr, "0.0">:$stddev, OptionalAttr<Graph_PlacementAttr>:$placement);
  let assemblyFormat = [{$sym_name (`copy` $copy^)? (`of` $parameter^)? `:` $type
      custom<OptionalInit>($init, $mean, $stddev)
    (`placement` $placement^)? attr-dict}];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FlatSymbolRefAttr":$parameter,
      "::mlir::Type":$type)>];
}

def Graph_GetOp : Graph_Op<"get", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Reads a parameter or state";
  let description = [{
    The value at the start of the step. Only top-level functions (`@loss`, `@microbatch`, `@update`) read; blocks take
    parameters as arguments. On the mesh the result is this rank's shard: each split dim divided by the sizes of its
    mesh axes, rounded up (the mesh is the op `shard.grid @mesh`).

    Constraints:
    - (C1) the symbol is a parameter or a state.
    - (C2) its placement has one entry per mesh axis.
    - (C3) the type is the symbol's, or with a placement that of one rank's shard; with `repeats` a stack of as many.

    Example:
    ```mlir
    %all = graph.get @"h.{}.ln_1.weight" : !graph.stack<12 x tensor<768xf32>>
    %w = graph.get @"wte.weight" : tensor<50257x768xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$symbol);
  let results = (outs AnyTypeOf<[Graph_TensorOrBytes, Graph_Stack]>:$result);
  let assemblyFormat = "$symbol attr-dict `:` type($result)";
}

def Graph_SetOp : Graph_Op<"set", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Replaces a parameter or state at the end of the step";
  let description = [{
    Every `graph.get` of the step sees the old value. On the mesh the value is this rank's shard.

    Constraints:
    - (C1) the symbol is a parameter or a state.
    - (C2) its placement has one entry per mesh axis.
    - (C3) the type is the symbol's, or with a placement that of one rank's shard; with `repeats` a stack of as many.

    Example:
    ```mlir
    graph.set @"wte.weight", %new : tensor<50257x768xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$symbol, AnyTypeOf<[Graph_TensorOrBytes, Graph_Stack]>:$value);
  let assemblyFormat = "$symbol `,` $value attr-dict `:` type($value)";
}

def Graph_InputOp : Graph_Op<"input", [Pure]> {
  let summary = "Reads a scalar that the runtime supplies every step";
  let description = [{
    `step` counts from 1; `base_lr` and `total_steps` are options of the run; `seed` keys all random numbers. The same
    on every rank.

    Constraints:
    - (C1) `seed` is i64, the others are f32.

    Example:
    ```mlir
    %step = graph.input step : tensor<f32>
    ```
  }];
  let arguments = (ins Graph_InputRoleAttr:$role);
  let results = (outs 0DTensorOf<[F32, I64]>:$result);   // seed is i64, the others f32
  let assemblyFormat = "`` $role attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_FuncOp : Graph_Op<"func", [FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Defines a block of the model or a part of the step";
  let description = [{
    A private function is a block: a layer that `graph.call` repeats. The public ones are `@loss` (the model) and later
    `@microbatch` and `@update` (the step). With `kernel` it is a fusion group that becomes one generated kernel and is
    not inlined. Arguments and results may carry `graph.input`, `graph.output`, `graph.gradient_of` and
    `graph.placement`.

    The arguments of `@loss` are the inputs of the model: a run reads them from its data files, under the names of the
    arguments (`%labels` is input "labels"; in `@microbatch` the attribute `graph.input` keeps it). An input is of f32
    or i32, and its first dim is the batch.

    Constraints:
    - (C1) the body is one block.
    - (C2) `graph.input` is a letter or '_', then letters, digits, '_', '.' and '-'; no two arguments have the same.
    - (C3) an input is a tensor of f32 or i32 with a dim for the batch.

    Example:
    ```mlir
    graph.func @loss(%scores: tensor<?x10xf32>, %labels: tensor<?xi32>) -> tensor<f32> {
      %rows, %lse = graph.cross_entropy %scores, %labels : (tensor<?x10xf32>, tensor<?xi32>)
          -> (tensor<?xf32>, tensor<?xf32>)
      %mean = graph.reduce mean %rows dims [0] : tensor<?xf32> -> tensor<f32>
      graph.return %mean : tensor<f32>
    }
    graph.func private @block(%x: tensor<?x8x16xf32>, %w: tensor<16x16xf32>) -> tensor<?x8x16xf32> {
      %y = graph.linear %x, %w : (tensor<?x8x16xf32>, tensor<16x16xf32>) -> tensor<?x8x16xf32>
      graph.return %y : tensor<?x8x16xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<StrAttr>:$sym_visibility, OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs,
    UnitAttr:$kernel);     // outlined fusion group: becomes one generated kernel
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Graph_ReturnOp : Graph_Op<"return", [Pure, HasParent<"FuncOp">, ReturnLike, Terminator]> {
  let summary = "Ends a function";
  let description = [{
    Constraints:
    - (C1) there is one operand per result of the function.
    - (C2) their types are those of the results.

    Example:
    ```mlir
    graph.return %loss : tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}
