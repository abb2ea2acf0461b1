// The argument of --data and --eval-data: one source of tokens, several with weights, or a file for
// each input.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dtc::rt {

// One file or source of the argument.
struct DataFile {
  std::string input; // empty for a source of tokens, which fills 'tokens' and 'targets'
  std::string path;
  double weight = 0; // share of the samples that it gives; 0 where the argument states none
};

// Reads PATH, PATH:WEIGHT,PATH:WEIGHT[,...] or name=PATH[,name=PATH...]. A name is a letter or
// '_', and then letters, digits, '_', '.' or '-'. A path with '=' must therefore be written ./a=b,
// and a comma begins another file only if a name and '=' follow it. With weights a comma ends a
// path only behind a weight, and all of them add up to 1.
// Example: "images=x.npy,labels=y.npy" gives {{"images", "x.npy"}, {"labels", "y.npy"}}.
// Errors: InvalidArgument for a name that occurs twice or has no path, and for weights that are
// missing, not above 0 or add up to something else. `flag` is the option to name in errors.
Status parseDataFiles(const std::string &flag, const std::string &argument,
                      std::vector<DataFile> &files);

} // namespace dtc::rt
