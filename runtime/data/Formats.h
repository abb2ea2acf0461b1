// The file formats behind openTokens; each opener checks the whole layout of its file first.
#pragma once

#include "runtime/data/TokenSource.h"

#include <string>

namespace dtc::rt {

// Tokens of one or several files. Errors and formats as openTokens says.
Status openTokenFile(const std::string &path, const TokenSourceOptions &options,
                     std::unique_ptr<TokenSource> &source);
Status openTokenFolder(const std::string &path, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source);
// `stem` is the path without ".bin" and ".idx".
Status openMegatron(const std::string &stem, const TokenSourceOptions &options,
                    std::unique_ptr<TokenSource> &source);
std::unique_ptr<TokenSource> makeSyntheticTokens(const TokenSourceOptions &options);

// DataLoss that names token, position and vocabulary, unless `token` is one.
Status checkToken(int64_t token, uint64_t position, const std::string &file, uint64_t vocabulary);
// InvalidArgument unless [begin, begin + count) lies inside `size` tokens.
Status checkRange(uint64_t begin, uint64_t count, uint64_t size, const std::string &file);

} // namespace dtc::rt
