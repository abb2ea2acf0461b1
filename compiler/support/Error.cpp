// Text of user errors, and the nearest of several names.
#include "compiler/support/Error.h"

#include "runtime/format/Printable.h"

namespace dtc {

static std::string placeText(const SourcePlace &place) {
  if (place.file.empty())
    return "";
  std::string text = place.file + ":";
  if (place.line > 0)
    text += std::to_string(place.line) + ":" + std::to_string(place.column) + ":";
  return text + " ";
}

std::string UserError::text() const {
  std::string result = format::printable(placeText(place) + "error: " + message);
  if (!note.empty())
    result += "\n" + format::printable(placeText(place) + "note: " + note);
  return result;
}

int UserError::report(llvm::raw_ostream &errors) const {
  errors << text() << "\n";
  return 1;
}

std::string nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known) {
  // What somebody began to write: "dgx-a100" is "dgx-a100-80g" rather than "dgx-h100".
  for (llvm::StringRef candidate : known)
    if (name.size() >= 3 && candidate.starts_with_insensitive(name))
      return candidate.str();
  // A third of the letters may be wrong: "dgx-h10" is near "dgx-h100", "x" is near nothing.
  unsigned best = std::max<size_t>(1, name.size() / 3) + 1;
  llvm::StringRef nearest;
  for (llvm::StringRef candidate : known) {
    unsigned distance = name.edit_distance_insensitive(candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.str();
}

} // namespace dtc
