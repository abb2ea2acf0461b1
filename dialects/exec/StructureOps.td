// Programs, buffers, kernels and the declarations that connect them to the outside.
include "dialects/exec/ExecOpBase.td"

def Exec_ProgramOp : Exec_Op<"program", [IsolatedFromAbove, NoRegionArguments, NoTerminator, SingleBlock, Symbol,
    SymbolTable]> {
  let summary = "Holds the instructions that a class of ranks runs in each step";
  let description = [{
    A module has one program for all ranks, or several, each with the `ranks` that run it; together they have every rank
    of the mesh once (`dtc compile` writes no others). A program holds buffers and declarations, then tasks, then for
    each entry the order in which they run. A rank is numbered by the row-major index of its coordinates on the mesh,
    first axis outermost; the plan assigns ranks to processes when the file is written. A step has `micro_batches`.

    Constraints:
    - (C1) as many axis names as axis sizes, all sizes at least 1.
    - (C2) at least one stream, and every instruction is on an existing stream.
    - (C3) instructions are in tasks, or in a repeat of one; all other ops are not.
    - (C4) at least one micro-batch.
    - (C5) `ranks` are ranks of the mesh, at least one, ascending.
    - (C6) the buffers of an instruction are all in device memory; those of a launch or exec.zero may all be in host
      memory instead. A copy may go from one memory to the other, unless it adds.

    Example:
    ```mlir
    exec.program @step mesh ["dp"] sizes [2] {
      %x = exec.buffer "x" temporary f32 64 bytes
      exec.task @update {
        exec.zero %x
      }
      exec.entry train order [@update]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axis_names, DenseI64ArrayAttr:$axis_sizes,
    OptionalAttr<DenseI64ArrayAttr>:$ranks, DefaultValuedAttr<I64Attr, "1">:$micro_batches,
    OptionalAttr<I64Attr>:$arena_bytes,
    DefaultValuedAttr<I64Attr, "0">:$host_bytes, DefaultValuedAttr<I64Attr, "1">:$streams,
    DefaultValuedAttr<I64Attr, "0">:$events);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$sym_name `mesh` $axis_names `sizes` $axis_sizes (`ranks` $ranks^)?
      (`micro_batches` $micro_batches^)?
    (`arena` $arena_bytes^ `bytes`)? (`host` $host_bytes^ `bytes`)? (`streams` $streams^)?
    (`events` $events^)? attr-dict-with-keyword $body}];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::ArrayAttr":$axisNames,
      "::llvm::ArrayRef<int64_t>":$axisSizes)>];
  let extraClassDeclaration = [{
    // Returns the number of ranks of the mesh.
    int64_t getNumRanks();
    // Returns the ranks that run the program: `ranks`, or all.
    ::llvm::SmallVector<int64_t> getClass();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Exec_TaskOp : Exec_Op<"task", [NoRegionArguments, NoTerminator, SingleBlock, Symbol, HasParent<"ProgramOp">]> {
  let summary = "Holds instructions that run together";
  let description = [{
    Instructions in an order that one thread could run. With `per_micro_batch` the task runs once for each micro-batch
    of a step, else once per step. An instruction with `last` only runs in the last run of a step.

    Tasks are in the order in which the only micro-batch of a step would run them.

    Example:
    ```mlir
    exec.task @forward per_micro_batch {
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$per_micro_batch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`per_micro_batch` $per_micro_batch^)? attr-dict-with-keyword $body";
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "bool":$perMicroBatch)>];
  let extraClassDeclaration = [{
    // True if a step runs the task several times.
    bool isRepeated();
  }];
}

def Exec_RepeatOp : Exec_Op<"repeat", [NoRegionArguments, NoTerminator, SingleBlock, HasParent<"TaskOp">]> {
  let summary = "Runs instructions once for each of several equal layers";
  let description = [{
    Runs its instructions `count` times one after another, for layer 0, 1, ... Layers may differ in the buffers of an
    `exec.per_layer`, and by strides of rank scalars and events. `dtc-roll-layers` makes it from `count` consecutive
    repetitions.

    Constraints:
    - (C1) it has instructions and runs at least twice.
    - (C2) a buffer per layer that they use has one buffer for each layer.

    Example:
    ```mlir
    %a = exec.buffer "a" temporary f32 64 bytes
    %b = exec.buffer "b" temporary f32 64 bytes
    %all = exec.per_layer [%a, %b] "all"
    exec.task @update {
      exec.repeat 2 {
        exec.zero %all
      }
    }
    ```
  }];
  let arguments = (ins I64Attr:$count);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "int64_t":$count)>];
}

