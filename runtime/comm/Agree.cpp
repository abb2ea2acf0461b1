#include "runtime/comm/Agree.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <unistd.h>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

// Broadcasts `message` of rank `speaker`.
static Status broadcastText(Control &world, int speaker, std::string &message) {
  auto bytes = static_cast<int64_t>(message.size());
  DTC_RETURN_IF_ERROR(world.broadcast(&bytes, 1, DataType::I64, speaker));
  message.resize(static_cast<size_t>(bytes));
  return world.broadcast(message.data(), message.size(), DataType::U8, speaker);
}

Status agree(Control &world, const Status &mine) {
  int lowest = -1;
  return agree(world, mine, false, lowest);
}

Status agree(Control &world, const Status &mine, bool claim, int &lowest) {
  // The largest of size - rank among the ranks that raise a hand is that of the lowest one; 0 where
  // none does.
  int64_t hand = world.size() - world.rank();
  int64_t raised[2] = {mine.ok() ? 0 : hand, claim ? hand : 0};
  DTC_RETURN_IF_ERROR(world.largest(raised));
  lowest = raised[1] == 0 ? -1 : world.size() - static_cast<int>(raised[1]);
  if (raised[0] == 0)
    return {};
  int speaker = world.size() - static_cast<int>(raised[0]);
  auto code = static_cast<int32_t>(mine.statusCode());
  DTC_RETURN_IF_ERROR(world.broadcast(&code, 1, DataType::I32, speaker));
  std::string message =
      speaker == 0 ? mine.message() : text("rank ", speaker, ": ", mine.message());
  DTC_RETURN_IF_ERROR(broadcastText(world, speaker, message));
  return Status(static_cast<StatusCode>(code), message);
}

// "on host 'a' has --seed 2"
static std::string describe(const Trait &trait) {
  char host[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(host, HOST_NAME_MAX);
  return text("on host '", host, "' has ", trait.name, " ",
              trait.shown.empty() ? trait.value : trait.shown);
}

// Finds a rank (`odd`) that differs from the most frequent value, and one (`usual`) that has it.
// `hashes` are one trait's by rank, 0 for a rank without the trait. Ties go to the value of the
// lowest rank. Returns false if all are equal.
static bool findOdd(const std::vector<int64_t> &hashes, int &odd, int &usual) {
  std::vector<int64_t> sorted = hashes;
  std::sort(sorted.begin(), sorted.end());
  auto timesOf = [&](int64_t hash) {
    auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), hash);
    return hash == 0 ? 0 : last - first;
  };
  auto most = std::max_element(hashes.begin(), hashes.end(),
                               [&](int64_t a, int64_t b) { return timesOf(a) < timesOf(b); });
  auto other = std::find_if(hashes.begin(), hashes.end(),
                            [&](int64_t hash) { return hash != 0 && hash != *most; });
  odd = static_cast<int>(other - hashes.begin());
  usual = static_cast<int>(most - hashes.begin());
  return other != hashes.end();
}

Status agreeOnTraits(Control &world, std::span<const Trait> traits) {
  size_t count = traits.size(), ranks = static_cast<size_t>(world.size());
  std::vector<int64_t> mine, all(count * ranks), ofTrait(ranks);
  for (const Trait &trait : traits)
    mine.push_back(trait.value.empty()
                       ? 0
                       : static_cast<int64_t>(XXH3_64bits(trait.value.data(), trait.value.size())));
  DTC_RETURN_IF_ERROR(world.allGather(mine.data(), all.data(), count, DataType::I64));
  for (size_t i = 0; i < count; ++i) {
    for (size_t rank = 0; rank < ranks; ++rank)
      ofTrait[rank] = all[rank * count + i];
    int odd = 0, usual = 0;
    if (!findOdd(ofTrait, odd, usual))
      continue;
    std::string oddWords = describe(traits[i]), usualWords = oddWords;
    DTC_RETURN_IF_ERROR(broadcastText(world, odd, oddWords));
    DTC_RETURN_IF_ERROR(broadcastText(world, usual, usualWords));
    return Status::invalidArgument(text("rank ", odd, " ", oddWords, ", rank ", usual, " ",
                                        usualWords, "; all ranks of a job must have the same"));
  }
  return {};
}

} // namespace dtc::rt
