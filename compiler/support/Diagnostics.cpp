// MLIR's diagnostics as errors of the user.
#include "compiler/support/Diagnostics.h"

#include "mlir/IR/Location.h"

using namespace mlir;

namespace dtc {
namespace {

// The innermost place in a file; for a model that was built, its name.
SourcePlace placeOf(Location location) {
  SourcePlace place;
  location->walk([&](Location at) {
    if (auto file = dyn_cast<FileLineColLoc>(at)) {
      place = {file.getFilename().str(), file.getLine(), file.getColumn()};
      return WalkResult::interrupt();
    }
    if (auto name = dyn_cast<NameLoc>(at); name && place.file.empty())
      place.file = name.getName().str();
    return WalkResult::advance();
  });
  return place;
}

} // namespace

DiagnosticCapture::DiagnosticCapture(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure(); // warnings and remarks go on to be printed
        if (!first) {
          auto notes = diagnostic.getNotes();
          std::string note = notes.empty() ? "" : notes.begin()->str();
          first.emplace(diagnostic.str(), note, placeOf(diagnostic.getLocation()));
        }
        return success();
      }) {}

} // namespace dtc
