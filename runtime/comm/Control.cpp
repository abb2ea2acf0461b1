#include "runtime/comm/Control.h"

namespace dtc::rt {

size_t bytesOf(DataType type) {
  switch (type) {
  case DataType::F32:
  case DataType::I32:
    return 4;
  case DataType::Bf16:
  case DataType::F16:
    return 2;
  case DataType::I64:
    return 8;
  case DataType::U8:
    return 1;
  }
  return 0;
}

} // namespace dtc::rt
