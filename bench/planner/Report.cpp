// Prints the results of a comparison.
#include "bench/planner/Report.h"

#include "bench/planner/ReportTrust.h"
#include "bench/planner/Sources.h"
#include "compiler/support/Table.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace dtc::published {
namespace {

std::string fixed(double value, int digits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, value);
  return text;
}

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

std::string countOf(int64_t value) { return std::to_string(value); }

std::vector<std::string> cellsOf(const std::string &name, const Summary &s) {
  bool hasTime = s.time.rows > 0, hasMemory = s.memory.rows > 0, hasOrder = s.order.pairs > 0;
  return {name,
          countOf(static_cast<int64_t>(s.time.rows)),
          hasTime ? percent(s.time.median) : "",
          hasTime ? percent(s.time.p90) : "",
          hasTime ? percent(s.time.bias) : "",
          hasOrder ? fixed(s.order.tau(), 3) : "",
          hasOrder ? countOf(s.order.pairs) : "",
          percent(s.feasibility.right()),
          s.feasibility.failed ? percent(s.feasibility.wrongFits()) : "",
          hasMemory ? countOf(static_cast<int64_t>(s.memory.rows)) : "",
          hasMemory ? percent(s.memory.median) : "",
          hasMemory ? percent(s.memory.bias) : ""};
}

const std::vector<std::string> kHeader = {"",           "timed",       "median", "p90",
                                          "bias",       "tau",         "pairs",  "fit right",
                                          "wrong fits", "memory rows", "median", "bias"};

void printGroups(llvm::raw_ostream &out, const std::string &title, const Groups &groups) {
  out << "\n" << title << "\n";
  Table table(kHeader);
  for (const auto &[name, group] : groups)
    table.addRow(cellsOf(name, summaryOf(group)));
  table.print(out, 2);
}

nlohmann::json jsonOf(const std::vector<const CaseResult *> &caseResults) {
  Summary s = summaryOf(caseResults);
  Regret regret = regretOf(caseResults);
  Coverage coverage = coverageOf(caseResults, Uncertainty::of);
  return {{"regret",
           {{"groups", regret.lost.size()},
            {"median", regret.median()},
            {"p90", regret.p90()},
            {"picks_out_of_memory", regret.ranOutOfMemory}}},
          {"coverage", {{"rows", coverage.rows}, {"inside", coverage.inside()}}},
          {"time",
           {{"rows", s.time.rows},
            {"median", s.time.median},
            {"p90", s.time.p90},
            {"bias", s.time.bias}}},
          {"memory",
           {{"rows", s.memory.rows},
            {"median", s.memory.median},
            {"p90", s.memory.p90},
            {"bias", s.memory.bias}}},
          {"order", {{"groups", s.order.groups}, {"pairs", s.order.pairs}, {"tau", s.order.tau()}}},
          {"feasibility",
           {{"ran", s.feasibility.ran},
            {"ran_fits", s.feasibility.ranFits},
            {"out_of_memory", s.feasibility.failed},
            {"out_of_memory_fits", s.feasibility.failedFits},
            {"right", s.feasibility.right()}}}};
}

std::string halfOf(const CaseResult &caseResult) {
  return isFitted(*caseResult.item->row) ? "fitted" : "held out";
}
std::string sourceOf(const CaseResult &caseResult) {
  return halfOf(caseResult).substr(0, 1) + " " +
         caseResult.item->row->text("source").str().substr(0, 50);
}

// Returns a quoted cell of CSV.
std::string csvCell(llvm::StringRef text) {
  std::string cell = "\"";
  for (char c : text)
    cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

// Returns the parts of an estimate, as columns of --rows.
std::vector<std::pair<std::string, double>> partsOf(const CaseResult &caseResult) {
  const StepEstimate &e = caseResult.estimate;
  double m = static_cast<double>(caseResult.item->decisions.numMicroBatches);
  const MemoryParts &memory = e.stages[e.fullestStage].memory;
  constexpr double gib = 1024.0 * 1024 * 1024;
  return {
      {"compute", e.computeSeconds},
      {"recompute_s", e.recomputeSeconds},
      {"bubble", e.bubbleSeconds},
      {"exposed_tp", e.exposedTpSeconds},
      {"exposed_cp", e.exposedCpSeconds},
      {"exposed_ep", e.exposedEpSeconds},
      {"exposed_gradients", e.exposedGradientSeconds},
      {"p2p", e.p2pSeconds},
      {"optimizer_s", e.optimizerSeconds},
      {"micro_batches", m},
      {"layer_forward", caseResult.layer.forward},
      {"layer_backward", caseResult.layer.backward()},
      {"layer_matrix", caseResult.layer.matrix},
      {"layer_tp", caseResult.layer.forwardTp + caseResult.layer.backwardTp},
      {"peak_gib", e.peakBytes / gib},
      {"fit_probability",
       Uncertainty::of(caseResult.key).fitProbability(e.peakBytes, caseResult.item->memoryLimit)},
      {"limit_gib", caseResult.item->memoryLimit / gib},
      {"published_gib", caseResult.item->memory / gib},
      {"stage", static_cast<double>(e.fullestStage)},
      {"parameters_gib", memory.parameters / gib},
      {"gradients_gib", memory.gradients / gib},
      {"optimizer_gib", memory.optimizer / gib},
      {"activations_gib", memory.activations / gib},
      {"temporaries_gib", memory.temporaries / gib},
      {"other_gib", (memory.communication + memory.reserved) / gib}};
}

} // namespace

