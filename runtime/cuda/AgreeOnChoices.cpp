#include "runtime/cuda/AgreeOnChoices.h"

#include "runtime/comm/Agree.h"

#include <algorithm>

namespace dtc::rt {
namespace {

constexpr size_t kWords = std::size(cu::BlasAlgo{}.data);

// Determines for each matrix product the rank that chooses its algorithm. All ranks get the same
// result.
Status findChoosers(Control &control, const std::vector<uint64_t> &mine,
                    std::vector<std::vector<uint64_t>> &products) {
  auto ranks = static_cast<size_t>(control.size());
  auto most = static_cast<int64_t>(mine.size());
  std::vector<uint64_t> counts(ranks);
  DTC_RETURN_IF_ERROR(control.allGather(&most, counts.data(), 1, DataType::I64));
  size_t row = *std::max_element(counts.begin(), counts.end());
  products.assign(ranks, {});
  if (row == 0)
    return {};
  std::vector<uint64_t> padded(mine), gathered(ranks * row);
  padded.resize(row);
  DTC_RETURN_IF_ERROR(control.allGather(padded.data(), gathered.data(), row, DataType::I64));
  TuningChoices seen;
  for (size_t rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < counts[rank]; ++i)
      if (uint64_t product = gathered[rank * row + i]; seen.emplace(product, cu::BlasAlgo{}).second)
        products[rank].push_back(product);
  return {};
}

} // namespace

Status agreeOnChoices(Control &control, const std::vector<uint64_t> &mine,
                      const ChooseProducts &choose, TuningChoices &all) {
  std::vector<std::vector<uint64_t>> products;
  DTC_RETURN_IF_ERROR(findChoosers(control, mine, products));
  const std::vector<uint64_t> &ours = products[static_cast<size_t>(control.rank())];
  TuningChoices chosen;
  DTC_RETURN_IF_ERROR(agree(control, ours.empty() ? Status() : choose(ours, chosen)));
  for (int rank = 0; rank < control.size(); ++rank) {
    const std::vector<uint64_t> &theirs = products[static_cast<size_t>(rank)];
    if (theirs.empty())
      continue;
    std::vector<uint64_t> words;
    for (uint64_t product : theirs) {
      const cu::BlasAlgo &algorithm = rank == control.rank() ? chosen[product] : cu::BlasAlgo{};
      words.insert(words.end(), std::begin(algorithm.data), std::end(algorithm.data));
    }
    DTC_RETURN_IF_ERROR(control.broadcast(words.data(), words.size(), DataType::I64, rank));
    for (size_t i = 0; i < theirs.size(); ++i)
      std::copy_n(words.begin() + static_cast<ptrdiff_t>(i * kWords), kWords,
                  std::begin(all[theirs[i]].data));
  }
  return {};
}

} // namespace dtc::rt
