// Compares the planner's estimates of fixed plans with published measurements.
#include "bench/planner/ErrorFit.h"
#include "bench/planner/Figures.h"
#include "bench/planner/Fit.h"
#include "bench/planner/LeaveOneOut.h"
#include "bench/planner/Report.h"
#include "bench/planner/Sources.h"
#include "bench/planner/StaticPlans.h"

#include "compiler/support/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

#include <CLI/CLI.hpp>

using namespace dtc;
using namespace dtc::published;

namespace {

struct Options {
  std::string table = "../shared/data/published.csv", format = "text", rows, source, constants,
              errors;
  std::vector<std::string> fit;
  int rounds = 3;
  int64_t cells = 0;
  std::string root = ".", stacks = DTC_SOURCE_DIR "/bench/planner/stacks";
  double searchSeconds = 1;
  bool figures = false, memory = false, leaveOneOut = false, fitted = false, release = false;
};

// Writes the table of errors and prints how often sources are within intervals made without them.
int makeErrors(const Options &options, const std::vector<std::unique_ptr<Case>> &cases,
               const Knobs &knobs) {
  std::vector<CrossFitted> rows = crossFit(cases, knobs, options.rounds);
  double tail = calibratedTail(rows);
  LeftOut known = coverageWithoutModel(rows, tail);
  llvm::outs() << llvm::format("%.4f of the errors are left out on either side of an interval\n",
                               tail)
               << known.inside << " of " << known.rows
               << " rows are within the interval made without their model\n"
               << "and within the one made without their family of sources:\n";
  for (const auto &[family, part] : coverageWithoutFamily(rows, tail))
    llvm::outs() << "  " << family << ": " << part.inside << " of " << part.rows << "\n";
  if (std::string error = writeErrors(fitErrors(rows, tail), options.errors); !error.empty()) {
    llvm::errs() << "error: " << error << "\n";
    return 1;
  }
  return 0;
}

// Prints one line of each half's figures, without rows or sources.
void printRelease(const std::vector<std::unique_ptr<Case>> &cases, const Knobs &knobs) {
  std::vector<published::CaseResult> caseResults;
  for (const std::unique_ptr<Case> &item : cases)
    caseResults.push_back(evaluate(*item, knobs));
  for (bool fitted : {true, false}) {
    std::vector<const published::CaseResult *> half;
    for (const published::CaseResult &caseResult : caseResults)
      if (isFitted(*caseResult.item->row) == fitted)
        half.push_back(&caseResult);
    llvm::outs() << "\nrows kept for releases, " << (fitted ? "fitting" : "held-out") << " half";
    printFigures(comparisonFigures(half, /*namesSources=*/false), llvm::outs());
  }
}

int run(const Options &options) {
  if (options.memory) {
    printStaticPlans(compareStaticPlans(), llvm::outs());
    return 0;
  }
  Result<Knobs> loaded = Knobs::load(options.stacks);
  if (!loaded)
    return loaded.error().report(llvm::errs());
  Knobs &knobs = *loaded;
  if (options.fitted) {
    printFittedFigures(knobs, llvm::outs());
    return 0;
  }
  if (!llvm::sys::fs::exists(options.table)) {
    llvm::outs() << "skipped: there is no table of published measurements at '" << options.table
                 << "'\n";
    return 0;
  }
  Result<std::string> text = readFile(options.table, int64_t(1) << 30);
  if (!text)
    return text.error().report(llvm::errs());
  Result<std::vector<Row>> rows = parseRows(*text, options.table);
  if (!rows)
    return rows.error().report(llvm::errs());
  fillArchitectures(*rows);
  CellCache cache;
  Comparison comparison;
  std::vector<std::unique_ptr<Case>> cases, release;
  for (const Row &row : *rows) {
    if (!row.text("source").contains(options.source))
      continue;
    if (isForRelease(row)) {
      comparison.keep();
      if (options.release)
        if (Result<Case> item = makeCase(row, cache))
          release.push_back(std::make_unique<Case>(std::move(*item)));
      continue;
    }
    Result<Case> item = makeCase(row, cache);
    if (!item) {
      comparison.leaveOut(row, item.error().message);
      continue;
    }
    if (!isKnownSource(row))
      comparison.guess(row, item->stack);
    cases.push_back(std::make_unique<Case>(std::move(*item)));
  }
  for (const std::unique_ptr<Case> &item : cases)
    if (static_cast<int64_t>(item->row->line) == options.cells)
      printCells(*item, llvm::outs());
  if (options.cells)
    return 0;
  if (!options.constants.empty()) {
    Result<std::string> constants = readFile(options.constants, int64_t(1) << 20);
    if (!constants)
      return constants.error().report(llvm::errs());
    if (std::string error = setKnobs(*constants, knobs); !error.empty()) {
      llvm::errs() << "error: " << error << "\n";
      return 1;
    }
  }
  if (!options.fit.empty())
    return fitKnobs(cases, options.fit, options.rounds, knobs);
  if (!options.errors.empty())
    return makeErrors(options, cases, knobs);
  if (options.release) {
    printRelease(release, knobs);
    return 0;
  }
  for (const std::unique_ptr<Case> &item : cases)
    comparison.add(evaluate(*item, knobs));
  if (!options.rows.empty())
    if (std::string error = comparison.writeRows(options.rows); !error.empty()) {
      llvm::errs() << "error: " << error << "\n";
      return 1;
    }
  if (options.format == "json")
    comparison.printJson(llvm::outs());
  else
    comparison.printText(llvm::outs());
  if (options.leaveOneOut && options.format == "text")
    printLeaveOneOut(cases, knobs, options.rounds, llvm::outs());
  if (options.format == "json")
    return 0;
  std::vector<Figure> figures = comparisonFigures(comparison.heldOut());
  if (options.figures) {
    llvm::outs().flush();
    figures.push_back(chosenFigure(comparePlans(cases, knobs, cache, options.searchSeconds)));
    llvm::append_range(figures, planFigures(options.root));
  }
  printFigures(figures, llvm::outs());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Compares the planner's estimates of fixed plans with published measurements.");
  Options options;
  app.add_option("table,--table", options.table, "a CSV file with the columns of published.csv")
      ->capture_default_str();
  app.add_option("--format", options.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--rows", options.rows, "write each row's estimate and its parts to a CSV file");
  app.add_option("--source", options.source, "only rows whose source contains this text");
  app.add_option("--fit", options.fit,
                 "fit these constants ('stack.field' or 'device.field', * for all) on the rows of "
                 "the fitting half and print them");
  app.add_option("--cells", options.cells, "print what the blocks of the row on this line do");
  app.add_option("--constants", options.constants,
                 "constants in place of the tables', as --fit prints them");
  app.add_flag("--figures", options.figures,
               "search a plan for each published case and on large clusters, too, and print the "
               "table of figures to reach");
  app.add_flag("--memory", options.memory,
               "only compare estimates of memory with the static plans of programs that compile");
  app.add_option("--root", options.root, "folder of the repository, for --figures")
      ->capture_default_str();
  app.add_option("--stacks", options.stacks, "folder of stack files beside dtc's catalogue")
      ->capture_default_str();
  app.add_option("--search-seconds", options.searchSeconds, "the most that one search may take")
      ->capture_default_str();
  app.add_flag("--leave-one-out", options.leaveOneOut,
               "also fit constants without each family of sources and print the errors on it");
  app.add_option("--write-errors", options.errors,
                 "only write the table of errors of the fitting half to a CSV file");
  app.add_flag("--release", options.release,
               "only print the figures of the rows that are kept for releases");
  app.add_flag("--fitted", options.fitted, "only list the fitted figures of stacks");
  app.add_option("--rounds", options.rounds, "rounds of a fit")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
