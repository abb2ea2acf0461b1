// Long lines of graph IR cut where a reader would cut them.
#include "compiler/text/WrapLine.h"

#include "compiler/text/Tokens.h"

#include <climits>

namespace dtc {
namespace {

using llvm::StringRef;

// A blank that may become a line end.
struct Break {
  size_t at;    // of the blank
  int depth;    // brackets around it
  bool isTypes; // before the ':' of the types
};

std::vector<Break> findBreaks(StringRef text) {
  std::vector<Break> breaks;
  size_t at = 0;
  int depth = 0;
  StringRef before;
  for (const Token &token : splitTokens(text)) {
    StringRef rest = text.substr(at + token.text.size());
    if (token.kind == Token::Kind::Space) {
      bool isTypes = rest.starts_with(": ") && depth == 0;
      if (before == "," || isTypes || rest.starts_with("-> "))
        breaks.push_back({at, depth, isTypes});
    } else if (token.kind == Token::Kind::Punctuation) {
      depth += StringRef("([{").contains(token.text)   ? 1
               : StringRef(")]}").contains(token.text) ? -1
                                                       : 0;
    }
    before = token.text;
    at += token.text.size();
  }
  return breaks;
}

// Where to cut so that what comes before has at most `room` characters; npos: nowhere.
size_t chooseBreak(StringRef text, size_t room, size_t roomAfter) {
  std::vector<Break> breaks = findBreaks(text);
  for (const Break &b : breaks)
    if (b.isTypes && b.at <= room && text.size() - b.at - 1 <= roomAfter)
      return b.at;
  int outermost = INT_MAX;
  size_t best = StringRef::npos;
  for (const Break &b : breaks)
    if (b.at <= room && b.depth <= outermost) {
      outermost = b.depth;
      best = b.at;
    }
  return best;
}

} // namespace

std::vector<std::string> wrapLine(StringRef text, size_t indent) {
  std::vector<std::string> lines;
  while (indent + text.size() > kTextWidth) {
    size_t more = lines.empty() ? indent + 4 : indent;
    size_t at = chooseBreak(text, kTextWidth - indent, kTextWidth - more);
    if (at == StringRef::npos)
      break;
    lines.push_back(std::string(indent, ' ') + text.take_front(at).str());
    text = text.drop_front(at + 1);
    indent = more;
  }
  lines.push_back(std::string(indent, ' ') + text.str());
  return lines;
}

} // namespace dtc
