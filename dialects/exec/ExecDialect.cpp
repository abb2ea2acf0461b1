// The exec dialect, its attributes and types, and what can be asked of a buffer.
#include "dialects/exec/Exec.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtc::exec;

#include "dialects/exec/ExecDialect.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#include "dialects/exec/ExecInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/ExecTypes.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/exec/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/StructureOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/InstructionOps.cpp.inc"
      >();
}

LogicalResult RankScalarAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                     int64_t base, int64_t stride, int32_t axis) {
  if ((stride != 0) != (axis >= 0))
    return emitError() << "a stride of " << stride << " with mesh axis " << axis
                       << ": a rank scalar has both or neither";
  return success();
}

BufferRange dtc::exec::getRange(Value buffer) {
  int64_t bytes = getBytes(buffer);
  int64_t offset = 0;
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    offset += view.getOffset();
    buffer = view.getBase();
  }
  return {buffer, offset, bytes};
}

int64_t dtc::exec::getBytes(Value buffer) {
  if (auto view = buffer.getDefiningOp<ViewOp>())
    return view.getBytes();
  return buffer.getDefiningOp<BufferOp>().getBytes();
}

Type dtc::exec::getDtype(Value buffer) {
  if (auto view = buffer.getDefiningOp<ViewOp>())
    return view.getDtype();
  return buffer.getDefiningOp<BufferOp>().getDtype();
}

StringRef dtc::exec::getName(Value buffer) {
  if (auto view = buffer.getDefiningOp<ViewOp>())
    return view.getName();
  return buffer.getDefiningOp<BufferOp>().getName();
}

int64_t dtc::exec::getElementBytes(Type dtype) {
  return dtype.isIntOrFloat() ? dtype.getIntOrFloatBitWidth() / 8 : 0;
}
