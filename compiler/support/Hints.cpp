#include "compiler/support/Hints.h"

#include "compiler/support/File.h"
#include "runtime/format/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace dtc {

std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known) {
  std::string nearest = nearestName(name, known);
  return nearest.empty() ? "" : "did you mean '" + nearest + "'? ";
}

// Returns whether a byte continues a code point of UTF-8.
static bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string excerptAt(const SourceLocation &location, llvm::StringRef source) {
  constexpr size_t kWhole = 120, kBefore = 60,
                   kAfter = 40; // bytes shown of longer lines around the location
  if (location.line < 1 || location.column < 1)
    return "";
  for (int64_t line = 1; line < location.line; ++line)
    source = source.split('\n').second;
  llvm::StringRef line = source.split('\n').first.rtrim();
  size_t at = location.column - 1;
  bool isText = llvm::none_of(
      line, [](char c) { return c != '\t' && llvm::isASCII(c) && !llvm::isPrint(c); });
  if (line.trim().empty() || at > line.size() || !isText ||
      (at < line.size() && continues(line[at])))
    return "";
  bool isShort = line.size() <= kWhole;
  size_t begin = isShort || at <= kBefore ? 0 : at - kBefore,
         end = isShort ? line.size() : std::min(line.size(), at + kAfter);
  while (begin < at && continues(line[begin]))
    ++begin;
  while (end < line.size() && continues(line[end]))
    ++end;
  std::string before = line.slice(begin, at).str(), after = line.slice(at, end).str();
  std::replace(before.begin(), before.end(), '\t', ' ');
  std::replace(after.begin(), after.end(), '\t', ' ');
  before = (begin > 0 ? "..." : "") + format::printable(before);
  auto columns = llvm::count_if(before, [](char c) { return !continues(c); });
  return "  " + before + format::printable(after) + (end < line.size() ? "..." : "") + "\n  " +
         std::string(columns, ' ') + "^";
}

int reportWithSource(const UserError &error, llvm::StringRef source, llvm::raw_ostream &errors) {
  std::string excerpt = excerptAt(error.location, source), text = error.text();
  if (!excerpt.empty())
    text.insert(UserError(error.message, "", error.location).text().size(), "\n" + excerpt);
  errors << text << "\n";
  return 1;
}

int reportWithFile(const UserError &error, llvm::raw_ostream &errors) {
  constexpr int64_t kMostBytes = int64_t(64) << 20;
  if (error.location.line < 1)
    return error.report(errors);
  Result<std::string> text = readFile(error.location.file, kMostBytes);
  return reportWithSource(error, text ? llvm::StringRef(*text) : llvm::StringRef(), errors);
}

} // namespace dtc
