#include "runtime/simt/SiteLocation.h"

#include "runtime/base/Text.h"

namespace dtc::simt {

using format::text;

std::string locationOf(const abi::Site &site) {
  if (site.file[0] == '\0')
    return text("'", site.function, "'");
  std::string file = site.file;
  return text(file.substr(file.rfind('/') + 1), ":", site.line);
}

} // namespace dtc::simt
