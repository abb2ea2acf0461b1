#include "runtime/format/Repeats.h"

#include <algorithm>

namespace dtc::format {

std::vector<uint32_t> countLayers(const Task &task) {
  std::vector<uint32_t> layers(task.instructions()->size(), 1);
  for (uint32_t i = 0; i < sizeOf(task.repeats()); ++i) {
    const Repeat &repeat = *task.repeats()->Get(i);
    std::fill(layers.begin() + repeat.begin(), layers.begin() + repeat.end(), repeat.count());
  }
  return layers;
}

} // namespace dtc::format