def Exec_EntryOp : Exec_Op<"entry", [HasParent<"ProgramOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Says in which order tasks run";
  let description = [{
    `train` is a training step, `evaluate` computes the loss alone, `gradients` is a step without its update. A run is a
    task, and its micro-batch if it has one.

    Constraints:
    - (C1) every run is of a task of the program; of one that is `per_micro_batch` with a micro-batch of the program.
    - (C2) no task runs twice for one micro-batch.

    Example:
    ```mlir
    exec.task @forward per_micro_batch {
    }
    exec.task @update {
    }
    exec.entry train order [@forward 0, @update]
    ```
  }];
  // One element of each list per run; a micro-batch of -1 means that the task has none.
  let arguments = (ins Exec_EntryKindAttr:$kind, FlatSymbolRefArrayAttr:$tasks, DenseI64ArrayAttr:$micro_batches);
  let assemblyFormat = "$kind `order` custom<Order>($tasks, $micro_batches) attr-dict";
}

def Exec_BufferOp : Exec_Op<"buffer", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Declares a byte range of an arena";
  let description = [{
    With `space host` the buffer is in the arena of host memory, which is planned separately, and launches on it run on
    the host; otherwise it is in device memory. Views are in the memory of their buffer.
    - `at` is the offset in the arena, once memory is planned; ranges of buffers that are never live together may then
      overlap.
    - `persistent`: the contents matter between steps, or to the runtime.
    - `carried`: the contents go from one run of a task to the next, as sums over micro-batches do.
    - `slots` n: there are n such ranges one after another, of which `at` is the first. Micro-batch m uses range m mod
      n, for data that it keeps from task to task while others run.

    Constraints:
    - (C1) bytes is positive and a whole number of elements.
    - (C2) the offset is a multiple of 64.
    - (C3) offset + bytes is within the program's arena of its memory, in all slots.
    - (C4) it has at most one of persistent, carried and slots; slots are at least 1.
    - (C5) parameters, gradients, inputs and outputs are in device memory.

    Example:
    ```mlir
    exec.program @step mesh ["dp"] sizes [1] arena 1088 bytes {
      %w = exec.buffer "wte" parameter f32 1024 bytes persistent at 64
    }
    exec.program @offloaded mesh ["dp"] sizes [1] arena 0 bytes host 1024 bytes {
      %m = exec.buffer "wte.momentum" optimizer f32 1024 bytes persistent space host at 0
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Exec_BufferKindAttr:$kind, TypeAttr:$dtype, I64Attr:$bytes, UnitAttr:$persistent,
    UnitAttr:$carried, UnitAttr:$host, OptionalAttr<I64Attr>:$slots, OptionalAttr<I64Attr>:$offset);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{$name $kind $dtype $bytes `bytes` (`persistent` $persistent^)? (`carried` $carried^)?
    (`space` `host` $host^)? (`slots` $slots^)? (`at` $offset^)? attr-dict}];
  let extraClassDeclaration = [{
    // Returns the bytes from one slot to the next: the size, rounded up to the alignment of
    // buffers.
    int64_t getSlotStride();
    // Returns the bytes of all slots in the arena.
    int64_t getAllBytes();
  }];
  let hasVerifier = 1;
}

def Exec_ViewOp : Exec_Op<"view", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Names a part of a buffer";
  let description = [{
    Shares the memory of `base` from byte `offset` on; each micro-batch is `micro_batch_stride` bytes after the previous
    one.

    Constraints:
    - (C1) offset + bytes is within the base, in all micro-batches.

    Example:
    ```mlir
    %tokens = exec.buffer "tokens" input i32 1024 bytes persistent
    %half = exec.view %tokens "tokens.half" i32 512 bytes at 512
    ```
  }];
  let arguments = (ins Exec_Buffer:$base, StrAttr:$name, TypeAttr:$dtype, I64Attr:$bytes, I64Attr:$offset,
    DefaultValuedAttr<I64Attr, "0">:$micro_batch_stride);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{$base $name $dtype $bytes `bytes` `at` $offset
    (`+` $micro_batch_stride^ `*` `micro_batch`)? attr-dict}];
  let hasVerifier = 1;
}

def Exec_PerLayerOp : Exec_Op<"per_layer", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Names a buffer of each layer";
  let description = [{
    In an exec.repeat it is the first of `buffers` in layer 0, the second in layer 1, and so on. In the file it is one
    buffer with a stride.

    Constraints:
    - (C1) it has at least one buffer, none of which is per layer itself; all have the same bytes, element type, kind,
      memory, stride of the micro-batch and number of slots.
    - (C2) once memory is planned, each is at the same distance from the previous one.
    - (C3) only instructions of an exec.repeat use it.

    Example:
    ```mlir
    %a = exec.buffer "a" temporary f32 64 bytes at 0
    %b = exec.buffer "b" temporary f32 64 bytes at 128
    %all = exec.per_layer [%a, %b] "all"
    ```
  }];
  let arguments = (ins Variadic<Exec_Buffer>:$buffers, StrAttr:$name);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "`[` $buffers `]` $name attr-dict";
  let extraClassDeclaration = [{
    // Returns the distance in bytes between consecutive layers; 0 before memory is planned.
    int64_t getStride();
  }];
  let hasVerifier = 1;
}

def Exec_KernelOp : Exec_Op<"kernel", [Symbol]> {
  let summary = "Declares a generated function";
  let description = [{
    `buffers` has the smallest size in bytes of each buffer that it takes, operands then results. `points` is the number
    of elements in a unit of its work; with `combines` a result depends on several of them, so that one block of threads
    computes a unit. `in_place` has pairs [result, operand] that may share memory.

    Example:
    ```mlir
    exec.kernel @kernel_0 buffers [64, 64] scalars 1 points 16 in_place [array<i64: 0, 0>]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$buffers, DefaultValuedAttr<I64Attr, "0">:$scalars,
    DefaultValuedAttr<I64Attr, "1">:$points, UnitAttr:$combines, OptionalAttr<ArrayAttr>:$in_place);
  let assemblyFormat = "$sym_name `buffers` $buffers (`scalars` $scalars^)? (`points` $points^)? "
      "(`combines` $combines^)? (`in_place` $in_place^)? attr-dict";
  let hasVerifier = 1;
}

