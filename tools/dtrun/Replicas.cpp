#include "tools/dtrun/Replicas.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
namespace {

using format::text;

// Returns the ranks that hold each part of a tensor, by the coordinates that select the part.
std::map<std::vector<uint32_t>, std::vector<int>> holdersOf(const TensorSpec &spec,
                                                            const format::RankMesh &mesh) {
  std::map<std::vector<uint32_t>, std::vector<int>> holders;
  for (uint32_t rank = 0; rank < mesh.numRanks(); ++rank) {
    if (!spec.isHeldBy(rank))
      continue;
    std::vector<uint32_t> at = mesh.coordinatesOf(rank), part;
    for (const ShardedDim &shard : spec.shards)
      part.push_back(at[shard.axis]);
    holders[part].push_back(static_cast<int>(rank));
  }
  return holders;
}

// Returns the ranks whose value differs from the value of most ranks, if there is one.
std::vector<int> oddOf(const std::vector<int> &ranks, const std::vector<uint64_t> &values) {
  std::vector<int> odd;
  for (uint64_t value : values) {
    auto times = static_cast<size_t>(std::count(values.begin(), values.end(), value));
    if (times == values.size())
      return {};
    if (2 * times <= values.size())
      continue;
    for (size_t i = 0; i < ranks.size(); ++i)
      if (values[i] != value)
        odd.push_back(ranks[i]);
    return odd;
  }
  return ranks;
}

} // namespace

std::optional<OddReplicas> findOdd(const std::vector<TensorSpec> &tensors,
                                   const format::RankMesh &mesh,
                                   const std::vector<uint64_t> &hashes) {
  std::optional<OddReplicas> found;
  for (size_t t = 0; t < tensors.size(); ++t) {
    bool differs = false;
    for (const auto &[part, ranks] : holdersOf(tensors[t], mesh)) {
      std::vector<uint64_t> values;
      for (int rank : ranks)
        values.push_back(hashes[static_cast<size_t>(rank) * tensors.size() + t]);
      std::vector<int> odd = oddOf(ranks, values);
      if (odd.empty())
        continue;
      differs = true;
      if (found)
        continue;
      found = OddReplicas{.tensor = t, .numTensors = 0, .odd = odd, .rest = {}};
      std::set_difference(ranks.begin(), ranks.end(), odd.begin(), odd.end(),
                          std::back_inserter(found->rest));
    }
    if (differs)
      ++found->numTensors;
  }
  return found;
}

void Replicas::open(const Executable &of, Control &control, const Executor &runs, Device &on,
                    uint64_t steps) {
  every = steps;
  executable = &of;
  world = &control;
  executor = &runs;
  device = &on;
  if (every == 0)
    return;
  tensors = tensorsOfJob(of.manifest(), runs.program(), true);
  for (const CheckpointSource &source : tensors.all)
    specs.push_back(source.spec);
}

Status Replicas::hashOwn(std::vector<uint64_t> &hashes) const {
  for (size_t i = 0; i < specs.size(); ++i) {
    const format::Tensor *tensor = tensors.own[i];
    if (!tensor)
      continue;
    uint64_t bytes = elementCount(specs[i].localShape) * format::bytesOf(tensor->dtype());
    XXH64_hash_t hash = bytes;
    DTC_RETURN_IF_ERROR(readLocal(*tensor, bytes, *executor, *device,
                                  [&](uint64_t, std::span<const std::byte> piece) {
                                    hash = XXH3_64bits_withSeed(piece.data(), piece.size(), hash);
                                  }));
    hashes[i] = hash;
  }
  return {};
}

Status Replicas::describe(const std::vector<int> &ranks, std::string &words) const {
  using Host = std::array<char, HOST_NAME_MAX + 1>;
  Host mine{};
  (void)::gethostname(mine.data(), HOST_NAME_MAX);
  std::vector<Host> hosts(static_cast<size_t>(world->size()));
  DTC_RETURN_IF_ERROR(world->allGather(mine.data(), hosts.data(), mine.size(), DataType::U8));
  words = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::string host = hosts[static_cast<size_t>(ranks[i])].data();
    words += text(i == 0                  ? ""
                  : i + 1 == ranks.size() ? " and "
                                          : ", ",
                  ranks[i], " on host '", host, "'");
  }
  return {};
}

Status Replicas::check(uint64_t step) const {
  std::vector<uint64_t> mine(specs.size()), all(specs.size() * static_cast<size_t>(world->size()));
  DTC_RETURN_IF_ERROR(agree(*world, hashOwn(mine)));
  DTC_RETURN_IF_ERROR(
      world->allGather(mine.data(), all.data(), mine.size() * sizeof(uint64_t), DataType::U8));
  std::optional<OddReplicas> found = findOdd(specs, format::RankMesh(executable->manifest()), all);
  if (!found)
    return {};
  std::string odd, rest;
  DTC_RETURN_IF_ERROR(describe(found->odd, odd));
  DTC_RETURN_IF_ERROR(describe(found->rest, rest));
  std::string what =
      text("--check-replicas: after step ", step, " ", odd,
           found->odd.size() == 1 ? " has" : " have", " other bits of '", specs[found->tensor].name,
           "' than ", found->rest.empty() ? "each other, and none has what most have" : rest);
  if (found->numTensors > 1)
    what += text(", and so of ", found->numTensors - 1, " more tensors");
  return Status::dataLoss(text(what, "; look at the memory and the processor of ",
                               found->odd.size() == 1 ? "that host" : "these hosts",
                               ", and go on from a checkpoint of before"));
}

} // namespace dtc::rt
