// The file formats behind openTokens; each opener checks the whole layout of its file first.
#pragma once

#include "runtime/base/File.h"
#include "runtime/data/TokenSource.h"

#include <string>

namespace dtc::rt {

// The format of tokens that an argument states; Any leaves it to the content.
enum class StatedFormat { Any, Bytes, U16, U32, U64 };

// The stated format and the path of an argument.
struct TokenPath {
  StatedFormat stated = StatedFormat::Any;
  std::string path;
};
// Splits an argument such as "u16:PATH".
TokenPath parseTokenPath(const std::string &argument);
// Returns the prefix of a format: "u16:"; empty for Any.
const char *prefixOf(StatedFormat stated);

// Opens the tokens of one file. Errors and formats: see openTokens.
Status openTokenFile(const TokenPath &path, const TokenSourceOptions &options,
                     std::unique_ptr<TokenSource> &source);
// Opens the token files of a folder. Errors and formats: see openTokens.
Status openTokenFolder(const TokenPath &path, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source);
// Opens ids without a header: of the stated width, or of the width that the vocabulary implies.
// InvalidArgument if no width is implied, or if the ids cannot have it; the message says how to
// state it. `missingIndex` is the .idx that a Megatron data set would have, empty for none.
Status openPlainIds(InputFile file, StatedFormat stated, const std::string &missingIndex,
                    const TokenSourceOptions &options, std::unique_ptr<TokenSource> &source);
// Opens a Megatron data set; `stem` is the path without ".bin" and ".idx".
Status openMegatron(const std::string &stem, const TokenSourceOptions &options,
                    std::unique_ptr<TokenSource> &source);
// Makes random tokens below the vocabulary, from the seed.
std::unique_ptr<TokenSource> makeSyntheticTokens(const TokenSourceOptions &options);

// Returns DataLoss with token, position and vocabulary, unless `token` is in the vocabulary.
Status checkToken(int64_t token, uint64_t position, const std::string &file, uint64_t vocabulary);
// Returns InvalidArgument unless [begin, begin + count) lies inside `size` tokens.
Status checkRange(uint64_t begin, uint64_t count, uint64_t size, const std::string &file);

} // namespace dtc::rt
