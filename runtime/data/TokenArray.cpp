// Reads tokens of any width out of a file, checking each against the vocabulary.
#include "runtime/data/TokenArray.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace dtc::rt {
using format::text;

size_t bytesOf(TokenType type) {
  switch (type) {
  case TokenType::U8:
  case TokenType::I8:
    return 1;
  case TokenType::I16:
  case TokenType::U16:
    return 2;
  case TokenType::I32:
  case TokenType::U32:
    return 4;
  case TokenType::I64:
    return 8;
  }
  return 0;
}

std::string idsOf(TokenType type) { return text(bytesOf(type), "-byte ids"); }

Status checkToken(int64_t token, uint64_t position, const std::string &file, uint64_t vocabulary) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (token >= 0 && token <= most && (vocabulary == 0 || uint64_t(token) < vocabulary))
    return Status::okStatus();
  std::string wanted =
      vocabulary ? text("a token below the vocabulary size ", vocabulary) : text("0 to ", most);
  return Status::dataLoss(
      text("reading '", file, "': token ", position, " is ", token, "; wanted ", wanted));
}

Status checkRange(uint64_t begin, uint64_t count, uint64_t size, const std::string &file) {
  if (begin <= size && count <= size - begin)
    return Status::okStatus();
  return Status::invalidArgument(text("reading '", file, "': wanted ", count, " tokens from token ",
                                      begin, " on, it has ", size));
}

TokenArray::TokenArray(InputFile file, std::string format, uint64_t offset, uint64_t count,
                       TokenType type, uint64_t vocabulary)
    : TokenSource({std::move(format), {file.path()}, {}}), file(std::move(file)), offset(offset),
      count(count), type(type), vocabulary(vocabulary) {}

// Widens out.size() tokens from unaligned `from`; returns the first that is no token, or the size.
template <typename T>
static size_t widen(const uint8_t *from, uint64_t vocabulary, std::span<int32_t> out) {
  uint64_t limit = vocabulary ? vocabulary : uint64_t(std::numeric_limits<int32_t>::max()) + 1;
  for (size_t i = 0; i < out.size(); ++i) {
    T token;
    std::memcpy(&token, from + i * sizeof(T), sizeof(T));
    // A negative token becomes a very large one.
    if (static_cast<uint64_t>(static_cast<int64_t>(token)) >= limit)
      return i;
    out[i] = static_cast<int32_t>(token);
  }
  return out.size();
}

template <typename T> static int64_t valueAt(const uint8_t *from) {
  T token;
  std::memcpy(&token, from, sizeof(T));
  return static_cast<int64_t>(token);
}

template <typename T> Status TokenArray::readAs(uint64_t begin, std::span<int32_t> out) const {
  constexpr size_t most = 4096; // tokens on the stack at once
  std::array<uint8_t, most * sizeof(T)> bytes;
  while (!out.empty()) {
    std::span<int32_t> piece = out.first(std::min(out.size(), most));
    DTC_RETURN_IF_ERROR(
        file.read(offset + begin * sizeof(T), std::span(bytes).first(piece.size() * sizeof(T))));
    if (size_t good = widen<T>(bytes.data(), vocabulary, piece); good < piece.size())
      return checkToken(valueAt<T>(bytes.data() + good * sizeof(T)), begin + good, name(),
                        vocabulary);
    out = out.subspan(piece.size());
    begin += piece.size();
  }
  return {};
}

Status TokenArray::read(uint64_t begin, std::span<int32_t> out) const {
  DTC_RETURN_IF_ERROR(checkRange(begin, out.size(), count, name()));
  switch (type) {
  case TokenType::U8:
    return readAs<uint8_t>(begin, out);
  case TokenType::I8:
    return readAs<int8_t>(begin, out);
  case TokenType::I16:
    return readAs<int16_t>(begin, out);
  case TokenType::U16:
    return readAs<uint16_t>(begin, out);
  case TokenType::I32:
    return readAs<int32_t>(begin, out);
  case TokenType::U32:
    return readAs<uint32_t>(begin, out);
  case TokenType::I64:
    return readAs<int64_t>(begin, out);
  }
  return Status::internal("reading tokens of an unknown type");
}

} // namespace dtc::rt
