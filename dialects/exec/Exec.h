// The exec dialect: what every rank runs each step, buffer by buffer.
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

// The memory behind a buffer or view: `bytes` of the exec.buffer `root` from byte `offset` on.
struct BufferRange {
  mlir::Value root;
  int64_t offset;
  int64_t bytes;

  bool overlaps(const BufferRange &other) const {
    return root == other.root && offset < other.offset + other.bytes &&
           other.offset < offset + bytes;
  }
};

// `buffer` is the result of an exec.buffer or exec.view.
// Example: %v = exec.view %b "v" f32 64 bytes at 128 has range {%b, 128, 64}.
BufferRange getRange(mlir::Value buffer);
int64_t getBytes(mlir::Value buffer);
mlir::Type getDtype(mlir::Value buffer);
llvm::StringRef getName(mlir::Value buffer);

// Bytes of one element; i1 and other packed types are not buffers of a program.
int64_t getElementBytes(mlir::Type dtype);

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
