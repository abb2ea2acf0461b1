// Measures errors on each family of sources of constants that are fitted without it.
#include "bench/planner/LeaveOneOut.h"

#include "bench/planner/FittedConstants.h"
#include "bench/planner/Sources.h"
#include "compiler/price/cost/Constants.h"
#include "compiler/support/Table.h"

#include "llvm/Support/Format.h"

#include <deque>

namespace dtc::published {
namespace {

std::string fixed(double value, int digits, llvm::StringRef unit = "") {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, value) << unit;
  return text;
}

std::string familyOf(const Case &item) { return ruleOf(*item.row).family.str(); }

// Sets a constant that moves `item` to its prior.
void forget(const FittedConstant &constant, const Case &item, const Knobs &tables, Knobs &knobs) {
  double prior = constant.prior;
  if (constant.field == "products") // a factor on the value of the table of devices
    prior /= constantsOf(item.topology.device).sustained;
  if (!constant.like.empty())
    prior = *knobValue((constant.like + "." + constant.field).str(), tables);
  setKnobs(constant.name() + " = " + fixed(prior, 9), knobs);
}

std::vector<std::string> cellsOf(const std::string &name,
                                 const std::vector<const CaseResult *> &now,
                                 const std::vector<const CaseResult *> &without) {
  Summary a = summaryOf(now), b = summaryOf(without);
  bool hasOrder = a.order.pairs > 0;
  return {name,
          std::to_string(a.time.rows),
          fixed(100 * a.time.median, 1, " %"),
          fixed(100 * a.time.p90, 1, " %"),
          hasOrder ? fixed(a.order.tau(), 3) : "",
          fixed(100 * b.time.median, 1, " %"),
          fixed(100 * b.time.p90, 1, " %"),
          fixed(100 * b.time.bias, 1, " %"),
          hasOrder ? fixed(b.order.tau(), 3) : "",
          hasOrder ? std::to_string(b.order.pairs) : ""};
}

} // namespace

Knobs fittedWithout(const std::string &family, const std::vector<std::unique_ptr<Case>> &cases,
                    const Knobs &tables, int rounds,
                    const std::function<bool(const Case &)> &uses) {
  Knobs knobs = tables;
  std::vector<std::string> names;
  for (const FittedConstant &constant : fittedConstants()) {
    auto moved = llvm::find_if(cases, [&](const std::unique_ptr<Case> &item) {
      return familyOf(*item) == family && movesCase(constant.owners, *item);
    });
    if (moved == cases.end())
      continue;
    forget(constant, **moved, tables, knobs);
    names.push_back(constant.name());
  }
  fitQuietly(cases, names, rounds, knobs,
             [&](const Case &item) { return familyOf(item) != family && uses(item); });
  return knobs;
}

void printLeaveOneOut(const std::vector<std::unique_ptr<Case>> &cases, const Knobs &knobs,
                      int rounds, llvm::raw_ostream &out) {
  std::map<std::string, std::vector<const Case *>> families;
  for (const std::unique_ptr<Case> &item : cases)
    if (item->seconds > 0)
      families[familyOf(*item)].push_back(item.get());
  Table table({"left out", "rows", "median", "p90", "tau", "median without", "p90 without",
               "bias without", "tau without", "pairs"});
  std::deque<CaseResult> caseResults;
  std::vector<const CaseResult *> allNow, allWithout;
  for (const auto &[family, rows] : families) {
    Knobs without = fittedWithout(family, cases, knobs, rounds, [](const Case &) { return true; });
    std::vector<const CaseResult *> now, then;
    for (const Case *item : rows) {
      now.push_back(&caseResults.emplace_back(evaluate(*item, knobs)));
      then.push_back(&caseResults.emplace_back(evaluate(*item, without)));
    }
    table.addRow(cellsOf(family, now, then));
    allNow.insert(allNow.end(), now.begin(), now.end());
    allWithout.insert(allWithout.end(), then.begin(), then.end());
  }
  table.addRow(cellsOf("all", allNow, allWithout));
  out << "\nerrors of step time with the tables' constants, and with constants fitted without the "
         "source\n";
  table.print(out, 2);
}

} // namespace dtc::published
