// Training data as one long sequence of tokens, whatever the file format. A format is recognised by
// content; the argument states what content cannot show.
//
//   llm.c header            ids of 2 or 4 bytes behind a header (LlmcHeader.h), whatever the name
//   X.bin beside X.idx      Megatron indexed dataset; X.idx, or X itself if only those two exist
//   X.bin, anything else    ids without a header, as nanoGPT's: of 2 bytes for a vocabulary of
//                           at most 65,536 entries and of 4 bytes above
//   u16:X, u32:X, u64:X     ids without a header, of that width
//   text                    each byte is a token, for vocabularies of 256 to 512 entries only
//   bytes:X                 each byte is a token, whatever X holds
//   directory               its .bin or .txt files one after the other, in order of name (bytes)
//   synthetic               random tokens below the vocabulary, from the seed
//
// Everything else is refused with the spelling that works.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// The files of a folder that a source takes, if their names tell training from validation.
enum class Split { Training, Validation };

// The options of a token source.
struct TokenSourceOptions {
  uint64_t vocabulary = 0; // tokens at or above are an error; 0 accepts any that fit int32
  uint64_t seed = 0;       // seed of `synthetic`
  Split split = Split::Training;
};

// The origin of tokens, for people.
struct DataOrigin {
  std::string format;               // "llm.c, 2-byte ids"
  std::vector<std::string> files;   // files that are read, in order; empty for random tokens
  std::vector<std::string> leftOut; // files of the folder that belong to another split
};

// A sequence of tokens.
class TokenSource {
public:
  explicit TokenSource(DataOrigin origin) : from(std::move(origin)) {}
  virtual ~TokenSource() = default;
  const DataOrigin &origin() const { return from; }
  // Returns the name of the file or folder.
  virtual const std::string &name() const = 0;
  // Returns the number of tokens.
  virtual uint64_t size() const = 0;
  // Copies tokens [begin, begin + out.size()). Any thread may call it. Errors: InvalidArgument past
  // the end; DataLoss for a token outside the vocabulary, with the file and the token's index.
  virtual Status read(uint64_t begin, std::span<int32_t> out) const = 0;

private:
  DataOrigin from;
};

// Returns the path in the argument of openTokens: the text behind "bytes:", "u16:", "u32:" or
// "u64:". A file of such a name is written ./bytes:x.
std::string pathOfTokens(const std::string &argument);

// Opens a token source. Errors name the file, what was found and what to write instead: NotFound,
// DataLoss (sizes and header do not agree), InvalidArgument (a format that holds no tokens, or
// whose width is unknown).
// Example: openTokens("data/train.bin", {.vocabulary = 50257, .seed = 1}, source)
Status openTokens(const std::string &argument, const TokenSourceOptions &options,
                  std::unique_ptr<TokenSource> &source);

} // namespace dtc::rt
