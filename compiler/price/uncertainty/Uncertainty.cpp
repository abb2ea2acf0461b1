// Distribution of measured seconds and bytes around their estimates.
#include "compiler/price/uncertainty/Uncertainty.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

constexpr size_t last = kErrorLevels.size() - 1;

// The tails beyond the outermost levels, 1 % on either side, are exponential, with the slope of the
// outermost tenth.
constexpr size_t kTenth = 3;
double falloffBelow(const ErrorQuantiles &at) { return (at[kTenth] - at[0]) / std::log(10); }
double falloffAbove(const ErrorQuantiles &at) {
  return (at[last] - at[last - kTenth]) / std::log(10);
}

double shareBelow(const ErrorQuantiles &at, double value) {
  if (value < at[0])
    return kErrorLevels[0] * std::exp((value - at[0]) / falloffBelow(at));
  if (value >= at[last])
    return 1 - (1 - kErrorLevels[last]) * std::exp((at[last] - value) / falloffAbove(at));
  size_t i = static_cast<size_t>(std::upper_bound(at.begin(), at.end(), value) - at.begin());
  double part = (value - at[i - 1]) / (at[i] - at[i - 1]);
  return kErrorLevels[i - 1] + part * (kErrorLevels[i] - kErrorLevels[i - 1]);
}

double valueAt(const ErrorQuantiles &at, double share) {
  if (share < kErrorLevels[0])
    return at[0] + falloffBelow(at) * std::log(share / kErrorLevels[0]);
  if (share >= kErrorLevels[last])
    return at[last] - falloffAbove(at) * std::log((1 - share) / (1 - kErrorLevels[last]));
  size_t i = static_cast<size_t>(std::upper_bound(kErrorLevels.begin(), kErrorLevels.end(), share) -
                                 kErrorLevels.begin());
  double part = (share - kErrorLevels[i - 1]) / (kErrorLevels[i] - kErrorLevels[i - 1]);
  return at[i - 1] + part * (at[i] - at[i - 1]);
}

// " of dense models"
std::string kindText(ModelKind kind) {
  return kind == ModelKind::Dense ? " of dense models" : " of mixtures of experts";
}

} // namespace

Uncertainty Uncertainty::of(const ErrorClass &key) {
  return Uncertainty(errorsOf(errorTable(), key), key);
}

double Uncertainty::stepLowSeconds(double estimate) const {
  return errors ? estimate * std::exp(errors->timeLow) : estimate;
}

double Uncertainty::stepHighSeconds(double estimate) const {
  return errors ? estimate * std::exp(errors->timeHigh) : estimate;
}

double Uncertainty::fitProbability(double estimatedBytes, double limitBytes) const {
  if (!errors || estimatedBytes <= 0 || limitBytes <= 0)
    return estimatedBytes <= limitBytes ? 1 : 0;
  return shareBelow(errors->memory, std::log(limitBytes / estimatedBytes));
}

double Uncertainty::memoryFactor(double probability) const {
  return errors ? std::exp(valueAt(errors->memory, probability)) : 1;
}

std::string Uncertainty::basis(llvm::StringRef software) const {
  if (!errors)
    return "programs that dtc plans to the byte";
  const ClassErrors &of = *errors;
  bool isOwnStack = !key.stacks.empty() && key.stacks.front() == of.stack;
  std::string text = std::to_string(of.runs) + (of.runs == 1 ? " run" : " runs") +
                     (of.kind ? kindText(*of.kind) : "");
  bool isRoot = key.stacks.size() == 1; // all software extends it
  if (isOwnStack && isRoot && of.ownRuns == 0)
    text += " with other software";
  else if (!of.stack.empty())
    text += of.ownRuns == 0        ? " with variants of " + of.stack
            : of.ownRuns < of.runs ? " with " + of.stack + " or variants of it"
                                   : " with " + of.stack;
  llvm::SmallVector<llvm::StringRef> devices;
  llvm::StringRef(of.devices).split(devices, '+');
  text += " on ";
  for (size_t i = 0; i < devices.size(); ++i)
    text += (i == 0 ? "" : i + 1 < devices.size() ? ", " : " and ") + devices[i].str();
  if (of.runs < kFewRuns)
    text += ", and those of like classes";
  std::string missing;
  auto none = [&](const std::string &what) {
    missing += (missing.empty() ? "" : ", none ") + what;
  };
  if (!isOwnStack || of.ownRuns == 0)
    none("with " + software.str() + (isOwnStack && !isRoot ? " itself" : ""));
  if (!llvm::is_contained(devices, key.device))
    none(key.device.empty() ? "on such a device" : "on " + key.device);
  if (!of.kind)
    none(llvm::StringRef(kindText(key.kind)).ltrim().str());
  return text + (missing.empty() ? "" : "; none was " + missing);
}

} // namespace dtc
