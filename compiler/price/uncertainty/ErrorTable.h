// Errors of estimates by class: what compiler/price/uncertainty/errors.csv says.
#pragma once

#include "compiler/support/Error.h"

#include <array>
#include <vector>

namespace dtc {

enum class ModelKind : uint8_t { Dense, Mixture }; // Mixture: of experts

// The class of a plan by which errors are grouped.
struct ErrorClass {
  std::vector<std::string> stacks; // its name, then those that it extends, the nearest first
  std::string device;              // deviceWordOf its name: "H100"
  ModelKind kind = ModelKind::Dense;
};

// The word that errors are told apart by, of a device's name in a topology. Example: "H100" of
// "H100-SXM5-80GB" and of "NVIDIA H100 80GB HBM3".
std::string deviceWordOf(llvm::StringRef name);

// log(measured / estimated) below which that share of the runs is.
constexpr std::array<double, 13> kErrorLevels = {0.01, 0.02, 0.05, 0.1,  0.2,  0.35, 0.5,
                                                 0.65, 0.8,  0.9,  0.95, 0.98, 0.99};
using ErrorQuantiles = std::array<double, kErrorLevels.size()>;

// A class with fewer runs leans on those above it by more than half.
constexpr int64_t kFewRuns = 25;

// Errors of the runs of one stack and those that extend it, of one device and kind of model.
struct ClassErrors {
  std::string stack, device;     // "": of all
  std::optional<ModelKind> kind; // nothing: both
  int64_t runs = 0;              // runs with a measured time or memory, or that ran out of memory
  // Number of these with the stack itself and not with one that extends it; of all stacks: all.
  int64_t ownRuns = 0;
  std::string devices; // devices of the runs: "A100+H100"
  double timeLow = 0,
         timeHigh = 0; // log(measured / estimated) of the step, 5th and 95th percentile
  // Error of the ratio of two configurations: the median of |log(measured / estimated)|.
  double noise = 0;
  ErrorQuantiles memory{}; // log(measured / estimated) at kErrorLevels
};

// Reads the text of errors.csv. Errors: a line that has other cells than the first one says, a cell
// that is no number, quantiles that do not rise, no line for all runs.
Result<std::vector<ClassErrors>> parseErrorTable(llvm::StringRef text);

// The file as it is compiled in.
const std::vector<ClassErrors> &errorTable();

// The class of a key that has errors: of its stack on its device, of its stack on any device, the
// same of the stacks that it extends, of its kind of model, of all. Wants a class of all.
const ClassErrors &errorsOf(const std::vector<ClassErrors> &table, const ErrorClass &key);

// The first line of errors.csv.
std::string errorTableHeader();

// A line of it.
std::string errorTableLine(const ClassErrors &errors);

} // namespace dtc
