#include "tools/dtrun/JobTensors.h"

#include "runtime/exec/Binding.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <map>

namespace dtc::rt {

JobTensors tensorsOfJob(const format::Manifest &manifest, const format::Program &mine,
                        bool withState) {
  const auto &rankProgram = *manifest.rank_program();
  std::vector<std::vector<uint32_t>> ranksOf(manifest.programs()->size());
  for (uint32_t rank = 0; rank < rankProgram.size(); ++rank)
    ranksOf[rankProgram.Get(rank)].push_back(rank);
  JobTensors job;
  std::map<std::string, size_t> known;
  for (uint32_t p = 0; p < ranksOf.size(); ++p) {
    const format::Program &of = *manifest.programs()->Get(p);
    auto add = [&](const format::Tensor &tensor, bool isParameter) {
      auto [entry, isNew] = known.try_emplace(tensor.name()->str(), job.all.size());
      if (isNew) {
        job.all.push_back(
            {tensorSpec(tensor), isParameter, tensor.copy_of() ? tensor.copy_of()->str() : ""});
        job.own.push_back(nullptr);
      }
      if (&of == &mine)
        job.own[entry->second] = &tensor;
      std::vector<uint32_t> &holders = job.all[entry->second].spec.holders;
      holders.insert(holders.end(), ranksOf[p].begin(), ranksOf[p].end());
    };
    for (const format::Tensor *tensor : *of.parameters())
      add(*tensor, true);
    for (uint32_t i = 0; withState && i < format::sizeOf(of.optimizer_state()); ++i)
      add(*of.optimizer_state()->Get(i), false);
  }
  for (CheckpointSource &source : job.all) {
    std::sort(source.spec.holders.begin(), source.spec.holders.end());
    if (source.spec.holders.size() == rankProgram.size())
      source.spec.holders.clear();
  }
  return job;
}

Status readLocal(const format::Tensor &tensor, uint64_t bytes, const Executor &executor,
                 Device &device,
                 const std::function<void(uint64_t at, std::span<const std::byte>)> &take) {
  constexpr uint64_t kMost = uint64_t(1) << 20;
  std::vector<std::byte> piece(std::min(bytes, kMost));
  const char *address = executor.address(tensor.buffer());
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    uint64_t count = std::min<uint64_t>(piece.size(), bytes - at);
    DTC_RETURN_IF_ERROR(device.copyOut(piece.data(), address + at, count));
    take(at, std::span<const std::byte>(piece).first(count));
  }
  return {};
}

} // namespace dtc::rt
