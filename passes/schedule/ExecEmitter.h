// Builds a program: which buffer holds which tensor, and where the next instruction goes.
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

// Declarations (buffers, views, kernels) go to the front of the program, instructions to the end of
// the task that was started last.
// A tensor is its row-major elements; every tensor value has one buffer, which no later value
// reuses: sharing memory is the business of dtc-reuse-buffers and dtc-plan-memory.
class ExecEmitter {
public:
  ExecEmitter(mlir::ModuleOp module, exec::ProgramOp program);

  mlir::ModuleOp getModule() const { return module; }
  // The function of the module of that name, or null. To search for it each time is quadratic.
  graph::FuncOp lookupFunction(mlir::FlatSymbolRefAttr symbol) const {
    return symbols.lookup<graph::FuncOp>(symbol.getValue());
  }
  exec::ProgramOp getProgram() const { return program; }
  // For instructions; its location is that of the op being lowered.
  mlir::ImplicitLocOpBuilder &instructions() { return builder; }
  void setLocation(mlir::Location location) { builder.setLoc(location); }
  // Adds a task; instructions go there from now on.
  void startTask(llvm::StringRef name, bool perMicroBatch);

  // The buffer of a tensor that was defined before.
  mlir::Value lookup(mlir::Value tensor) const;
  bool isDefined(mlir::Value tensor) const { return buffers.contains(tensor); }
  // A new buffer for a result of the op being lowered.
  mlir::Value define(mlir::Value tensor);
  // Says that the elements of `tensor` are those of `buffer`, in order.
  void alias(mlir::Value tensor, mlir::Value buffer) { buffers[tensor] = buffer; }
  // Says that those of `tensor` are those of `x`, wherever they lie.
  void aliasOf(mlir::Value tensor, mlir::Value x);
  // Says that rows of `tensor`, of `columns` elements, lie `stride` elements apart in `base`, from element `first` on. Only
  // instructions that take such rows may use it.
  void aliasRows(mlir::Value tensor, mlir::Value base, int64_t first, int64_t columns,
                 int64_t stride);
  // Elements from a row of `tensor` to the next; 0 where they have no gaps.
  int64_t rowStride(mlir::Value tensor) const { return rowStrides.lookup(tensor); }

  mlir::Value createBuffer(llvm::StringRef name, exec::BufferKind kind, mlir::Type dtype,
                           int64_t elements, bool persistent = false, bool host = false);
  // A buffer of a sum over micro-batches.
  mlir::Value createSum(llvm::StringRef name, exec::BufferKind kind, mlir::Type dtype,
                        int64_t elements);
  // `elements` of `base` from element `first` on; the base itself where that is all of it.
  mlir::Value createView(mlir::Value base, int64_t first, int64_t elements);
  // The `elements` of each micro-batch of the step, one after another in `base`.
  mlir::Value createMicroBatchView(mlir::Value base, int64_t elements);
  // For declarations that are not buffers.
  mlir::OpBuilder declarations();
  void declared(mlir::Operation *op) { lastDeclaration = op; }
  void declareKernel(mlir::FlatSymbolRefAttr symbol, llvm::ArrayRef<int64_t> bufferBytes,
                     int64_t scalars, int64_t points, bool combines, mlir::ArrayAttr inPlace);

  // Copies a box; offsets in elements. Declares nothing.
  void copy(mlir::Value src, exec::RankScalarAttr srcOffset, mlir::Value dst,
            exec::RankScalarAttr dstOffset, const Box &box, bool accumulate = false);
  void copy(mlir::Value src, int64_t srcOffset, mlir::Value dst, int64_t dstOffset, const Box &box,
            bool accumulate = false);

  exec::RankScalarAttr constant(int64_t base);
  static exec::RankScalarAttr sum(exec::RankScalarAttr a, exec::RankScalarAttr b);
  // The window of a loop among `windows`, or null where the loop has none.
  static graph::WindowAttr findWindow(mlir::ArrayAttr windows, unsigned loop);
  // Global index of the local index 0 of loop `loop`, times `scale`, plus `base`: from the window
  // in `windows`, or constant where the loop has none. Fails after a diagnostic where the mesh
  // makes no such window, or it has two pieces.
  llvm::FailureOr<exec::RankScalarAttr> firstIndex(mlir::Operation *op, mlir::ArrayAttr windows,
                                                   unsigned loop, int64_t base = 0,
                                                   int64_t scale = 1);
  // The same for each piece of a window.
  llvm::FailureOr<llvm::SmallVector<exec::RankScalarAttr, 2>>
  pieceStarts(mlir::Operation *op, graph::WindowAttr window, int64_t base = 0, int64_t scale = 1);
  llvm::ArrayRef<int64_t> getMesh() { return program.getAxisSizes(); }

  // How many samples of the step, over all ranks, a micro-batch has.
  void setGlobalMicroBatch(int64_t samples) { globalMicroBatch = samples; }
  // The first of them in the micro-batch that runs.
  exec::RankScalarAttr firstSample();

  // Prefix of the names of buffers that `define` makes from now on, e.g. "m1.".
  void setPrefix(llvm::StringRef prefix) { namePrefix = prefix.str(); }
  // The kind of the buffer that `define` will make for a tensor; temporary otherwise.
  void setKind(mlir::Value tensor, exec::BufferKind kind) { kinds[tensor] = kind; }

  // Whether another task than its own uses it.
  bool isKept(mlir::Value tensor) const {
    auto kind = kinds.find(tensor);
    return kind != kinds.end() && kind->second == exec::BufferKind::Activation;
  }

  // Parameters and state, by name.
  void declareTensor(llvm::StringRef name, mlir::Value buffer) { tensors[name] = buffer; }
  mlir::Value lookupTensor(llvm::StringRef name) const { return tensors.lookup(name); }
  // A scalar of the runtime, declared when first asked for.
  mlir::Value lookupScalar(exec::ScalarRole role, mlir::Type dtype);
  // Copies `value` to parameter or state `name` when the step is over.
  void setAtEnd(mlir::Value value, mlir::Value tensor) { lastCopies.emplace_back(value, tensor); }
  // Copies what was so set since the last call.
  void emitLastCopies();

private:
  void setRows(mlir::Value tensor, int64_t stride);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  exec::ProgramOp program;
  llvm::StringSet<> kernels; // that are declared
  mlir::ImplicitLocOpBuilder builder;
  mlir::Operation *lastDeclaration = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, int64_t> rowStrides; // of tensors whose rows have gaps
  llvm::StringMap<unsigned> nameCounts;
  std::string namePrefix;
  int64_t globalMicroBatch = 0;
  llvm::DenseMap<mlir::Value, exec::BufferKind> kinds;
  llvm::StringMap<mlir::Value> tensors;
  llvm::DenseMap<exec::ScalarRole, mlir::Value> scalars;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> lastCopies;
};

// The static tensor type of a value, after a diagnostic at `op` where it has none.
llvm::FailureOr<mlir::RankedTensorType> getStaticType(mlir::Operation *op, mlir::Value value);

} // namespace dtc
