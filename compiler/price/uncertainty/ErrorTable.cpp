// Reads and writes compiler/price/uncertainty/errors.csv.
#include "compiler/price/uncertainty/ErrorTable.h"

#include "compiler/support/Catalogue.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"

#include <tuple>

namespace dtc {

Catalogue errorCatalogue();

namespace {

constexpr llvm::StringRef kDense = "dense", kMixture = "mixture";
constexpr size_t kWords = 6; // cells before the figures

// Line and column count from 1.
UserError mistake(int64_t line, const std::string &message) {
  return UserError("reading errors of estimates: " + message,
                   "bench/planner.sh --write-errors writes the file", {"errors.csv", line, 0});
}

std::optional<UserError> checkClass(const ClassErrors &errors, int64_t line) {
  if (errors.timeLow > 0 || errors.timeHigh < 0)
    return mistake(line, "time_low is above 0 or time_high below it");
  if (errors.noise < 0 || errors.runs < 0)
    return mistake(line, "a noise or a number of runs below 0");
  if (errors.ownRuns < 0 || errors.ownRuns > errors.runs)
    return mistake(line, "own runs are not among the runs");
  for (size_t i = 1; i < errors.memory.size(); ++i)
    if (errors.memory[i] <= errors.memory[i - 1])
      return mistake(line, "quantiles of memory that do not rise");
  return std::nullopt;
}

Result<ClassErrors> parseLine(llvm::ArrayRef<llvm::StringRef> cells, int64_t line) {
  ClassErrors errors;
  errors.stack = cells[0].str();
  errors.device = cells[1].str();
  if (cells[2] == kDense)
    errors.kind = ModelKind::Dense;
  else if (cells[2] == kMixture)
    errors.kind = ModelKind::Mixture;
  else if (!cells[2].empty())
    return mistake(line, "kind is '" + cells[2].str() + "', wanted dense, mixture or nothing");
  if (cells[3].getAsInteger(10, errors.runs))
    return mistake(line, "runs is '" + cells[3].str() + "', wanted a whole number");
  if (cells[4].getAsInteger(10, errors.ownRuns))
    return mistake(line, "own is '" + cells[4].str() + "', wanted a whole number");
  errors.devices = cells[5].str();
  llvm::SmallVector<double> figures;
  for (llvm::StringRef cell : cells.drop_front(kWords))
    if (cell.getAsDouble(figures.emplace_back()))
      return mistake(line, "'" + cell.str() + "' is no number");
  errors.timeLow = figures[0];
  errors.timeHigh = figures[1];
  errors.noise = figures[2];
  std::copy(figures.begin() + 3, figures.end(), errors.memory.begin());
  if (std::optional<UserError> wrong = checkClass(errors, line))
    return *wrong;
  return errors;
}

} // namespace

std::string deviceWordOf(llvm::StringRef name) {
  name.consume_front("NVIDIA ");
  return name.take_until([](char c) { return c == ' ' || c == '-'; }).str();
}

std::string errorTableHeader() {
  std::string text = "stack,device,kind,runs,own,devices,time_low,time_high,noise";
  for (double level : kErrorLevels)
    llvm::raw_string_ostream(text) << llvm::format(",memory_%02.0f", 100 * level);
  return text;
}

std::string errorTableLine(const ClassErrors &errors) {
  llvm::StringRef kind;
  if (errors.kind)
    kind = *errors.kind == ModelKind::Dense ? kDense : kMixture;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << errors.stack << "," << errors.device << "," << kind << "," << errors.runs << ","
      << errors.ownRuns << "," << errors.devices
      << llvm::format(",%.4f,%.4f,%.4f", errors.timeLow, errors.timeHigh, errors.noise);
  for (double value : errors.memory)
    out << llvm::format(",%.4f", value);
  return text;
}

Result<std::vector<ClassErrors>> parseErrorTable(llvm::StringRef text) {
  std::vector<ClassErrors> table;
  bool hasHeader = false, hasAll = false;
  int64_t line = 0;
  for (llvm::StringRef rest = text; !rest.empty();) {
    llvm::StringRef row;
    std::tie(row, rest) = rest.split('\n');
    ++line;
    if (row.empty() || row.starts_with("#"))
      continue;
    if (!hasHeader && row != errorTableHeader())
      return mistake(line, "the first line names other columns than bench/planner writes");
    if (!std::exchange(hasHeader, true))
      continue;
    llvm::SmallVector<llvm::StringRef> cells;
    row.split(cells, ',');
    if (cells.size() != kWords + 3 + kErrorLevels.size())
      return mistake(line, std::to_string(cells.size()) + " cells, wanted " +
                               std::to_string(kWords + 3 + kErrorLevels.size()));
    Result<ClassErrors> errors = parseLine(cells, line);
    if (!errors)
      return errors.error();
    hasAll |= errors->stack.empty() && errors->device.empty() && !errors->kind;
    table.push_back(std::move(*errors));
  }
  if (!hasAll)
    return mistake(line, "there is no line of all runs");
  return table;
}

const std::vector<ClassErrors> &errorTable() {
  static const std::vector<ClassErrors> table = [] {
    Result<std::vector<ClassErrors>> parsed = parseErrorTable(textOf(errorCatalogue(), "errors"));
    assert(parsed && "errors.csv reads: ErrorTableTest holds it");
    return std::move(*parsed);
  }();
  return table;
}

const ClassErrors &errorsOf(const std::vector<ClassErrors> &table, const ErrorClass &key) {
  auto find = [&](llvm::StringRef stack, llvm::StringRef device, std::optional<ModelKind> kind) {
    auto found = llvm::find_if(table, [&](const ClassErrors &errors) {
      return errors.stack == stack && errors.device == device && errors.kind == kind;
    });
    return found == table.end() ? nullptr : &*found;
  };
  for (const std::string &stack : key.stacks)
    for (llvm::StringRef device : {llvm::StringRef(key.device), llvm::StringRef()})
      if (const ClassErrors *errors = find(stack, device, key.kind))
        return *errors;
  if (const ClassErrors *errors = find("", "", key.kind))
    return *errors;
  const ClassErrors *all = find("", "", std::nullopt);
  assert(all && "a table has a class of all runs: parseErrorTable wants one");
  return *all;
}

} // namespace dtc
