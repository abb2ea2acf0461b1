// Parameters, state, functions and calls.
include "dialects/graph/GraphOpBase.td"

// graph.parameter @"transformer.wte.weight" : tensor<50257x768xf32> init normal(0.0, 0.02) stored [50257, 768] decay
def Graph_ParameterOp : Graph_Op<"parameter", [Symbol]> {
  let summary = "Declares a trained tensor";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_FloatTensor>:$type,
    Graph_InitKindAttr:$init, DefaultValuedAttr<F64Attr, "0.0">:$mean, DefaultValuedAttr<F64Attr, "0.0">:$stddev,
    OptionalAttr<DenseI64ArrayAttr>:$stored_shape,     // shape in safetensors; default: the type's shape
    UnitAttr:$decay,                                    // weight decay applies
    OptionalAttr<Graph_PlacementAttr>:$placement);      // set from the plan
  let assemblyFormat = [{$sym_name `:` $type `init` custom<Init>($init, $mean, $stddev) (`stored` $stored_shape^)?
    (`decay` $decay^)? (`placement` $placement^)? attr-dict}];
  let hasVerifier = 1;
}

// graph.state @"wte.exp_avg" of @wte : tensor<...>: zero at the start, kept between steps, placed like the optimizer.
def Graph_StateOp : Graph_Op<"state", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Declares optimizer state of a parameter";
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$parameter, TypeAttrOf<Graph_FloatTensor>:$type,
    OptionalAttr<Graph_PlacementAttr>:$placement);
  let assemblyFormat = "$sym_name `of` $parameter `:` $type (`placement` $placement^)? attr-dict";
}

// Only in top-level functions (@loss, @microbatch, @update); blocks take parameters as arguments.
def Graph_GetOp : Graph_Op<"get", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Reads a parameter or state";
  let arguments = (ins FlatSymbolRefAttr:$symbol);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$symbol attr-dict `:` type($result)";
}
def Graph_SetOp : Graph_Op<"set", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Replaces a parameter or state at the end of the step";
  let arguments = (ins FlatSymbolRefAttr:$symbol, Graph_FloatTensor:$value);
  let assemblyFormat = "$symbol `,` $value attr-dict `:` type($value)";
}
def Graph_InputOp : Graph_Op<"input", [Pure]> {
  let summary = "Reads a scalar that the runtime supplies every step";
  let arguments = (ins Graph_InputRoleAttr:$role);
  let results = (outs 0DTensorOf<[F32, I64]>:$result);   // seed is i64, the others f32
  let assemblyFormat = "$role attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_FuncOp : Graph_Op<"func", [FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope]> {
  let summary = "Defines a block of the model or a part of the step";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<StrAttr>:$sym_visibility, OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
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
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}
// %y = graph.call @block(%x, %w) instance 3 : (tensor<...>, tensor<...>) -> tensor<...>
def Graph_CallOp : Graph_Op<"call", [CallOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Calls a block";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands,
    DefaultValuedAttr<I64Attr, "0">:$instance,      // which layer: keys random streams and names in messages
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$callee `(` $operands `)` (`instance` $instance^)? attr-dict `:` functional-type($operands, results)";
  let extraClassDeclaration = [{
    operand_range getArgOperands() { return getOperands(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() { return getOperandsMutable(); }
    ::mlir::CallInterfaceCallable getCallableForCallee() { return getCalleeAttr(); }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(::llvm::cast<::mlir::FlatSymbolRefAttr>(::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
  }];
}
