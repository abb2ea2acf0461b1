// Prints tables on how far the planner's choices and probabilities can be trusted.
#include "bench/planner/ReportTrust.h"

#include "compiler/support/Table.h"

#include "llvm/Support/Format.h"

#include <cmath>

namespace dtc::published {
namespace {

using CaseResults = std::vector<const CaseResult *>;

std::string percent(double share) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f %%", 100 * share);
  return text;
}

std::string share(int64_t part, int64_t whole) {
  return whole ? percent(static_cast<double>(part) / static_cast<double>(whole)) : "";
}

std::vector<std::string> regretCells(const std::string &name, const Regret &regret) {
  return {name,
          std::to_string(regret.lost.size()),
          percent(regret.median()),
          percent(regret.p90()),
          std::to_string(regret.ranOutOfMemory),
          std::to_string(regret.nothingFits)};
}

std::vector<std::string> coverageCells(const std::string &name, const Coverage &coverage) {
  return {name,
          std::to_string(coverage.rows),
          percent(coverage.inside()),
          share(coverage.below, coverage.rows),
          share(coverage.above, coverage.rows),
          percent(std::exp(coverage.width) - 1)};
}

bool isWeak(const Feasibility &fits) {
  return fits.ran + fits.failed >= kFitRows && fits.right() < kFitShare;
}

} // namespace

std::string fullSourceOf(const CaseResult &caseResult) {
  return caseResult.item->row->text("source").str();
}

std::vector<std::string> weakSources(const CaseResults &caseResults) {
  std::vector<std::string> weak;
  for (const auto &[source, group] : groupBy(caseResults, fullSourceOf))
    if (isWeak(feasibilityOf(group)))
      weak.push_back(source);
  return weak;
}

void printRegret(const CaseResults &caseResults, const std::string &title, llvm::raw_ostream &out) {
  out << "\n" << title << "\n";
  Table table({"", "groups", "median", "p90", "picks out of memory", "nothing fits"});
  for (const auto &[source, group] : groupBy(caseResults, fullSourceOf))
    if (Regret regret = regretOf(group); !regret.lost.empty())
      table.addRow(regretCells(source.substr(0, 50), regret));
  table.addRow(regretCells("all", regretOf(caseResults)));
  table.print(out, 2);
}

void printFits(const CaseResults &caseResults, const std::string &title, llvm::raw_ostream &out) {
  out << "\n" << title << "\n";
  Table table({"", "rows", "right", "ran out of memory", "of these \"fits\"", "ran",
               "of these \"does not fit\"", ""});
  auto add = [&](const std::string &name, const CaseResults &group) {
    Feasibility fits = feasibilityOf(group);
    table.addRow({name, std::to_string(fits.ran + fits.failed), percent(fits.right()),
                  std::to_string(fits.failed), std::to_string(fits.failedFits),
                  std::to_string(fits.ran), std::to_string(fits.ran - fits.ranFits),
                  name != "all" && isWeak(fits) ? "below 85 %" : ""});
  };
  for (const auto &[source, group] : groupBy(caseResults, fullSourceOf))
    add(source.substr(0, 50), group);
  add("all", caseResults);
  table.print(out, 2);
}

void printCoverage(const CaseResults &caseResults, const std::string &title,
                   const ErrorsOf &errorsOf, llvm::raw_ostream &out) {
  out << "\n" << title << "\n";
  Table table({"", "timed", "inside", "faster", "slower", "width"});
  auto classOf = [](const CaseResult &caseResult) {
    bool dense = caseResult.key.kind == ModelKind::Dense;
    return caseResult.key.stacks.front() + (dense ? ", dense, " : ", experts, ") +
           caseResult.key.device;
  };
  for (const auto &[name, group] : groupBy(caseResults, classOf))
    if (Coverage coverage = coverageOf(group, errorsOf); coverage.rows > 0)
      table.addRow(coverageCells(name, coverage));
  table.addRow(coverageCells("all", coverageOf(caseResults, errorsOf)));
  table.print(out, 2);
  Table bins({"fit probability from", "rows", "mean", "that ran"});
  for (const FitBin &bin : fitBinsOf(caseResults, errorsOf))
    bins.addRow({percent(bin.least), std::to_string(bin.rows), percent(bin.predicted),
                 share(bin.ran, bin.rows)});
  bins.print(out, 2);
}

} // namespace dtc::published
