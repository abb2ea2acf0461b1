// Turns MLIR's diagnostics into errors of the user.
#include "compiler/support/Diagnostics.h"

#include "mlir/IR/Location.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns the innermost location in a file. For a model that was built from a configuration, that
// is the name of the model, around which the names of values are placed.
SourceLocation sourceLocationOf(Location location) {
  SourceLocation source;
  location->walk([&](Location at) {
    if (auto file = dyn_cast<FileLineColLoc>(at)) {
      source = {file.getFilename().str(), file.getLine(), file.getColumn()};
      return WalkResult::interrupt();
    }
    if (auto name = dyn_cast<NameLoc>(at); name && isa<UnknownLoc>(name.getChildLoc()))
      source.file = name.getName().str();
    return WalkResult::advance();
  });
  return source;
}

// Joins lines, because MLIR quotes what it has read, which may go over several lines of a file.
std::string inOneLine(StringRef text) {
  std::string line;
  for (StringRef rest = text; !rest.empty();) {
    auto [before, after] = rest.split('\n');
    if (!line.empty())
      line += ' ';
    line += line.empty() ? before : before.ltrim();
    rest = after;
  }
  return line;
}

// Returns the first note that is not MLIR's print of the op, which the location already shows. Adds
// the note's own location if it is another one.
std::string noteOf(Diagnostic &diagnostic) {
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string text = note.str();
    if (StringRef(text).starts_with("see current operation"))
      continue;
    SourceLocation source = sourceLocationOf(note.getLocation());
    if (source.line > 0 && note.getLocation() != diagnostic.getLocation())
      text += ": line " + std::to_string(source.line);
    return text;
  }
  return "";
}

// Returns the types in MLIR's print of an op without a body: the text behind its last " : ".
std::string typesOf(Diagnostic &diagnostic) {
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string text = note.str();
    auto [before, types] = StringRef(text).rsplit(" : ");
    if (before.starts_with("see current operation") && !types.contains('\n'))
      return types.str();
  }
  return "";
}

} // namespace

DiagnosticCapture::DiagnosticCapture(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure(); // warnings and remarks are printed as usual
        if (!first) {
          first.emplace(inOneLine(diagnostic.str()), noteOf(diagnostic),
                        sourceLocationOf(diagnostic.getLocation()));
          types = typesOf(diagnostic);
        }
        return success();
      }) {}

} // namespace dtc
