#include "tools/dtrun/Outputs.h"

namespace dtc::rt {
namespace {

// Sends `value` of rank `from` to rank 0.
template <typename T> Status bring(Control &world, int from, T &value) {
  if (world.rank() == from)
    return world.send(&value, sizeof(value), DataType::U8, 0);
  return world.rank() == 0 ? world.receive(&value, sizeof(value), DataType::U8, from) : Status();
}

} // namespace

int rankWith(const format::Manifest &manifest, format::OutputRole role) {
  for (uint32_t rank = 0; rank < manifest.rank_program()->size(); ++rank)
    for (const format::Output *output :
         *manifest.programs()->Get(manifest.rank_program()->Get(rank))->outputs())
      if (output->role() == role)
        return static_cast<int>(rank);
  return -1;
}

Status bringOutputs(const format::Manifest &manifest, Control &world, StepResult &result) {
  for (const StepOutput &output : stepOutputs) {
    int from = rankWith(manifest, output.role);
    if (from <= 0)
      continue;
    DTC_RETURN_IF_ERROR(bring(world, from, result.*output.value));
    result.*output.isThere |= world.rank() == 0;
  }
  return {};
}

Status bringFromLoss(const format::Manifest &manifest, Control &world, double &value) {
  int from = rankWith(manifest, format::OutputRole::loss);
  return from > 0 ? bring(world, from, value) : Status();
}

Status bringText(Control &world, int from, std::string &value) {
  if (from <= 0)
    return {};
  uint64_t bytes = value.size();
  DTC_RETURN_IF_ERROR(bring(world, from, bytes));
  if (world.rank() == from)
    return world.send(value.data(), value.size(), DataType::U8, 0);
  if (world.rank() != 0)
    return {};
  value.resize(bytes);
  return world.receive(value.data(), value.size(), DataType::U8, from);
}

} // namespace dtc::rt
