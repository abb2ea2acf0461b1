// Consecutive tokens in a file.
#pragma once

#include "runtime/base/File.h"
#include "runtime/data/TokenSource.h"

namespace dtc::rt {

// The types of tokens in files.
enum class TokenType { U8, I8, I16, U16, I32, U32, I64 };

// Returns the bytes of a token.
size_t bytesOf(TokenType type);
// Returns a type in words: "2-byte ids".
std::string idsOf(TokenType type);

// Reads `count` tokens of `type` from byte `offset` of `file`. The offset need not be aligned. The
// range must lie inside the file: openers check it.
class TokenArray final : public TokenSource {
public:
  // `format` is the origin's, for people.
  TokenArray(InputFile file, std::string format, uint64_t offset, uint64_t count, TokenType type,
             uint64_t vocabulary);

  const std::string &name() const override { return file.path(); }
  uint64_t size() const override { return count; }
  Status read(uint64_t begin, std::span<int32_t> out) const override;

private:
  template <typename T> Status readAs(uint64_t begin, std::span<int32_t> out) const;

  InputFile file;
  uint64_t offset, count;
  TokenType type;
  uint64_t vocabulary;
};

// Returns DataLoss with token, position and vocabulary, unless `token` is in the vocabulary.
Status checkToken(int64_t token, uint64_t position, const std::string &file, uint64_t vocabulary);
// Returns InvalidArgument unless [begin, begin + count) lies inside `size` tokens.
Status checkRange(uint64_t begin, uint64_t count, uint64_t size, const std::string &file);

} // namespace dtc::rt
