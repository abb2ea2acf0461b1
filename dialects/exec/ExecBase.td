// The exec dialect, its enums, attributes and types, and the interface of instructions.
#ifndef DTC_EXEC_DIALECT_TD
#define DTC_EXEC_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::dtc::exec";
  let summary = "The instructions that ranks run in each step, on buffers";
  let description = [{
    Programs that ranks run: tasks, which are lists of instructions over byte ranges of one arena, and the order in
    which they run, in one `exec.program` for each class of ranks. The dialect has the vocabulary of the executable file
    (runtime/format/dte.fbs), so that emission translates op by op. Values that depend on the rank within its class, the
    micro-batch or the layer are an `#exec.rank_scalar`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Exec_I32Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dtc::exec";
  let genSpecializedAttr = 0;
}
class Exec_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Exec_Dialect, info, mnemonic>;

def Exec_BufferKind : Exec_I32Enum<"BufferKind", "what a buffer is counted as", [
  I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Gradient", 1, "gradient">,
  I32EnumAttrCase<"Optimizer", 2, "optimizer">, I32EnumAttrCase<"Activation", 3, "activation">,
  I32EnumAttrCase<"Temporary", 4, "temporary">, I32EnumAttrCase<"Communication", 5, "communication">,
  I32EnumAttrCase<"Input", 6, "input">, I32EnumAttrCase<"Output", 7, "output">]>;
def Exec_BufferKindAttr : Exec_EnumAttr<Exec_BufferKind, "buffer_kind">;

def Exec_CollectiveKind : Exec_I32Enum<"CollectiveKind", "which collective", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">, I32EnumAttrCase<"AllGather", 1, "all_gather">,
  I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">, I32EnumAttrCase<"AllToAll", 3, "all_to_all">]>;
def Exec_CollectiveKindAttr : Exec_EnumAttr<Exec_CollectiveKind, "collective_kind">;

def Exec_CollectiveRole : Exec_I32Enum<"CollectiveRole", "what a collective moves", [
  I32EnumAttrCase<"Gradient", 0, "gradient">, I32EnumAttrCase<"Parameter", 1, "parameter">,
  I32EnumAttrCase<"Activation", 2, "activation">, I32EnumAttrCase<"Expert", 3, "expert">,
  I32EnumAttrCase<"Pipeline", 4, "pipeline">, I32EnumAttrCase<"Control", 5, "control">]>;
def Exec_CollectiveRoleAttr : Exec_EnumAttr<Exec_CollectiveRole, "collective_role">;

def Exec_ReduceKind : Exec_I32Enum<"ReduceKind", "how values combine", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]>;
def Exec_ReduceKindAttr : Exec_EnumAttr<Exec_ReduceKind, "reduce_kind">;

def Exec_InitKind : Exec_I32Enum<"InitKind", "how a tensor starts", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">,
  I32EnumAttrCase<"Constant", 2, "constant">, I32EnumAttrCase<"Normal", 3, "normal">]>;
def Exec_InitKindAttr : Exec_EnumAttr<Exec_InitKind, "init_kind">;

def Exec_ScalarRole : Exec_I32Enum<"ScalarRole", "a number that the runtime supplies every step", [
  I32EnumAttrCase<"Step", 0, "step">, I32EnumAttrCase<"BaseLr", 1, "base_lr">,
  I32EnumAttrCase<"TotalSteps", 2, "total_steps">, I32EnumAttrCase<"Seed", 3, "seed">]>;
def Exec_ScalarRoleAttr : Exec_EnumAttr<Exec_ScalarRole, "scalar_role">;

def Exec_OutputRole : Exec_I32Enum<"OutputRole", "a value that the runtime reports every step", [
  I32EnumAttrCase<"Loss", 0, "loss">, I32EnumAttrCase<"GradNorm", 1, "grad_norm">,
  I32EnumAttrCase<"LearningRate", 2, "learning_rate">, I32EnumAttrCase<"GradientScale", 3, "gradient_scale">,
  I32EnumAttrCase<"SkippedSteps", 4, "skipped_steps">, I32EnumAttrCase<"LossScale", 5, "loss_scale">,
  I32EnumAttrCase<"LossWeight", 6, "loss_weight">, I32EnumAttrCase<"LossBeside", 7, "loss_beside">]>;
