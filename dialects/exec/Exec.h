// The exec dialect: the instructions that ranks run in each step, on buffers.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace dtc::exec {

// The memory behind a buffer or view: `bytes` bytes of the exec.buffer `root` from byte `offset`
// on; for micro-batch m from byte `offset + m * microBatchStride` on.
struct BufferRange {
  mlir::Value root;
  int64_t offset;
  int64_t bytes;
  int64_t microBatchStride = 0;

  // True if the ranges may share a byte. Conservative if the offset depends on the micro-batch.
  bool overlaps(const BufferRange &other) const {
    return root == other.root &&
           (microBatchStride != 0 || other.microBatchStride != 0 ||
            (offset < other.offset + other.bytes && other.offset < offset + bytes));
  }
};

// Returns the range of `buffer`, the result of an exec.buffer, exec.view or, for its first layer,
// exec.per_layer. Example: %v = exec.view %b "v" f32 64 bytes at 128 has range {%b, 128, 64}.
BufferRange getRange(mlir::Value buffer);
// Returns the size of a buffer in bytes; of an exec.per_layer the size in one layer.
int64_t getBytes(mlir::Value buffer);
// Returns the element type of a buffer.
mlir::Type getDtype(mlir::Value buffer);
// Returns the name of a buffer, as messages print it.
llvm::StringRef getName(mlir::Value buffer);
// True if the buffer is in host memory.
bool isOnHost(mlir::Value buffer);

// Returns how often an instruction runs in one run of its task: the count of its exec.repeat, or 1.
int64_t getLayers(mlir::Operation *instruction);

// The split of a tensor's dims over mesh axes: `axes` and `zigzag` of its declaration.
struct Splits {
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> axes; // per dim, outermost first
  llvm::SmallVector<int64_t, 2> zigzag;

  Splits() = default;
  Splits(mlir::ArrayAttr axes, std::optional<llvm::ArrayRef<int64_t>> zigzag);
  // Returns `axes` as an attribute.
  mlir::ArrayAttr getAxesAttr(mlir::MLIRContext *context) const;
  // null if there are no zigzag axes
  mlir::DenseI64ArrayAttr getZigzagAttr(mlir::MLIRContext *context) const;
  // True if ranks along the axis hold two pieces each.
  bool isZigzag(int64_t axis) const { return llvm::is_contained(zigzag, axis); }
  // Returns the number of ranks that hold different parts of a dim.
  int64_t getParts(size_t dim, llvm::ArrayRef<int64_t> mesh) const;
  // Returns the elements that a rank holds of a dim of `size` elements, padding included.
  int64_t getLocalSize(size_t dim, int64_t size, llvm::ArrayRef<int64_t> mesh) const;
};

// Returns the bytes of one element. Requires a whole number of bytes: i1 and other packed types are
// not buffers of a program.
int64_t getElementBytes(mlir::Type dtype);

// Names of unit attributes that several instructions share.
inline constexpr llvm::StringLiteral kAccumulate = "accumulate", kStartsSum = "starts_sum";
// True if the op has the unit attribute; false if the op has no attribute of that name.
bool hasUnit(mlir::Operation *op, llvm::StringRef name);
// Sets or removes a unit attribute.
void setUnit(mlir::Operation *op, llvm::StringRef name, bool value);

} // namespace dtc::exec

#include "dialects/exec/ExecDialect.h.inc"
#include "dialects/exec/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/ExecTypes.h.inc"

#include "dialects/exec/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/StructureOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/InstructionOps.h.inc"
