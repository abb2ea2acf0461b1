#include "runtime/data/SampleSource.h"

#include "runtime/base/Text.h"

namespace dtc::rt {
using format::text;

uint64_t SampleType::elements() const {
  uint64_t count = 1;
  for (uint64_t size : shape)
    count *= size;
  return count;
}

std::string describe(const SampleType &type) {
  std::string sizes;
  for (uint64_t size : type.shape)
    sizes += text(sizes.empty() ? "" : ", ", size);
  return text(type.element == SampleElement::F32 ? "f32" : "i32", " [", sizes, "]");
}

} // namespace dtc::rt
