// Messages fit for a terminal. Three steps: names in quotes, then characters, then lengths.
#include "runtime/format/Printable.h"

#include <algorithm>

namespace dtc::format {
namespace {

bool isWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Returns the bytes of the UTF-8 character that `text` begins with; 0 if there is none, or a
// control character (U+0080 to U+009F are, too). Overlong forms and surrogates are none.
size_t characterBytes(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned first = byte(0);
  if (first < 0x80)
    return first >= 0x20 && first != 0x7f ? 1 : 0;
  size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < count)
    return 0;
  for (size_t i = 1; i < count; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  unsigned second = byte(1);
  bool isControl = first == 0xc2 && second < 0xa0;
  bool isOverlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool isBeyond = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return isControl || isOverlong || isBeyond ? 0 : count;
}

// Returns the last position at or before `at` where `text` can be cut between characters.
size_t cutBefore(std::string_view text, size_t at) {
  for (size_t back = 0; back < 3 && at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
       ++back)
    --at;
  return at;
}

void appendEscaped(std::string &out, std::string_view piece, bool isQuoted) {
  constexpr char digits[] = "0123456789abcdef";
  while (!piece.empty()) {
    char first = piece.front();
    size_t count = characterBytes(piece);
    if (count == 0 && !isQuoted && (first == '\n' || first == '\t'))
      count = 1;
    if (count == 0) {
      auto byte = static_cast<unsigned char>(first);
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
    out += piece.substr(0, count);
    piece.remove_prefix(std::max<size_t>(count, 1));
  }
}

// Appends the beginning and the end of `piece`, so that the ending of a file's name stays.
void appendCut(std::string &out, std::string_view piece, bool isQuoted, size_t most) {
  if (piece.size() <= most)
    return appendEscaped(out, piece, isQuoted);
  size_t head = cutBefore(piece, most * 2 / 3), tail = cutBefore(piece, piece.size() - most / 3);
  appendEscaped(out, piece.substr(0, head), isQuoted);
  out += " ... (" + std::to_string(tail - head) + " bytes) ... ";
  appendEscaped(out, piece.substr(tail), isQuoted);
}

// Returns the end of the quoted name that begins at `begin`: the first quote that no letter
// follows.
size_t endOfQuote(std::string_view message, size_t begin) {
  for (size_t at = message.find('\'', begin); at != message.npos; at = message.find('\'', at + 1))
    if (at + 1 == message.size() || !isWordByte(message[at + 1]))
      return at;
  return message.npos;
}

// Shortens lines that are too long in spite of short names: with many names, or with one without
// quotes.
std::string withShortLines(const std::string &text) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    appendCut(out, rest.substr(0, end), /*isQuoted=*/false, mostLineBytes);
    out += rest.substr(end, 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (out.size() > mostMessageBytes && !rest.empty())
      return out + "... (" + std::to_string(rest.size()) + " bytes more)";
  }
  return out;
}

} // namespace

std::string printable(std::string_view message) {
  std::string out;
  for (size_t at = 0; at < message.size();) {
    size_t quote = message.find('\'', at);
    // The quote of "can't" begins no name.
    while (quote != message.npos && quote > 0 && isWordByte(message[quote - 1]))
      quote = message.find('\'', quote + 1);
    size_t end = quote == message.npos ? quote : endOfQuote(message, quote + 1);
    if (end == message.npos) {
      appendEscaped(out, message.substr(at), /*isQuoted=*/false);
      break;
    }
    appendEscaped(out, message.substr(at, quote + 1 - at), /*isQuoted=*/false);
    appendCut(out, message.substr(quote + 1, end - quote - 1), /*isQuoted=*/true, mostQuotedBytes);
    out += '\'';
    at = end + 1;
  }
  return withShortLines(out);
}

} // namespace dtc::format
