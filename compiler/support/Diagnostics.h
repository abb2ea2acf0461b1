// MLIR's diagnostics as errors of the user.
#pragma once

#include "compiler/support/Error.h"
#include "mlir/IR/Diagnostics.h"

namespace dtc {

// While it lives, errors of the context are kept instead of printed. Example:
//   DiagnosticCapture capture(context);
//   if (failed(passes.run(module)))
//     return capture.errorOr(UserError("running phase shard"));
class DiagnosticCapture {
public:
  explicit DiagnosticCapture(mlir::MLIRContext *context);

  // The first error, with the place it points at and its first note; `other` where there was none.
  UserError errorOr(UserError other) const { return first ? *first : other; }
  const std::optional<UserError> &error() const { return first; }

private:
  std::optional<UserError> first;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace dtc
