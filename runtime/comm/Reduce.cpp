#include "runtime/comm/Reduce.h"

#include "runtime/base/HalfFloats.h"

#include <cstring>
#include <type_traits>

namespace dtc::rt {
namespace {

template <typename T> T plain(T value) { return value; }

template <auto widen, typename Sum, typename From>
void reduceTyped(void *sums, const void *from, size_t count, Reduction op) {
  auto *into = static_cast<Sum *>(sums);
  auto *addend = static_cast<const From *>(from);
  if (op == Reduction::Max) {
    for (size_t i = 0; i < count; ++i) {
      Sum value = widen(addend[i]);
      into[i] = value > into[i] ? value : into[i];
    }
    return;
  }
  for (size_t i = 0; i < count; ++i)
    if constexpr (std::is_integral_v<Sum>)
      into[i] = static_cast<Sum>(static_cast<std::make_unsigned_t<Sum>>(into[i]) +
                                 static_cast<std::make_unsigned_t<Sum>>(addend[i]));
    else
      into[i] += widen(addend[i]);
}

template <auto convert, typename To, typename From>
void convertAll(void *to, const void *from, size_t count) {
  for (size_t i = 0; i < count; ++i)
    static_cast<To *>(to)[i] = convert(static_cast<const From *>(from)[i]);
}

} // namespace

DataType accumulatorOf(DataType type) {
  return type == DataType::Bf16 || type == DataType::F16 ? DataType::F32 : type;
}

void startReduction(void *sums, const void *from, size_t count, DataType type) {
  if (type == DataType::Bf16)
    convertAll<fromBf16, float, uint16_t>(sums, from, count);
  else if (type == DataType::F16)
    convertAll<fromF16, float, uint16_t>(sums, from, count);
  else if (count > 0)
    std::memcpy(sums, from, count * bytesOf(type));
}

void reduceInto(void *sums, const void *from, size_t count, DataType type, Reduction op) {
  if (type == DataType::F32)
    reduceTyped<plain<float>, float, float>(sums, from, count, op);
  else if (type == DataType::Bf16)
    reduceTyped<fromBf16, float, uint16_t>(sums, from, count, op);
  else if (type == DataType::F16)
    reduceTyped<fromF16, float, uint16_t>(sums, from, count, op);
  else if (type == DataType::I32)
    reduceTyped<plain<int32_t>, int32_t, int32_t>(sums, from, count, op);
  else
    reduceTyped<plain<int64_t>, int64_t, int64_t>(sums, from, count, op);
}

void finishReduction(void *to, const void *sums, size_t count, DataType type) {
  if (type == DataType::Bf16)
    convertAll<toBf16, uint16_t, float>(to, sums, count);
  else if (type == DataType::F16)
    convertAll<toF16, uint16_t, float>(to, sums, count);
  else if (count > 0)
    std::memcpy(to, sums, count * bytesOf(type));
}

} // namespace dtc::rt
