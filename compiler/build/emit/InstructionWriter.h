// An instruction of the exec dialect as its table of dte.fbs, by the names that both have.
#pragma once

#include "dialects/exec/Exec.h"
#include "runtime/format/dte_generated.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtc {

// Values of fields in the file that the op itself does not know.
struct FieldValues {
  llvm::function_ref<uint32_t(mlir::Value)> buffer;
  llvm::function_ref<std::unique_ptr<format::RankScalarT>(exec::RankScalarAttr)> scalar; // null: 0
  llvm::function_ref<format::DType(mlir::Type)> dtype;
};

// The kind whose name is the op's mnemonic, of a send and a receive their common one; NONE where
// there is none.
format::Op instructionKindOf(llvm::StringRef mnemonic);

// Writes the table of the kind of `op`: every field has the value of the buffer or attribute of its
// name, its default where that is absent; `dtype` is that of the first buffer,
// `result_dtype` that of the first one written. Ops whose attributes
// are not those of the table (launch, gemm, collective, send, receive) have a function of their own
// in ManifestBuilder.
format::OpUnion writeInstruction(exec::InstructionOpInterface op, const FieldValues &values);

} // namespace dtc
