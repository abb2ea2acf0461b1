// Fits the table of errors that compiler/price/uncertainty reads on published rows.
#include "bench/planner/ErrorFit.h"

#include "bench/planner/ErrorDistribution.h"
#include "bench/planner/LeaveOneOut.h"
#include "bench/planner/Sources.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace dtc::published {
namespace {

// kPull is the number of independent rows as which the wider class counts. kScale is the spread
// that is assumed without rows: half of all errors beyond 14 %, one in ten beyond 46 %.
constexpr double kPull = 5, kScale = 0.2;

using Rows = std::vector<const CrossFitted *>;
using Samples = std::vector<ErrorSample>;

// Gives the samples of each family the weight of the root of their number.
class WeightedSamples {
public:
  void add(const std::string &family, ErrorSample sample) { families[family].push_back(sample); }
  Samples all() const {
    Samples result;
    for (const auto &[family, samples] : families)
      for (ErrorSample sample : samples) {
        double count = static_cast<double>(samples.size()) / perRow;
        sample.weight = std::sqrt(count) / static_cast<double>(samples.size());
        result.push_back(sample);
      }
    return result;
  }
  explicit WeightedSamples(double perRow) : perRow(perRow) {}

private:
  double perRow; // number of samples of a row
  std::map<std::string, Samples> families;
};

Samples timeSamples(const Rows &rows) {
  WeightedSamples samples(2);
  for (const CrossFitted *row : rows)
    if (row->now.item->seconds > 0)
      for (const CaseResult *caseResult : {&row->now, &row->without})
        samples.add(row->family, {ErrorSample::Kind::Exact, -std::log(caseResult->timeRatio())});
  return samples.all();
}

// Measured memory counts by itself; of other rows it is known only if they fitted.
Samples memorySamples(const Rows &rows) {
  WeightedSamples samples(1);
  for (const CrossFitted *row : rows) {
    const CaseResult &caseResult = row->now;
    double room = std::log(caseResult.item->memoryLimit / caseResult.estimate.peakBytes);
    if (caseResult.item->memory > 0)
      samples.add(row->family + " measured",
                  {ErrorSample::Kind::Exact, -std::log(caseResult.memoryRatio())});
    else
      samples.add(row->family, {caseResult.item->ranOutOfMemory ? ErrorSample::Kind::Above
                                                                : ErrorSample::Kind::AtMost,
                                room});
  }
  return samples.all();
}

// Adds both signs, as the order of two configurations is arbitrary.
Samples pairSamples(const Rows &rows) {
  WeightedSamples samples(4);
  std::map<std::string, Rows> groups;
  for (const CrossFitted *row : rows)
    if (row->now.item->seconds > 0)
      groups[comparableKey(row->now)].push_back(row);
  for (const auto &[key, group] : groups)
    for (size_t i = 0; i < group.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        for (auto of : {&CrossFitted::now, &CrossFitted::without}) {
          double off = std::log((group[i]->*of).timeRatio() / (group[j]->*of).timeRatio());
          for (double sign : {1.0, -1.0})
            samples.add(group[i]->family, {ErrorSample::Kind::Exact, sign * off});
        }
  return samples.all();
}

struct Distributions {
  ErrorDistribution time, memory, pairs;

  static Distributions assumed() {
    ErrorDistribution base = ErrorDistribution::laplace(kScale);
    return {base, base, base};
  }
  Distributions of(const Rows &rows) const {
    return {time.of(timeSamples(rows), kPull), memory.of(memorySamples(rows), kPull),
            pairs.of(pairSamples(rows), kPull)};
  }
};

struct Class {
  std::string stack, device;
  std::optional<ModelKind> kind;

  bool has(const CrossFitted &row) const {
    const ErrorClass &key = row.now.key;
    return (!kind || key.kind == *kind) && (device.empty() || key.device == device) &&
           (stack.empty() || llvm::is_contained(key.stacks, stack));
  }
};

// Returns the classes of a row, each within the next.
std::vector<Class> classesOf(const ErrorClass &key) {
  std::vector<Class> classes;
  for (const std::string &stack : key.stacks) {
    classes.push_back({stack, key.device, key.kind});
    classes.push_back({stack, "", key.kind});
  }
  classes.push_back({"", "", key.kind});
  classes.push_back({"", "", std::nullopt});
  return classes;
}

// Estimates classes from the widest to the narrowest, each once.
class ErrorFit {
public:
  ErrorFit(const std::vector<CrossFitted> &all, double tail) : tail(tail) {
    for (const CrossFitted &row : all)
      rows.push_back(&row);
    root = Distributions::assumed().of(rows);
    table.push_back(summaryOf({}, rows, root));
  }

  void addClassesOf(const ErrorClass &key) {
    std::vector<Class> classes = classesOf(key);
    for (const Class &each : classes)
      add(each, key);
  }

  std::vector<ClassErrors> table;

private:
  // Returns the next wider class: of a stack and a device the stack on any device, and of that the
  // stack that it extends.
  static std::optional<Class> above(const Class &each, const ErrorClass &key) {
    if (!each.device.empty())
      return Class{each.stack, "", each.kind};
    if (each.stack.empty())
      return each.kind ? std::optional(Class()) : std::nullopt;
    auto own = llvm::find(key.stacks, each.stack);
    return Class{std::next(own) == key.stacks.end() ? "" : *std::next(own), "", each.kind};
  }

  const Distributions &add(const Class &each, const ErrorClass &key) {
    std::optional<Class> wider = above(each, key);
    if (!wider)
      return root;
    auto name = std::tuple(each.stack, each.device, each.kind);
    auto known = distributions.find(name);
    if (known != distributions.end())
      return known->second;
    const Distributions &base = add(*wider, key);
    Rows own, all;
    for (const CrossFitted *row : rows) {
      if (each.has(*row))
        own.push_back(row);
      if (wider->has(*row))
        all.push_back(row);
    }
    Distributions found = own.size() == all.size() ? base : base.of(own);
    table.push_back(summaryOf(each, own, found));
    return distributions.emplace(name, std::move(found)).first->second;
  }

  ClassErrors summaryOf(const Class &each, const Rows &own, const Distributions &found) const {
    ClassErrors errors;
    errors.stack = each.stack;
    errors.device = each.device;
    errors.kind = each.kind;
    errors.runs = static_cast<int64_t>(own.size());
    std::set<std::string> devices;
    for (const CrossFitted *row : own) {
      devices.insert(row->now.key.device);
      errors.ownRuns += each.stack.empty() || row->now.key.stacks.front() == each.stack;
    }
    errors.devices = llvm::join(devices, "+");
    errors.timeLow = std::min(0.0, found.time.quantile(tail));
    errors.timeHigh = std::max(0.0, found.time.quantile(1 - tail));
    errors.noise = found.pairs.quantile(0.75);
    for (size_t i = 0; i < kErrorLevels.size(); ++i) {
      // levels stay distinct as they are written
      double least = i == 0 ? -1e9 : errors.memory[i - 1] + 2e-4;
      errors.memory[i] = std::max(least, found.memory.quantile(kErrorLevels[i]));
    }
    return errors;
  }

  double tail;
  Rows rows;
  Distributions root;
  std::map<std::tuple<std::string, std::string, std::optional<ModelKind>>, Distributions>
      distributions;
};

LeftOut sumOf(const std::map<std::string, LeftOut> &parts) {
  LeftOut sum;
  for (const auto &[name, part] : parts) {
    sum.rows += part.rows;
    sum.inside += part.inside;
  }
  return sum;
}

// Returns the coverage of the rows of each value of `key` by a table of all other rows. The errors
// are those of the estimate `of`.
std::map<std::string, LeftOut> leaveOut(const std::vector<CrossFitted> &rows,
                                        std::string CrossFitted::*key, CaseResult CrossFitted::*of,
                                        double tail) {
  std::map<std::string, LeftOut> result;
  for (const CrossFitted &row : rows)
    result.try_emplace(row.*key);
  for (auto &[name, part] : result) {
    std::vector<CrossFitted> others;
    for (const CrossFitted &row : rows)
      if (row.*key != name)
        others.push_back(row);
    std::vector<ClassErrors> table = fitErrors(others, tail);
    for (const CrossFitted &row : rows) {
      if (row.*key != name || row.now.item->seconds <= 0)
        continue;
      const ClassErrors &errors = errorsOf(table, row.now.key);
      double off = -std::log((row.*of).timeRatio());
      ++part.rows;
      part.inside += off >= errors.timeLow && off <= errors.timeHigh;
    }
  }
  return result;
}

} // namespace

std::vector<CrossFitted> crossFit(const std::vector<std::unique_ptr<Case>> &cases,
                                  const Knobs &knobs, int rounds) {
  auto isUsed = [](const Case &item) { return isFitted(*item.row); };
  std::map<std::string, Knobs> without;
  std::vector<CrossFitted> rows;
  for (const std::unique_ptr<Case> &item : cases) {
    if (!isUsed(*item))
      continue;
    std::string family = ruleOf(*item->row).family.str();
    auto known = without.find(family);
    if (known == without.end())
      known = without.emplace(family, fittedWithout(family, cases, knobs, rounds, isUsed)).first;
    std::string group =
        family + "|" + item->row->text("model").str() + "|" + item->row->text("seq_len").str();
    rows.push_back({family, group, evaluate(*item, knobs), evaluate(*item, known->second)});
  }
  return rows;
}

std::vector<ClassErrors> fitErrors(const std::vector<CrossFitted> &rows, double tail) {
  ErrorFit fit(rows, tail);
  for (const CrossFitted &row : rows)
    fit.addClassesOf(row.now.key);
  std::sort(fit.table.begin(), fit.table.end(), [](const ClassErrors &a, const ClassErrors &b) {
    return std::tie(a.stack, a.device, a.kind) < std::tie(b.stack, b.device, b.kind);
  });
  return std::move(fit.table);
}

std::map<std::string, LeftOut> coverageWithoutFamily(const std::vector<CrossFitted> &rows,
                                                     double tail) {
  return leaveOut(rows, &CrossFitted::family, &CrossFitted::without, tail);
}

LeftOut coverageWithoutModel(const std::vector<CrossFitted> &rows, double tail) {
  return sumOf(leaveOut(rows, &CrossFitted::group, &CrossFitted::now, tail));
}

double calibratedTail(const std::vector<CrossFitted> &rows) {
  constexpr double kWanted = 0.9;
  double least = 0.001, most = 0.1;
  while (most - least > 0.0005) {
    double tail = (least + most) / 2;
    double unknown = sumOf(coverageWithoutFamily(rows, tail)).share(),
           known = coverageWithoutModel(rows, tail).share();
    ((unknown + known) / 2 >= kWanted ? least : most) = tail;
  }
  return least;
}

std::string writeErrors(const std::vector<ClassErrors> &table, const std::string &path) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return "writing '" + path + "': " + error.message();
  out << "# Written by bench/planner.sh --write-errors from the fitting half of the published "
         "rows.\n"
      << errorTableHeader() << "\n";
  for (const ClassErrors &errors : table)
    out << errorTableLine(errors) << "\n";
  return "";
}

} // namespace dtc::published
