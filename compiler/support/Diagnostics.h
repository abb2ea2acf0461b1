// Turns MLIR's diagnostics into errors of the user.
#pragma once

#include "compiler/support/Error.h"
#include "mlir/IR/Diagnostics.h"

namespace dtc {

// Keeps errors of the context instead of printing them, as long as it exists. Example:
//   DiagnosticCapture capture(context);
//   if (failed(passes.run(module)))
//     return capture.errorOr(UserError("running phase shard"));
class DiagnosticCapture {
public:
  explicit DiagnosticCapture(mlir::MLIRContext *context);

  // Returns the first error, with the location it points at and its first note, or `other` if there
  // was none.
  UserError errorOr(UserError other) const { return first ? *first : other; }
  const std::optional<UserError> &error() const { return first; }
  // Returns the types of the op of the first error, "(tensor<?x8xf32>) -> tensor<f32>", or "" if
  // the error is not about an op.
  const std::string &operationTypes() const { return types; }

private:
  std::optional<UserError> first;
  std::string types;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace dtc
