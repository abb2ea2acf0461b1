#include "compiler/prove/verify/Board.h"

#include <algorithm>

namespace dtc {

Board::Counts Board::counts(uint32_t program) const {
  Counts all;
  for (auto each = posted.lower_bound({program, 0, 0});
       each != posted.end() && each->first.program == program; ++each)
    all[each->first] = each->second.size();
  return all;
}

void Board::repeat(const Counts &from, const Counts &to, uint32_t times) {
  for (const auto &[key, end] : to) {
    auto found = from.find(key);
    std::vector<Sent> &all = posted[key];
    for (uint32_t time = 0; time < times; ++time)
      for (size_t i = found == from.end() ? 0 : found->second; i < end; ++i)
        all.push_back(Sent(all[i]));
  }
}

bool Board::isAsExpected() const {
  return std::all_of(expected.begin(), expected.end(), [&](const Expected &each) {
    for (size_t i = each.from + each.length; i < each.from + each.length + each.count; ++i) {
      const Sent *sent = find(each.key, i), *before = find(each.key, i - each.length);
      if (!sent || !before || *sent != *before)
        return false;
    }
    return true;
  });
}

std::optional<Fault> Board::findWrongGuess() const {
  for (const Guess &each : guesses)
    if (const Sent *sent = find(each.key, each.number); sent && sent->partial)
      return each.fault;
  return std::nullopt;
}

} // namespace dtc
