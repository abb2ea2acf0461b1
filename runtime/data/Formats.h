// The file formats behind openTokens; each opener checks the whole layout of its file first.
#pragma once

#include "runtime/base/File.h"
#include "runtime/data/TokenSource.h"

#include <string>

namespace dtc::rt {

// The format of tokens that an argument states; Any leaves it to the content.
enum class StatedFormat { Any, Bytes, U16, U32, U64 };

// Splits "u16:PATH" into the stated format and the path.
struct TokenPath {
  StatedFormat stated = StatedFormat::Any;
  std::string path;
};
TokenPath parseTokenPath(const std::string &argument);
// "u16:"; empty for Any.
const char *prefixOf(StatedFormat stated);

// Tokens of one or several files. Errors and formats as openTokens says.
Status openTokenFile(const TokenPath &path, const TokenSourceOptions &options,
                     std::unique_ptr<TokenSource> &source);
Status openTokenFolder(const TokenPath &path, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source);
// Ids without a header: of the stated width, or of the width that the vocabulary implies.
// InvalidArgument where none is implied, or where the ids cannot have that width; the message says
// how to state it. `missingIndex` is the .idx that a Megatron data set would have, empty for none.
Status openPlainIds(InputFile file, StatedFormat stated, const std::string &missingIndex,
                    const TokenSourceOptions &options, std::unique_ptr<TokenSource> &source);
// `stem` is the path without ".bin" and ".idx".
Status openMegatron(const std::string &stem, const TokenSourceOptions &options,
                    std::unique_ptr<TokenSource> &source);
std::unique_ptr<TokenSource> makeSyntheticTokens(const TokenSourceOptions &options);

// DataLoss that names token, position and vocabulary, unless `token` is one.
Status checkToken(int64_t token, uint64_t position, const std::string &file, uint64_t vocabulary);
// InvalidArgument unless [begin, begin + count) lies inside `size` tokens.
Status checkRange(uint64_t begin, uint64_t count, uint64_t size, const std::string &file);

} // namespace dtc::rt
