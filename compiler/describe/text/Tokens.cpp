// Splits the text of graph IR into tokens.
#include "compiler/describe/text/Tokens.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>

namespace dtc {
namespace {

using llvm::StringRef;

bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' || c == '-'; }

size_t skipWhile(StringRef text, size_t at, bool (*belongs)(char)) {
  while (at < text.size() && belongs(text[at]))
    ++at;
  return at;
}

size_t endOfString(StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\')
      ++at;
  return std::min(at + 1, text.size());
}

size_t endOfBrackets(StringRef text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += text[at] == '<' ? 1 : text[at] == '>' ? -1 : 0;
    if (depth == 0 && text[at] == '>')
      return at + 1;
  }
  return text.size();
}

// Returns the end of [0-9]+ or [0-9]+[.][0-9]*([eE][-+]?[0-9]+)?
size_t endOfNumber(StringRef text, size_t at) {
  auto isDigit = [](char c) { return llvm::isDigit(c); };
  at = skipWhile(text, at, isDigit);
  if (at >= text.size() || text[at] != '.')
    // 0x1F, or the 4x8 of a shape
    return skipWhile(text, at, [](char c) { return llvm::isAlnum(c); });
  at = skipWhile(text, at + 1, isDigit);
  size_t exponent = at;
  if (exponent < text.size() && (text[exponent] == 'e' || text[exponent] == 'E')) {
    ++exponent;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-'))
      ++exponent;
    if (exponent < text.size() && llvm::isDigit(text[exponent]))
      at = skipWhile(text, exponent, isDigit);
  }
  return at;
}

Token tokenAt(StringRef text, size_t at) {
  using Kind = Token::Kind;
  auto until = [&](Kind kind, size_t end) {
    return Token{kind, text.slice(at, std::max(end, at + 1))};
  };
  char c = text[at];
  if (llvm::isSpace(c))
    return until(Kind::Space, skipWhile(text, at, [](char c) { return llvm::isSpace(c); }));
  if (text.substr(at).starts_with("//"))
    return until(Kind::Comment, std::min(text.find('\n', at), text.size()));
  if (c == '"')
    return until(Kind::String, endOfString(text, at));
  if (c == '@' && text.substr(at + 1).starts_with("\""))
    return until(Kind::Word, endOfString(text, at + 1));
  if (c == '%')
    return until(Kind::Value,
                 skipWhile(text, at + 1, [](char c) { return isNamePart(c) || c == '#'; }));
  if (c == '!')
    return until(Kind::Alias, skipWhile(text, at + 1, isNamePart));
  if (c == '@' || c == '#' || c == '^')
    return until(Kind::Word, skipWhile(text, at + 1, isNamePart));
  if (llvm::isDigit(c))
    return until(Kind::Number, endOfNumber(text, at));
  if (!llvm::isAlpha(c) && c != '_')
    return until(Kind::Punctuation, at + 1);
  size_t end = skipWhile(text, at, [](char c) { return isNamePart(c) && c != '-'; });
  if (text.slice(at, end) == "tensor" && end < text.size() && text[end] == '<')
    return until(Kind::Type, endOfBrackets(text, end));
  return until(Kind::Word, end);
}

} // namespace

llvm::SmallVector<Token> splitTokens(StringRef text) {
  llvm::SmallVector<Token> tokens;
  for (size_t at = 0; at < text.size(); at += tokens.back().text.size())
    tokens.push_back(tokenAt(text, at));
  return tokens;
}

std::string shortenNumber(StringRef literal) {
  double value = 0;
  if (!literal.contains('.') || literal.getAsDouble(value))
    return literal.str();
  double size = std::fabs(value);
  bool isPlain = size == 0 || (size >= 1e-4 && size < 1e15);
  char buffer[64];
  auto format = isPlain ? std::chars_format::fixed : std::chars_format::scientific;
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, format).ptr;
  StringRef shortest(buffer, end - buffer);
  auto [mantissa, exponent] = shortest.split('e');
  std::string text = mantissa.str() + (mantissa.contains('.') ? "" : ".0");
  if (exponent.empty())
    return text;
  bool isSmall = exponent.starts_with("-");
  return text + "e" + (isSmall ? "-" : "") + exponent.drop_front().ltrim('0').str();
}

} // namespace dtc
