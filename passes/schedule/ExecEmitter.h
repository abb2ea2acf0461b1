// Builds a program: maps tensors to buffers and appends instructions.
#pragma once

#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/schedule/Box.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace dtc {

// Builds a program. Declarations (buffers, views, kernels) go to the front of the program,
// instructions to the end of the task that was started last. A tensor is its row-major elements.
// Every tensor value has one buffer, which no later value reuses: dtc-reuse-buffers and
// dtc-plan-memory share memory later.
class ExecEmitter {
public:
  ExecEmitter(mlir::ModuleOp module, exec::ProgramOp program);

  mlir::ModuleOp getModule() const { return module; }
  // Returns the function of that name, or null. Uses a symbol table: searching the module each time
  // would be quadratic.
  graph::FuncOp lookupFunction(mlir::FlatSymbolRefAttr symbol) const {
    return symbols.lookup<graph::FuncOp>(symbol.getValue());
  }
  exec::ProgramOp getProgram() const { return program; }
  // Returns the builder for instructions; its location is that of the op being lowered.
  mlir::ImplicitLocOpBuilder &instructions() { return builder; }
  // Sets the location of the following instructions.
  void setLocation(mlir::Location location) { builder.setLoc(location); }
  // Adds a task; the following instructions go there.
  void startTask(llvm::StringRef name, bool perMicroBatch);

  // Returns the buffer of a tensor that was defined before.
  mlir::Value lookup(mlir::Value tensor) const;
  // True if the tensor has a buffer.
  bool isDefined(mlir::Value tensor) const { return buffers.contains(tensor); }
  // Creates a buffer for a result of the op being lowered.
  mlir::Value define(mlir::Value tensor);
  // Makes `buffer` the buffer of `tensor`; its elements must be the same in the same order.
  void alias(mlir::Value tensor, mlir::Value buffer) { buffers[tensor] = buffer; }
  // Gives `tensor` the buffer of `x` and its row stride.
  void aliasOf(mlir::Value tensor, mlir::Value x);
  // Makes `tensor` a view of `base` whose rows, of `columns` elements, are `stride` elements apart,
  // from element `first` on. Only instructions that accept row strides may use it.
  void aliasRows(mlir::Value tensor, mlir::Value base, int64_t first, int64_t columns,
                 int64_t stride);
  // Returns the elements from one row of `tensor` to the next; 0 if the rows have no gaps.
  int64_t rowStride(mlir::Value tensor) const { return rowStrides.lookup(tensor); }

  // Declares a buffer of `elements` elements; `persistent` buffers keep their contents between
  // steps, `host` buffers are in host memory.
  mlir::Value createBuffer(llvm::StringRef name, exec::BufferKind kind, mlir::Type dtype,
                           int64_t elements, bool persistent = false, bool host = false);
  // Declares a buffer for a sum over micro-batches.
  mlir::Value createSum(llvm::StringRef name, exec::BufferKind kind, mlir::Type dtype,
                        int64_t elements);
  // Returns a view of `elements` of `base` from element `first` on; `base` itself if that is all of
  // it.
  mlir::Value createView(mlir::Value base, int64_t first, int64_t elements);
  // Returns a view of `elements` elements of `base`: the first ones for micro-batch 0 of the step,
  // the following ones for each further micro-batch.
  mlir::Value createMicroBatchView(mlir::Value base, int64_t elements);
  // Returns a builder for declarations that are not buffers.
  mlir::OpBuilder declarations();
  // Records the last declaration, after which the next one is inserted.
  void declared(mlir::Operation *op) { lastDeclaration = op; }
  // Declares a kernel unless it has been declared. `bufferBytes` has the size in bytes of each
  // operand, then of each result.
  void declareKernel(mlir::FlatSymbolRefAttr symbol, llvm::ArrayRef<int64_t> bufferBytes,
                     int64_t scalars, int64_t points, bool combines, mlir::ArrayAttr inPlace);

