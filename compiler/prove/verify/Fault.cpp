#include "compiler/prove/verify/Fault.h"

namespace dtc {

std::string Fault::text() const {
  std::string out = "rank " + std::to_string(rank);
  if (!task.empty())
    out += ", task '" + task + "', micro-batch " + std::to_string(microBatch) + ", instruction " +
           std::to_string(instruction) + (layer > 0 ? " in layer " + std::to_string(layer) : "") +
           ", " + op;
  return out + ": " + message;
}

} // namespace dtc
