#include "compiler/describe/topology/Plural.h"

namespace dtc {

std::string plural(int64_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

} // namespace dtc
