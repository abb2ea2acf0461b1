// The argument of --data and --eval-data: one source of tokens, or a file for each input.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dtc::rt {

// One file or source of the argument.
struct DataFile {
  std::string input; // empty for a source of tokens, which fills 'tokens' and 'targets'
  std::string path;
};

// Reads PATH or name=PATH[,name=PATH...]. A name is a letter or '_', and then letters, digits, '_',
// '.' or '-'. A path with '=' must therefore be written ./a=b, and a comma begins another file only
// if a name and '=' follow it.
// Example: "images=x.npy,labels=y.npy" gives {{"images", "x.npy"}, {"labels", "y.npy"}}.
// Errors: InvalidArgument for a name that occurs twice or has no path. `flag` is the option to name
// in errors.
Status parseDataFiles(const std::string &flag, const std::string &argument,
                      std::vector<DataFile> &files);

} // namespace dtc::rt
