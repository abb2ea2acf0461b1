#include "compiler/prove/verify/Content.h"

#include "runtime/format/Description.h"

namespace dtc {

std::string describeWriter(const Steps &steps, const Provenance &origin) {
  if (origin.time == 0)
    return "it holds what was there before the step";
  const format::Run &writer = *steps.entry.order()->Get(origin.run);
  return "it was written by " + steps.describe(writer, steps.executed(writer.task())[origin.step]);
}

std::string describeBytes(const Steps &steps, uint32_t segment) {
  return format::text("bytes ", steps.segments.begin(segment), " to ", steps.segments.end(segment),
                      " of the arena");
}

} // namespace dtc
