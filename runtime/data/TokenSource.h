// Training data as one long sequence of tokens, whatever the file format (OpenTokens.h).
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
  // Sets where the documents end, ascending, as the files say; leaves `ends` empty if they do not.
  virtual Status documentEnds(std::vector<uint64_t> &ends) const {
    ends.clear();
    return {};
  }

private:
  DataOrigin from;
};

} // namespace dtc::rt
