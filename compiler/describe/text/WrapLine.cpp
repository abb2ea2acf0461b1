// Cuts long lines of graph IR where a reader would cut them.
#include "compiler/describe/text/WrapLine.h"

#include "compiler/describe/text/Tokens.h"

#include <climits>

namespace dtc {
namespace {

using llvm::StringRef;

// A blank that may become a line end.
struct Break {
  size_t at;
  int cost; // number of brackets around it; more if it is only better than a line that is too long
  bool isTypes; // true before the ':' of the types
};

constexpr int kLastResort = 100;

std::vector<Break> findBreaks(StringRef text) {
  std::vector<Break> breaks;
  size_t at = 0;
  int depth = 0, lists = 0; // "[0, 1]" stays in one piece
  StringRef before;
  for (const Token &token : splitTokens(text)) {
    StringRef rest = text.substr(at + token.text.size());
    if (token.kind == Token::Kind::Space && lists == 0) {
      bool isTypes = rest.starts_with(": ") && depth == 0;
      bool isGood = before == "," || isTypes || rest.starts_with("-> ") || rest.starts_with("{");
      if (isGood && rest != "{")
        breaks.push_back({at, depth, isTypes});
      else if (depth == 0 && rest != "{")
        breaks.push_back({at, kLastResort, false});
    }
    bool opens = StringRef("([{").contains(token.text),
         closes = StringRef(")]}").contains(token.text);
    if (token.kind == Token::Kind::Punctuation && (opens || closes)) {
      depth += opens ? 1 : -1;
      lists += token.text == "[" ? 1 : token.text == "]" ? -1 : 0;
    }
    // The names of results stay in one line.
    if (token.text == "=" && depth == 0)
      breaks.clear();
    before = token.text;
    at += token.text.size();
  }
  return breaks;
}

// Returns the place to cut at, so that the text before has at most `room` characters, or as few as
// possible. Returns npos if there is no place.
size_t chooseBreak(StringRef text, size_t room, size_t roomAfter) {
  std::vector<Break> breaks = findBreaks(text);
  for (const Break &b : breaks)
    if (b.isTypes && b.at <= room && text.size() - b.at - 1 <= roomAfter)
      return b.at;
  int cheapest = INT_MAX;
  size_t best = StringRef::npos;
  for (const Break &b : breaks)
    if (b.at <= room && b.cost <= cheapest) {
      cheapest = b.cost;
      best = b.at;
    }
  if (best == StringRef::npos && !breaks.empty()) // too long in any case
    return breaks.front().at;
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
