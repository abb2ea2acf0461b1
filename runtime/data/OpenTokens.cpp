#include "runtime/data/OpenTokens.h"

#include "runtime/base/Text.h"
#include "runtime/data/Synthetic.h"
#include "runtime/data/TokenFile.h"
#include "runtime/data/TokenFolder.h"
#include "runtime/data/TokenPath.h"

#include <sys/stat.h>

namespace dtc::rt {
using format::text;

Status openTokens(const std::string &argument, const TokenSourceOptions &options,
                  std::unique_ptr<TokenSource> &source) {
  if (argument == "synthetic") {
    constexpr uint64_t most = 1u << 31;
    if (options.vocabulary == 0 || options.vocabulary > most)
      return Status::invalidArgument(text("making synthetic tokens: the vocabulary size is ",
                                          options.vocabulary, "; wanted 1 to ", most));
    source = makeSyntheticTokens(options);
    return Status::okStatus();
  }
  TokenPath path = parseTokenPath(argument);
  if (path.path.empty())
    return Status::invalidArgument(
        text("'", argument, "' names no file; write ", argument, "FILE"));
  struct stat info;
  if (::stat(path.path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return openTokenFolder(path, options, source);
  return openTokenFile(path, options, source);
}

} // namespace dtc::rt
