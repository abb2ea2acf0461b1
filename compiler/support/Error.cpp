// Formats user errors, and finds the nearest of several names.
#include "compiler/support/Error.h"

#include "runtime/format/NearestName.h"
#include "runtime/format/Printable.h"

#include <string_view>
#include <vector>

namespace dtc {

static std::string locationText(const SourceLocation &location) {
  if (location.file.empty())
    return "";
  std::string text = location.file + ":";
  if (location.line > 0)
    text += std::to_string(location.line) + ":" + std::to_string(location.column) + ":";
  return text + " ";
}

std::string UserError::text() const {
  std::string result = format::printable(locationText(location) + "error: " + message);
  if (!note.empty())
    result += "\n" + format::printable(locationText(location) + "note: " + note);
  return result;
}

int UserError::report(llvm::raw_ostream &errors) const {
  errors << text() << "\n";
  return 1;
}

std::string nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known) {
  std::vector<std::string_view> names(known.begin(), known.end());
  return format::nearestName(name, names);
}

} // namespace dtc