defvar tensorFields = (ins StrAttr:$name, Exec_Buffer:$buffer, DenseI64ArrayAttr:$global_shape,
    DenseI64ArrayAttr:$stored_shape,
    DenseI64ArrayAttr:$local_shape, IndexListArrayAttr:$axes, OptionalAttr<DenseI64ArrayAttr>:$zigzag,
    Exec_InitKindAttr:$init,
    DefaultValuedAttr<F64Attr, "0.0">:$mean, DefaultValuedAttr<F64Attr, "0.0">:$stddev,
    DefaultValuedAttr<I64Attr, "0">:$init_key);
defvar tensorFormat = [{$name $buffer `global` $global_shape `stored` $stored_shape `local` $local_shape `axes` $axes
    (`zigzag` $zigzag^)? `init` $init (`mean` $mean^)? (`stddev` $stddev^)? (`key` $init_key^)? }];

// The fields of tensor declarations. `axes` has for each dim the mesh axes that split it, outermost
// first. `zigzag` lists the axes along which a rank holds two pieces. `local` is the shape on a
// rank, padding included.
class Exec_TensorDecl<string mnemonic, string what, string more = ""> : Exec_Op<mnemonic> {
  let summary = "Declares " # what;
  let description = more # [{
    Shapes are in elements: `global` without padding, `stored` as in safetensors (same elements, row-major), `local` as
    each rank holds them, ceil(global / ranks) in dims that `axes` splits. With n ranks on a `zigzag` axis, the rank at
    coordinate c has chunks c and 2n-1-c of 2n, so that its size is twice ceil(global / 2 ranks).

