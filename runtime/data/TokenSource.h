// Training text as one long sequence of tokens, whatever the file format.
//
//   X.bin beside X.idx      Megatron indexed dataset; X.idx, or X itself where only those two exist
//   X.bin, llm.c header     256 int32, [0] 20240520 [1] 1: uint16 tokens; 20240801, 7: uint32
//   X.bin, anything else    nanoGPT: uint16 tokens without a header
//   other files             text: each byte is a token
//   directory               its .bin and .txt files one after the other, in order of name (bytes)
//   synthetic               random tokens below the vocabulary, from the seed
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace dtc::rt {

struct TokenSourceOptions {
  uint64_t vocabulary = 0; // tokens at or above are an error; 0 accepts any that fit int32
  uint64_t seed = 0;       // of `synthetic`
};

class TokenSource {
public:
  virtual ~TokenSource() = default;
  virtual const std::string &name() const = 0;
  // Number of tokens.
  virtual uint64_t size() const = 0;
  // Copies tokens [begin, begin + out.size()). Any thread may call it. Errors: InvalidArgument past
  // the end; DataLoss for a token outside the vocabulary, with the file and the token's index.
  virtual Status read(uint64_t begin, std::span<int32_t> out) const = 0;
};

// Errors name the file, what was found and what was wanted: NotFound, DataLoss (sizes and header
// do not agree), InvalidArgument (a format that holds no tokens).
// Example: openTokens("data/train.bin", {.vocabulary = 50257, .seed = 1}, source)
Status openTokens(const std::string &path, const TokenSourceOptions &options,
                  std::unique_ptr<TokenSource> &source);

} // namespace dtc::rt