  // Copies a box; offsets are in elements. Declares nothing.
  void copy(mlir::Value src, exec::RankScalarAttr srcOffset, mlir::Value dst,
            exec::RankScalarAttr dstOffset, const Box &box, bool accumulate = false);
  // Copies a box with offsets that are the same on every rank.
  void copy(mlir::Value src, int64_t srcOffset, mlir::Value dst, int64_t dstOffset, const Box &box,
            bool accumulate = false);

  // Returns a scalar that is the same on every rank.
  exec::RankScalarAttr constant(int64_t base);
  // Returns the sum of two scalars.
  static exec::RankScalarAttr sum(exec::RankScalarAttr a, exec::RankScalarAttr b);
  // Returns the window of a loop among `windows`; null if the loop has none.
  static graph::WindowAttr findWindow(mlir::ArrayAttr windows, unsigned loop);
  // Returns scale * (global index of local index 0 of loop `loop`) + base, from the window in
  // `windows`, or `base` if the loop has none. Fails after a diagnostic if the mesh makes no such
  // window, or if the window has two pieces.
  llvm::FailureOr<exec::RankScalarAttr> firstIndex(mlir::Operation *op, mlir::ArrayAttr windows,
                                                   unsigned loop, int64_t base = 0,
                                                   int64_t scale = 1);
  // Returns firstIndex for each piece of a window.
  llvm::FailureOr<llvm::SmallVector<exec::RankScalarAttr, 2>>
  pieceStarts(mlir::Operation *op, graph::WindowAttr window, int64_t base = 0, int64_t scale = 1);
  // Returns the sizes of the mesh axes.
  llvm::ArrayRef<int64_t> getMesh() { return program.getAxisSizes(); }

  // Sets the number of samples of a micro-batch over all ranks.
  void setGlobalMicroBatch(int64_t samples) { globalMicroBatch = samples; }
  // Returns the number, within the step, of the first sample of the running micro-batch.
  exec::RankScalarAttr firstSample();

  // Sets the prefix of the names of buffers that `define` makes, such as "m1.".
  void setPrefix(llvm::StringRef prefix) { namePrefix = prefix.str(); }
  // Sets the kind of the buffer that `define` will make for a tensor; the default is temporary.
  void setKind(mlir::Value tensor, exec::BufferKind kind) { kinds[tensor] = kind; }

  // True if another task than its own uses the tensor.
  bool isKept(mlir::Value tensor) const {
    auto kind = kinds.find(tensor);
    return kind != kinds.end() && kind->second == exec::BufferKind::Activation;
  }

  // Registers the buffer of a parameter or state by name.
  void declareTensor(llvm::StringRef name, mlir::Value buffer) { tensors[name] = buffer; }
  // Returns the buffer of a parameter or state; null if there is none.
  mlir::Value lookupTensor(llvm::StringRef name) const { return tensors.lookup(name); }
  // Returns the buffer of a scalar of the runtime, declared at first use.
  mlir::Value lookupScalar(exec::ScalarRole role, mlir::Type dtype);
  // Copies `value` to the buffer of a parameter or state at the end of the step.
  void setAtEnd(mlir::Value value, mlir::Value tensor) { lastCopies.emplace_back(value, tensor); }
  // Emits the copies requested by setAtEnd since the last call.
  void emitLastCopies();

private:
  void setRows(mlir::Value tensor, int64_t stride);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  exec::ProgramOp program;
  llvm::StringSet<> kernels; // names of declared kernels
  mlir::ImplicitLocOpBuilder builder;
  mlir::Operation *lastDeclaration = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, int64_t> rowStrides; // row strides of tensors whose rows have gaps
  llvm::StringMap<unsigned> nameCounts;
  std::string namePrefix;
  int64_t globalMicroBatch = 0;
  llvm::DenseMap<mlir::Value, exec::BufferKind> kinds;
  llvm::StringMap<mlir::Value> tensors;
  llvm::DenseMap<exec::ScalarRole, mlir::Value> scalars;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> lastCopies;
};

// Returns the static tensor type of a value. Emits a diagnostic at `op` if it has none.
llvm::FailureOr<mlir::RankedTensorType> getStaticType(mlir::Operation *op, mlir::Value value);

} // namespace dtc