def Exec_OutputRoleAttr : Exec_EnumAttr<Exec_OutputRole, "output_role">;

// #exec.rank_scalar<5> is 5. #exec.rank_scalar<5 + 16 * axis 1 - 2 * axis 2 + 4 * micro_batch - 3 *
// layer> is 5 + 16 * coordinate on mesh axis 1 - 2 * coordinate on mesh axis 2 + 4 * micro-batch of
// the task's run - 3 * layer of the enclosing exec.repeat.
def Exec_RankScalarAttr : AttrDef<Exec_Dialect, "RankScalar"> {
  let mnemonic = "rank_scalar";
  let summary = "base + sum of stride * coordinate of the rank on a mesh axis + stride * micro-batch + stride * layer";
  let description = [{
    `strides[i]` belongs to mesh axis i; axes beyond the last stride have none.
  }];
  let parameters = (ins "int64_t":$base, OptionalArrayRefParameter<"int64_t">:$strides,
    DefaultValuedParameter<"int64_t", "0">:$microBatchStride, DefaultValuedParameter<"int64_t", "0">:$layerStride);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    AttrBuilder<(ins "int64_t":$base), "return $_get($_ctxt, base, ::llvm::ArrayRef<int64_t>(), 0, 0);">];
  let extraClassDeclaration = [{
    bool isConstant() const { return getStrides().empty() && getMicroBatchStride() == 0 && getLayerStride() == 0; }
    // Returns the smallest and largest value on any rank of the mesh, in any micro-batch and layer.
    // The mesh must have all axes that have a stride.
    std::pair<int64_t, int64_t> getBounds(::llvm::ArrayRef<int64_t> axisSizes, int64_t microBatches,
    int64_t layers) const;
    // Returns the scalar with another base and another stride of the layer.
    RankScalarAttr withLayers(int64_t base, int64_t layerStride) const {
      return get(getContext(), base, getStrides(), getMicroBatchStride(), layerStride);
    }
    // Returns the scalar with `terms` (axis, stride), in any order; terms of one axis are added up.
    static RankScalarAttr getOfTerms(::mlir::MLIRContext *context, int64_t base,
      ::llvm::ArrayRef<std::pair<int64_t, int64_t>> terms, int64_t microBatchStride = 0, int64_t layerStride = 0);
  }];
  let genVerifyDecl = 1;
}
def Exec_RankScalars : TypedArrayAttrBase<Exec_RankScalarAttr, "array of rank scalars">;

def Exec_RanksAttr : AttrDef<Exec_Dialect, "Ranks"> {
  let mnemonic = "ranks";
  let summary = "Lists of ranks that meet";
  let description = [{
    `members` are lists of `size` ranks, one after another. A rank is in one list, or in none and then takes no part.
    The file reader checks that all ranks of a program that uses the attribute are in a list. Example:
    `#exec.ranks<"ends", 2, [0, 6, 1, 7]>` has the lists 0, 6 and 1, 7.
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size, ArrayRefParameter<"int64_t">:$members);
  let assemblyFormat = "`<` $name `,` $size `,` `[` $members `]` `>`";
  let genVerifyDecl = 1;
}

def Exec_EntryKind : Exec_I32Enum<"EntryKind", "what a run of a program's tasks is for", [
  I32EnumAttrCase<"Train", 0, "train">, I32EnumAttrCase<"Evaluate", 1, "evaluate">,
  I32EnumAttrCase<"Gradients", 2, "gradients">]>;
def Exec_EntryKindAttr : Exec_EnumAttr<Exec_EntryKind, "entry_kind">;

def Exec_Buffer : TypeDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A byte range of an arena";
}

def InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::dtc::exec";
  let description = [{
    An instruction of a task: the buffers that it reads and writes, its stream, and the runs of the task in which it
    takes part. Streams run concurrently, each in program order; `exec.record` and `exec.wait` order them. Passes over
    programs use this interface and never the op's name.
  }];
  let methods = [
    InterfaceMethod<"Returns its buffers by name, read ones first; null for an absent one.",
      "::llvm::SmallVector<std::pair<::llvm::StringRef, ::mlir::Value>>", "getNamedBuffers", (ins), "", [{
        ::llvm::SmallVector<std::pair<::llvm::StringRef, ::mlir::Value>> buffers;
        for (auto [index, name] : ::llvm::enumerate($_op.getBufferNames())) {
          auto group = $_op.getODSOperands(index);
          buffers.emplace_back(name, group.empty() ? ::mlir::Value() : *group.begin());
        }
        return buffers;
      }]>,
    InterfaceMethod<"Returns true if it adds to its output, and so reads it too.", "bool", "accumulates", (ins), "",
      "return ::dtc::exec::hasUnit($_op, ::dtc::exec::kAccumulate);">,
    InterfaceMethod<"Returns the buffers that it reads, in a fixed order.",
      "::llvm::SmallVector<::mlir::Value>", "getReadBuffers", (ins), "", [{
        ::llvm::SmallVector<::mlir::Value> buffers;
        for (unsigned i = 0; i < ConcreteOp::numReads; ++i)
          ::llvm::append_range(buffers, $_op.getODSOperands(i));
        if ($_op.accumulates())
          ::llvm::append_range(buffers, $_op.getWrittenBuffers());
        return buffers;
      }]>,
    InterfaceMethod<"Returns the buffers that it writes, in a fixed order; one may also be read.",
      "::llvm::SmallVector<::mlir::Value>", "getWrittenBuffers", (ins), "", [{
        ::llvm::SmallVector<::mlir::Value> buffers;
        for (unsigned i = 0; i < ConcreteOp::numWrites; ++i)
          ::llvm::append_range(buffers, $_op.getODSOperands(ConcreteOp::numReads + i));
        return buffers;
      }]>,
    InterfaceMethod<"Returns the stream that it runs on.", "int64_t", "getInstructionStream", (ins), "",
    "return $_op.getStream();">,
    InterfaceMethod<"Moves it to another stream.", "void", "setInstructionStream", (ins "int64_t":$stream), "",
      "$_op.setStream(stream);">,
    InterfaceMethod<"Returns true if it runs in the last run of its task in a step only.", "bool", "runsLastOnly",
    (ins), "",
      "return $_op.getLast();">,
    InterfaceMethod<"Makes it run in the last run of its task in a step only.", "void", "setRunsLastOnly", (ins), "",
      "$_op.setLast(true);">,
    InterfaceMethod<[{
      Returns true if it adds to its output, except in the first run of its task in a step, which starts the sum.}],
      "bool", "startsSum", (ins), "", "return ::dtc::exec::hasUnit($_op, ::dtc::exec::kStartsSum);">,
    InterfaceMethod<[{Returns pairs (index of a written buffer, index of a read buffer) that may share memory.}],
      "::llvm::SmallVector<std::pair<unsigned, unsigned>>", "getInPlacePairs", (ins), "", "return {};">,
    InterfaceMethod<[{
      Makes the instruction add to `target` instead of writing its one result; returns false if it cannot. With
      `startsSum` the first run of its task in a step writes to it.}],
      "bool", "accumulateInto", (ins "::mlir::Value":$target, "bool":$startsSum), "", [{
        if (!ConcreteOp::addsUp || $_op.accumulates() || (startsSum && !ConcreteOp::startsSums))
          return false;
        $_op->setOperand($_op.getODSOperandIndexAndLength(ConcreteOp::numReads).first, target);
        ::dtc::exec::setUnit($_op, ::dtc::exec::kAccumulate, true);
        ::dtc::exec::setUnit($_op, ::dtc::exec::kStartsSum, startsSum);
        return true;
      }]>,
    InterfaceMethod<[{
      Returns the byte range (offset, size) of the i-th written buffer that contains all written bytes.}],
      "std::pair<int64_t, int64_t>", "getWrittenRange", (ins "unsigned":$index), "",
      "return {0, ::dtc::exec::getBytes($_op.getWrittenBuffers()[index])};">
  ];
}
#endif
