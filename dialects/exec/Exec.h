// The exec dialect: what ranks run each step, buffer by buffer.
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

// The memory behind a buffer or view: `bytes` of the exec.buffer `root` from byte `offset` on; of
// micro-batch m from byte `offset + m * microBatchStride` on.
struct BufferRange {
  mlir::Value root;
  int64_t offset;
  int64_t bytes;
  int64_t microBatchStride = 0;

  // Whether they can have a byte in common; taken for granted where micro-batches differ.
  bool overlaps(const BufferRange &other) const {
    return root == other.root &&
           (microBatchStride != 0 || other.microBatchStride != 0 ||
            (offset < other.offset + other.bytes && other.offset < offset + bytes));
  }
};

// `buffer` is the result of an exec.buffer, exec.view or, for its first layer, exec.per_layer.
// Example: %v = exec.view %b "v" f32 64 bytes at 128 has range {%b, 128, 64}.
BufferRange getRange(mlir::Value buffer);
int64_t getBytes(mlir::Value buffer);
mlir::Type getDtype(mlir::Value buffer);
llvm::StringRef getName(mlir::Value buffer);
// Whether it is in the memory of the host.
bool isOnHost(mlir::Value buffer);

// How often an instruction runs in a run of its task: as its exec.repeat says, or once.
int64_t getLayers(mlir::Operation *instruction);

// How the dims of a tensor are split: `axes` and `zigzag` of its declaration.
struct Splits {
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> axes; // per dim, outermost first
  llvm::SmallVector<int64_t, 2> zigzag;

  Splits() = default;
  Splits(mlir::ArrayAttr axes, std::optional<llvm::ArrayRef<int64_t>> zigzag);
  mlir::ArrayAttr getAxesAttr(mlir::MLIRContext *context) const;
  mlir::DenseI64ArrayAttr getZigzagAttr(mlir::MLIRContext *context) const; // null without any
  bool isZigzag(int64_t axis) const { return llvm::is_contained(zigzag, axis); }
  // Ranks that hold different parts of a dim.
  int64_t getParts(size_t dim, llvm::ArrayRef<int64_t> mesh) const;
  // What a rank holds of a dim of `size` elements.
  int64_t getLocalSize(size_t dim, int64_t size, llvm::ArrayRef<int64_t> mesh) const;
};

// Bytes of one element; i1 and other packed types are not buffers of a program.
int64_t getElementBytes(mlir::Type dtype);

// Unit attributes that several instructions have.
inline constexpr llvm::StringLiteral kAccumulate = "accumulate", kStartsSum = "starts_sum";
// Whether the attribute is set; not where the op has none of that name.
bool hasUnit(mlir::Operation *op, llvm::StringRef name);
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
