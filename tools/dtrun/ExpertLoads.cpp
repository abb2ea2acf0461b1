#include "tools/dtrun/ExpertLoads.h"

#include "runtime/exec/ExpertRows.h"

#include <algorithm>
#include <limits>
#include <map>

namespace dtc::rt {
namespace {

bool multipliesGroups(const format::Manifest &manifest) {
  for (const format::Program *program : *manifest.programs())
    for (const format::Task *task : *program->tasks())
      for (const format::Instruction *instruction : *task->instructions())
        if (instruction->op_type() == format::Op::GroupedGemm)
          return true;
  return false;
}

} // namespace

double imbalanceOf(std::span<const int32_t> rows, size_t layers,
                   std::span<const uint32_t> programs) {
  // The most, the sum and the number of ranks by program and layer.
  struct Load {
    int64_t most = 0, sum = 0, ranks = 0;
  };
  std::map<std::pair<uint32_t, size_t>, Load> loads;
  for (size_t rank = 0; rank < programs.size(); ++rank)
    for (size_t layer = 0; layer < layers; ++layer) {
      int64_t count = rows[rank * layers + layer];
      Load &load = loads[{programs[rank], layer}];
      load.most = std::max(load.most, count);
      load.sum += count;
      ++load.ranks;
    }
  double imbalance = 1;
  for (const auto &[key, load] : loads)
    if (load.sum > 0)
      imbalance =
          std::max(imbalance, static_cast<double>(load.most) * static_cast<double>(load.ranks) /
                                  static_cast<double>(load.sum));
  return imbalance;
}

Status ExpertLoadMeter::open(const format::Manifest &manifest, Control &world, size_t own) {
  hasExperts = multipliesGroups(manifest);
  areApart = hasExpertsApart(manifest);
  programs.assign(manifest.rank_program()->begin(), manifest.rank_program()->end());
  auto most = static_cast<int64_t>(own);
  DTC_RETURN_IF_ERROR(world.largest({&most, 1}));
  layers = static_cast<size_t>(most);
  return {};
}

Status ExpertLoadMeter::measure(std::span<const int64_t> rows, int64_t rounds, Control &world,
                                std::optional<ExpertLoads> &loads) {
  if (!hasExperts)
    return {};
  loads.emplace();
  if (layers == 0) {
    if (areApart)
      loads->imbalance = std::numeric_limits<double>::quiet_NaN();
    return {};
  }
  auto size = static_cast<size_t>(world.size());
  std::vector<int32_t> own(layers), all(layers * size);
  for (size_t layer = 0; layer < rows.size(); ++layer)
    own[layer] = static_cast<int32_t>(std::min<int64_t>(rows[layer], INT32_MAX));
  DTC_RETURN_IF_ERROR(world.allGather(own.data(), all.data(), layers, DataType::I32));
  loads->imbalance = imbalanceOf(all, layers, programs);
  DTC_RETURN_IF_ERROR(world.largest({&rounds, 1}));
  loads->rounds = rounds;
  return {};
}

} // namespace dtc::rt