void Comparison::leaveOut(const Row &row, const std::string &reason) {
  ++leftOut[reason][row.text("source").str()];
}

void Comparison::guess(const Row &row, const std::string &software) {
  ++guessed[software][row.text("source").str()];
}

std::vector<const CaseResult *> Comparison::all() const {
  std::vector<const CaseResult *> result;
  for (const CaseResult &caseResult : caseResults)
    result.push_back(&caseResult);
  return result;
}

std::vector<std::pair<std::string, std::vector<const CaseResult *>>> Comparison::halves() const {
  std::vector<std::pair<std::string, std::vector<const CaseResult *>>> result{{"all", all()}};
  for (auto &[name, group] : groupBy(all(), halfOf))
    result.emplace_back(name, group);
  return result;
}

std::vector<const CaseResult *> Comparison::heldOut() const {
  for (const auto &[name, group] : halves())
    if (name == "held out")
      return group;
  return {};
}

void Comparison::printText(llvm::raw_ostream &out) const {
  int64_t left = 0;
  for (const auto &[reason, sources] : leftOut)
    for (const auto &[source, count] : sources)
      left += count;
  out << "rows compared: " << caseResults.size() << ", left out: " << left
      << ", kept for releases: " << kept << "\n";
  Table reasons({"rows", "why they are left out", "sources"});
  for (const auto &[reason, sources] : leftOut) {
    int64_t count = 0;
    std::string names;
    for (const auto &[source, rows] : sources) {
      count += rows;
      if (names.size() < 60)
        names += (names.empty() ? "" : ", ") + source.substr(0, 30);
    }
    reasons.addRow({countOf(count), reason, names});
  }
  reasons.print(out, 2);
  for (const auto &[software, sources] : guessed)
    for (const auto &[source, count] : sources)
      out << "  " << count << (count == 1 ? " row" : " rows") << " of '" << source.substr(0, 50)
          << "', a source without a rule: taken as " << software << ", the nearest software\n";
  out << "\nerrors of step time and memory\n";
  Table table(kHeader);
  for (const auto &[name, group] : halves())
    table.addRow(cellsOf(name, summaryOf(group)));
  table.print(out, 2);
  for (const auto &[name, group] : halves())
    if (name != "all")
      printGroups(out, "by device type, " + name,
                  groupBy(group, [](const CaseResult &o) { return o.item->device; }));
  printGroups(out, "by source (f: fitted, h: held out)", groupBy(all(), sourceOf));
  printGroups(out, "by software stack",
              groupBy(all(), [](const CaseResult &o) { return o.item->stack + ", " + halfOf(o); }));
  printGroups(out, "by what the time comes from", groupBy(all(), [](const CaseResult &o) {
                return o.item->seconds > 0 ? o.item->timeFrom : "no time";
              }));
  for (const auto &[name, group] : halves()) {
    if (name == "all")
      continue;
    printRegret(group, "regret of the configuration that would be picked, " + name, out);
    printFits(group, "does it fit, by source, " + name, out);
    printCoverage(group, "90 % intervals and fit probabilities, " + name, Uncertainty::of, out);
  }
}

void Comparison::printJson(llvm::raw_ostream &out) const {
  nlohmann::json json;
  for (const auto &[reason, sources] : leftOut)
    for (const auto &[source, count] : sources)
      json["left_out"][reason][source] = count;
  for (const auto &[name, group] : halves()) {
    json["halves"][name] = jsonOf(group);
    for (const auto &[device, rows] :
         groupBy(group, [](const CaseResult &o) { return o.item->device; }))
      json["devices"][name][device] = jsonOf(rows);
    for (const auto &[source, rows] :
         groupBy(group, [](const CaseResult &o) { return o.item->row->text("source").str(); }))
      json["sources"][name][source] = jsonOf(rows);
  }
  out << json.dump(2) << "\n";
}

std::string Comparison::writeRows(const std::string &path) const {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return "writing '" + path + "': " + error.message();
  const std::vector<const char *> copied = {
      "model",      "n_layers",    "d_model",      "seq_len",      "gpu",       "n_gpus",
      "dp",         "tp",          "pp",           "vpp",          "cp",        "ep",
      "zero_stage", "micro_batch", "global_batch", "seq_parallel", "recompute", "precision"};
  out << "line,source,half,stack";
  for (const char *column : copied)
    out << "," << column;
  out << ",published_s,estimate_s,ratio,from,oom,fits";
  if (!caseResults.empty())
    for (const auto &[name, value] : partsOf(caseResults.front()))
      out << "," << name;
  out << ",assumed\n";
  for (const CaseResult &caseResult : caseResults) {
    const Case &item = *caseResult.item;
    out << item.row->line << "," << csvCell(item.row->text("source")) << "," << halfOf(caseResult)
        << "," << item.stack;
    for (const char *column : copied)
      out << "," << csvCell(item.row->text(column));
    out << "," << item.seconds << "," << caseResult.estimate.stepSeconds << ","
        << (item.seconds > 0 ? caseResult.timeRatio() : 0) << "," << item.timeFrom << ","
        << item.ranOutOfMemory << "," << caseResult.estimate.fits;
    for (const auto &[name, value] : partsOf(caseResult))
      out << "," << llvm::format("%.5g", value);
    out << "," << csvCell(item.assumed) << "\n";
  }
  return "";
}

} // namespace dtc::published
