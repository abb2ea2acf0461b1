#include "dialects/graph/Compression.h"

namespace dtc {

std::string textOf(const Compression &compression) {
  switch (compression.kind) {
  case CompressKind::None:
    return "none";
  case CompressKind::PowerSgd:
    return "powersgd:" + std::to_string(compression.amount);
  }
  return "";
}

std::optional<Compression> compressionFrom(llvm::StringRef text) {
  if (text == "none")
    return Compression();
  auto [name, number] = text.split(':');
  int32_t amount = 0;
  if (name != "powersgd" || number.getAsInteger(10, amount) || amount < 1 ||
      amount > kMostCompressRank)
    return std::nullopt;
  return Compression{CompressKind::PowerSgd, amount};
}

bool compresses(const Compression &compression, int64_t rows, int64_t columns) {
  return compression.kind == CompressKind::PowerSgd &&
         (rows + columns) * compression.amount < rows * columns;
}

} // namespace dtc
