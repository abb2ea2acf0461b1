// What --data and --eval-data name: one source of tokens, or a file for each input.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dtc::rt {

struct DataFile {
  std::string input; // empty: a source of tokens, which fills 'tokens' and 'targets'
  std::string path;
};

// Reads PATH or name=PATH[,name=PATH...]. A name is a letter or '_' and then letters, digits, '_',
// '.' or '-', so that a path with '=' is written ./a=b, and a comma begins another file only where
// a name and '=' follow.
// Example: "images=x.npy,labels=y.npy" gives {{"images", "x.npy"}, {"labels", "y.npy"}}.
// InvalidArgument for a name that is there twice or has no path; `flag` is whose argument it is.
Status parseDataFiles(const std::string &flag, const std::string &argument,
                      std::vector<DataFile> &files);

} // namespace dtc::rt
