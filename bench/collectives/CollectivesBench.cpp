// Prints the model's seconds of collectives beside measured ones, and the error by source and
// system: dtc-collectives-bench [bench/collectives/measured.csv]
#include "bench/collectives/Measured.h"

#include "compiler/support/Table.h"
#include "compiler/support/Units.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace dtc;

namespace {

// The q-quantile of absolute errors, in percent.
std::string quantile(std::vector<double> errors, double q) {
  std::sort(errors.begin(), errors.end());
  double value =
      errors[static_cast<size_t>(std::lround(q * static_cast<double>(errors.size() - 1)))];
  char text[32];
  snprintf(text, sizeof(text), "%.1f %%", 100 * value);
  return text;
}

} // namespace

int main(int argc, char **argv) {
  Result<std::vector<MeasuredCollective>> rows =
      readMeasured(argc > 1 ? argv[1] : "bench/collectives/measured.csv");
  if (!rows)
    return rows.error().report(llvm::errs());
  Table table({"source", "system", "collective", "ranks", "bytes", "measured", "model", "ratio"});
  constexpr const char *kinds[] = {"all-reduce", "all-gather", "reduce-scatter",
                                   "all-to-all", "broadcast",  "send-receive"};
  std::map<std::string, std::vector<double>> errors;
  for (const MeasuredCollective &row : *rows) {
    char ratio[32];
    snprintf(ratio, sizeof(ratio), "%.2f", row.model / row.seconds);
    table.addRow({row.source, row.system, kinds[static_cast<size_t>(row.kind)],
                  std::to_string(row.ranks), printRounded(row.bytes, Quantity::Bytes),
                  printRounded(row.seconds, Quantity::Seconds),
                  printRounded(row.model, Quantity::Seconds), ratio});
    double error = std::abs(row.model / row.seconds - 1);
    errors[row.source + " " + row.system + (row.isFitted ? ", fitted" : "")].push_back(error);
    errors["all"].push_back(error);
    errors[row.isFitted ? "all, fitted" : "all, not fitted"].push_back(error);
    if (row.bytes >= 1 << 20)
      errors["all of 1 MiB and more"].push_back(error);
  }
  table.print(llvm::outs());
  llvm::outs() << "\n";
  Table summary({"rows of", "count", "median error", "90th percentile"});
  for (const auto &[name, list] : errors)
    summary.addRow({name, std::to_string(list.size()), quantile(list, 0.5), quantile(list, 0.9)});
  summary.print(llvm::outs());
  return 0;
}
