#include "runtime/format/NearestName.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace dtc::format {

// ASCII only, whatever the locale is.
static std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char &c : lower)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// Computes the distance of optimal string alignment: the least number of letters that are inserted,
// left out, replaced or swapped with their neighbour. Time grows with the product of the lengths.
static size_t editDistance(std::string_view from, std::string_view to) {
  std::vector<size_t> before, last(to.size() + 1), row(to.size() + 1); // rows i - 1, i and i + 1
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < from.size(); ++i) {
    before = std::exchange(last, std::exchange(row, std::vector<size_t>(to.size() + 1)));
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      row[j + 1] = std::min({last[j] + (from[i] != to[j]), row[j] + 1, last[j + 1] + 1});
      if (i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j])
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

std::string nearestName(std::string_view name, std::span<const std::string_view> known) {
  constexpr size_t kLongestName = 256; // longer texts are no slip of the keyboard
  if (name.size() > kLongestName)
    return "";
  std::string wanted = lowerCase(name);
  // A name that begins so wins: "dgx-a100" is "dgx-a100-80g" rather than "dgx-h100".
  for (std::string_view candidate : known)
    if (wanted.size() >= 3 && lowerCase(candidate).starts_with(wanted))
      return std::string(candidate);
  // A third of the letters may be wrong: "dgx-h10" is near "dgx-h100", "x" is near nothing.
  size_t best = std::max<size_t>(1, wanted.size() / 3) + 1;
  std::string_view nearest;
  for (std::string_view candidate : known) {
    size_t distance = editDistance(wanted, lowerCase(candidate));
    if (distance < best && distance < candidate.size()) {
      best = distance;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

} // namespace dtc::format
