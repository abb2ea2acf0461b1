// Measures how far two runs of one training differ.
#include "compiler/measure/validate/Deviation.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Lower bound of a gradient's size relative to the root mean square of all, so that gradients that
// are zero but for rounding do not count.
constexpr double kLeastShare = 1e-3;

double rootMeanSquare(const std::vector<float> &values) {
  double sum = 0;
  for (float value : values)
    sum += double(value) * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

Deviation compareTensor(const std::string &name, const std::vector<float> &found,
                        const std::vector<float> &wanted, double least) {
  if (found.size() != wanted.size())
    return {name, kInfinite, kInfinite};
  double largest = 0, squares = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    double difference = std::abs(double(found[i]) - wanted[i]);
    if (!std::isfinite(difference))
      return {name, kInfinite, kInfinite};
    largest = std::max(largest, difference);
    squares += difference * difference;
  }
  double scale = std::max(least, rootMeanSquare(wanted));
  double mean = found.empty() ? 0 : std::sqrt(squares / static_cast<double>(found.size()));
  return scale > 0 ? Deviation{name, largest / scale, mean / scale}
                   : Deviation{name, largest, mean};
}

using Tensors = std::map<std::string, std::vector<float>>;

std::vector<Deviation> compareAll(const Tensors &found, const Tensors &wanted, double least) {
  std::vector<Deviation> all;
  for (const auto &[name, values] : wanted) {
    auto other = found.find(name);
    all.push_back(other == found.end() ? Deviation{name, kInfinite, kInfinite}
                                       : compareTensor(name, other->second, values, least));
  }
  for (const auto &[name, values] : found)
    if (!wanted.count(name))
      all.push_back({name, kInfinite, kInfinite});
  return all;
}

double leastOf(const Tensors &gradients) {
  double squares = 0, count = 0;
  for (const auto &[name, values] : gradients) {
    double mean = rootMeanSquare(values);
    squares += mean * mean * static_cast<double>(values.size());
    count += static_cast<double>(values.size());
  }
  return count > 0 ? kLeastShare * std::sqrt(squares / count) : 0;
}

std::string mismatch(const char *kind, const Deviation &found, double value, double bound) {
  return llvm::formatv("{0}{1} differs by {2:e2}, more than {3:e2}", kind,
                       found.name.empty() ? "" : " '" + found.name + "'", value, bound)
      .str();
}

std::optional<std::string> findMismatch(const char *kind, const std::vector<Deviation> &found,
                                        const std::vector<Deviation> *rounding) {
  for (size_t i = 0; i < found.size(); ++i) {
    double bound = !rounding              ? kF32Tolerance
                   : i < rounding->size() ? 2 * (*rounding)[i].meanSquare
                                          : 0; // only one run has the tensor
    double value = rounding ? found[i].meanSquare : found[i].largest;
    if (!(value <= bound) || std::isinf(value))
      return mismatch(kind, found[i], value, bound);
  }
  return std::nullopt;
}

} // namespace

const Deviation *Deviations::worstOf(const std::vector<Deviation> &all) {
  auto worst = std::max_element(all.begin(), all.end(), [](const Deviation &a, const Deviation &b) {
    return a.largest < b.largest;
  });
  return worst == all.end() ? nullptr : &*worst;
}

Deviations compareRuns(const TrainedRun &found, const TrainedRun &wanted) {
  Deviations all;
  std::vector<float> losses(found.losses.begin(), found.losses.end()),
      wantedLosses(wanted.losses.begin(), wanted.losses.end());
  all.loss = compareTensor("", losses, wantedLosses, 0);
  all.gradients = compareAll(found.gradients, wanted.gradients, leastOf(wanted.gradients));
  all.parameters = compareAll(found.parameters, wanted.parameters, 0);
  return all;
}

std::optional<std::string> findMismatch(const Deviations &found, const Deviations *rounding) {
  std::vector<Deviation> ofLoss, loss{found.loss};
  if (rounding)
    ofLoss.push_back(rounding->loss);
  if (auto what = findMismatch("the loss", loss, rounding ? &ofLoss : nullptr))
    return what;
  if (auto what =
          findMismatch("gradient", found.gradients, rounding ? &rounding->gradients : nullptr))
    return what;
  return findMismatch("parameter", found.parameters, rounding ? &rounding->parameters : nullptr);
}

} // namespace dtc
