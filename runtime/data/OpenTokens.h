// Opens training data of any format as one sequence of tokens. A format is recognised by content;
// the argument states what content cannot show.
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

#include "runtime/data/TokenSource.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Opens a token source. Errors name the file, what was found and what to write instead: NotFound,
// DataLoss (sizes and header do not agree), InvalidArgument (a format that holds no tokens, or
// whose width is unknown).
// Example: openTokens("data/train.bin", {.vocabulary = 50257, .seed = 1}, source)
Status openTokens(const std::string &argument, const TokenSourceOptions &options,
                  std::unique_ptr<TokenSource> &source);

} // namespace dtc::rt
