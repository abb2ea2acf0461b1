#include "tools/dtrun/ExpertLoads.h"

#include "runtime/format/RankMesh.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

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

bool hasExpertsApart(const format::Manifest &manifest) {
  const auto *mesh = manifest.mesh();
  return mesh && std::any_of(mesh->begin(), mesh->end(), [](const format::Axis *axis) {
           return axis->name()->string_view() == "ep" && axis->size() > 1;
         });
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

double loadOf(std::span<const int64_t> rows) {
  auto sum = std::accumulate(rows.begin(), rows.end(), int64_t(0));
  if (sum == 0)
    return 1;
  int64_t most = *std::max_element(rows.begin(), rows.end());
  return static_cast<double>(most) * static_cast<double>(rows.size()) / static_cast<double>(sum);
}

std::vector<std::vector<int64_t>> rowsByExpert(std::span<const int32_t> rows, size_t layers,
                                               size_t experts, std::span<const RankExperts> ranks) {
  // Programs are those of the stages of a pipeline, in order.
  std::map<uint32_t, uint32_t> layersOf;
  size_t all = 0;
  for (const RankExperts &rank : ranks) {
    layersOf[rank.program] = rank.layers;
    all = std::max<size_t>(all, rank.firstExpert + experts);
  }
  std::map<uint32_t, size_t> firstOf;
  size_t count = 0;
  for (auto [program, ofProgram] : layersOf) {
    firstOf[program] = count;
    count += ofProgram;
  }
  std::vector<std::vector<int64_t>> sums(count, std::vector<int64_t>(all));
  for (size_t index = 0; index < ranks.size(); ++index) {
    const RankExperts &rank = ranks[index];
    for (size_t layer = 0; !rank.isCopy && layer < rank.layers; ++layer)
      for (size_t expert = 0; expert < experts; ++expert)
        sums[firstOf[rank.program] + layer][rank.firstExpert + expert] +=
            rows[(index * layers + layer) * experts + expert];
  }
  return sums;
}

Status ExpertLoadMeter::open(const format::Manifest &manifest, Control &world,
                             const ExpertCounts &own) {
  hasExperts = multipliesGroups(manifest);
  areApart = hasExpertsApart(manifest);
  programs.assign(manifest.rank_program()->begin(), manifest.rank_program()->end());
  auto size = static_cast<size_t>(world.size());
  std::array<int32_t, 2> sizes = {static_cast<int32_t>(own.layers),
                                  static_cast<int32_t>(own.experts)};
  std::vector<int32_t> all(sizes.size() * size);
  DTC_RETURN_IF_ERROR(world.allGather(sizes.data(), all.data(), sizes.size(), DataType::I32));
  for (size_t rank = 0; rank < size; ++rank) {
    layers = std::max(layers, static_cast<size_t>(all[2 * rank]));
    experts = std::max(experts, static_cast<size_t>(all[2 * rank + 1]));
  }
  format::RankMesh mesh(manifest);
  for (uint32_t rank = 0; rank < size; ++rank) {
    RankExperts of{.program = programs[rank], .layers = static_cast<uint32_t>(all[2 * rank])};
    std::vector<uint32_t> coordinates = mesh.coordinatesOf(rank);
    for (uint32_t axis = 0; axis < coordinates.size(); ++axis) {
      std::string_view name = manifest.mesh()->Get(axis)->name()->string_view();
      if (name == "ep")
        of.firstExpert = coordinates[axis] * static_cast<uint32_t>(experts);
      of.isCopy |= name.starts_with("tp") && coordinates[axis] > 0;
    }
    ranks.push_back(of);
  }
  return {};
}

Status ExpertLoadMeter::measure(const ExpertCounts &own, Control &world,
                                std::optional<ExpertLoads> &loads) {
  if (!hasExperts)
    return {};
  loads.emplace();
  if (!areApart)
    return {};
  auto size = static_cast<size_t>(world.size());
  std::vector<int32_t> mine(layers), all(layers * size);
  for (size_t layer = 0; layer < own.layers; ++layer)
    mine[layer] = static_cast<int32_t>(std::min<int64_t>(own.ofLayer(layer), INT32_MAX));
  DTC_RETURN_IF_ERROR(world.allGather(mine.data(), all.data(), layers, DataType::I32));
  loads->imbalance = imbalanceOf(all, layers, programs);
  loads->rounds = own.rounds;
  DTC_RETURN_IF_ERROR(world.largest({&loads->rounds, 1}));
  return {};
}

Status ExpertLoadMeter::gather(const ExpertCounts &own, Control &world,
                               std::optional<ExpertLoads> &loads) {
  if (!loads)
    return {};
  std::vector<int32_t> mine(layers * experts), all(mine.size() * ranks.size());
  for (size_t i = 0; i < own.rows.size(); ++i)
    mine[i / own.experts * experts + i % own.experts] =
        static_cast<int32_t>(std::min<int64_t>(own.rows[i], INT32_MAX));
  DTC_RETURN_IF_ERROR(world.allGather(mine.data(), all.data(), mine.size(), DataType::I32));
  loads->rows = rowsByExpert(all, layers, experts, ranks);
  return {};
}

} // namespace dtc::rt
