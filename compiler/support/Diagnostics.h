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
  // The types of the op that the first error is about, "(tensor<?x8xf32>) -> tensor<f32>"; empty
  // where it is about something else.
  const std::string &operationTypes() const { return types; }

private:
  std::optional<UserError> first;
  std::string types;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace dtc