    Constraints:
    - (C1) the local shape is that of global, axes and mesh.
    - (C2) the buffer has the bytes of the local shape.
    - (C3) stored and global have as many elements.
    - (C4) no mesh axis splits two dims.
    - (C5) a dim that a zigzag axis splits has no other zigzag axis.

    Example:
    ```mlir
    %w = exec.buffer "w" parameter f32 64 bytes persistent
    exec.}] # mnemonic # [{ "w" %w global [7, 4] stored [28] local [4, 4] axes [[0], []] init zeros
    ```
  }];
  let arguments = tensorFields;
  let assemblyFormat = !strconcat(tensorFormat, "attr-dict");
  let hasVerifier = 1;
}
def Exec_ParameterOp : Exec_TensorDecl<"parameter", "a trained tensor">;
def Exec_StateOp : Exec_TensorDecl<"state", "an element of optimizer state", [{
    With `copy_of` it is the named parameter before rounding: what is read from a file for that one goes here, too.
}]> {
  let arguments = !con(tensorFields, (ins OptionalAttr<StrAttr>:$copy_of));
  let assemblyFormat = !strconcat(tensorFormat, "(`copy_of` $copy_of^)? attr-dict");
}
// The gradient of the parameter of its name; `init` does not apply to it. Multiplied by the output
// `gradient_scale` it is the gradient of the loss.
def Exec_GradientOp : Exec_TensorDecl<"gradient", "a gradient, as the entry `gradients` leaves it">;

def Exec_InputOp : Exec_Op<"input"> {
  let summary = "Declares a tensor that the runtime reads from data files in every step";
  let description = [{
    `shape` is what a rank reads: [micro-batches, samples, its part of a sample]; `axes` and `zigzag` are as in
    exec.parameter. Integers used as indices are at least 0 and less than `below`, or equal to `ignored`.

    Constraints:
    - (C1) the buffer has the bytes of the shape.
    - (C2) the shape has dims for micro-batches and samples, and `axes` an entry for each dim.

    Example:
    ```mlir
    %tokens = exec.buffer "tokens" input i32 4096 bytes persistent
    exec.input "tokens" %tokens shape [2, 4, 128] axes [[], [0], []] below 50257
    ```
  }];
  let arguments = (ins StrAttr:$name, Exec_Buffer:$buffer, DenseI64ArrayAttr:$shape, IndexListArrayAttr:$axes,
    OptionalAttr<DenseI64ArrayAttr>:$zigzag, DefaultValuedAttr<I64Attr, "0">:$below, OptionalAttr<I64Attr>:$ignored);
  let assemblyFormat = [{$name $buffer `shape` $shape `axes` $axes (`zigzag` $zigzag^)? (`below` $below^)?
    (`ignored` $ignored^)? attr-dict}];
  let hasVerifier = 1;
}
def Exec_ScalarOp : Exec_Op<"scalar"> {
  let summary = "Declares a number that the runtime sets every step";
  let description = [{
    The value is the same on all ranks: the step, counted from 1, options of the run, and the seed of its random
    numbers.

    Constraints:
    - (C1) the buffer holds one f32, or one i64 for the seed.

    Example:
    ```mlir
    %step = exec.buffer "step" input f32 4 bytes persistent
    exec.scalar step %step
    ```
  }];
  let arguments = (ins Exec_ScalarRoleAttr:$role, Exec_Buffer:$buffer);
  let assemblyFormat = "$role $buffer attr-dict";
  let hasVerifier = 1;
}
def Exec_OutputOp : Exec_Op<"output"> {
  let summary = "Declares a value that the runtime reports in every step";
  let description = [{
    Constraints:
    - (C1) the buffer holds one f32.

    Example:
    ```mlir
    %loss = exec.buffer "loss" output f32 4 bytes persistent
    exec.output loss %loss
    ```
  }];
  let arguments = (ins Exec_OutputRoleAttr:$role, Exec_Buffer:$buffer);
  let assemblyFormat = "$role $buffer attr-dict";
  let hasVerifier = 1;
}
