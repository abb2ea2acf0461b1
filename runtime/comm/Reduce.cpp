#include "runtime/comm/Reduce.h"

#include <type_traits>

namespace dtc::rt {
namespace {

template <typename T> void reduceTyped(T *into, const T *from, size_t count, Reduction op) {
  if (op == Reduction::Max) {
    for (size_t i = 0; i < count; ++i)
      into[i] = from[i] > into[i] ? from[i] : into[i];
    return;
  }
  for (size_t i = 0; i < count; ++i)
    if constexpr (std::is_integral_v<T>)
      into[i] = static_cast<T>(static_cast<std::make_unsigned_t<T>>(into[i]) +
                               static_cast<std::make_unsigned_t<T>>(from[i]));
    else
      into[i] += from[i];
}

} // namespace

void reduceInto(void *into, const void *from, size_t count, DataType type, Reduction op) {
  if (type == DataType::F32)
    reduceTyped(static_cast<float *>(into), static_cast<const float *>(from), count, op);
  else if (type == DataType::I32)
    reduceTyped(static_cast<int32_t *>(into), static_cast<const int32_t *>(from), count, op);
  else
    reduceTyped(static_cast<int64_t *>(into), static_cast<const int64_t *>(from), count, op);
}

} // namespace dtc::rt
