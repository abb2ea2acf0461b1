#include "tools/dtrun/RunRecord.h"

#include "runtime/base/Text.h"
#include "runtime/format/Counted.h"
#include "runtime/format/JsonString.h"
#include "runtime/format/Printable.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace dtc::rt {

using format::text;

static Status printLine(const std::string &line) {
  if (std::printf("%s\n", line.c_str()) >= 0 && std::fflush(stdout) == 0)
    return {};
  return Status::unavailable(text("writing to stdout: ", std::strerror(errno)));
}

Status RunRecord::open() {
  if (!options.logDir.empty())
    DTC_RETURN_IF_ERROR(log.open(options.logDir, world.rank()));
  if (!options.logDir.empty() && world.rank() == 0)
    events.open(options.logDir);
  if (!options.hasMetricsPort || world.rank() != 0)
    return {};
  const format::Manifest &manifest = executable.manifest();
  return metrics.open(options, manifest.model_name() ? manifest.model_name()->str() : "model",
                      world.size());
}

Status RunRecord::shareFolder(Control &control) {
  int64_t made = log.madeFolder(); // also of ranks without a log: flags may differ until compared
  DTC_RETURN_IF_ERROR(control.largest({&made, 1}));
  if (!options.logDir.empty())
    log.setMadeFolder(made != 0);
  return {};
}

// Returns a line such as "gpt2: 4 ranks (dp 2 x tp 2)".
std::string RunRecord::describeJob() const {
  const format::Manifest &manifest = executable.manifest();
  std::string mesh;
  for (const format::Axis *axis : *manifest.mesh())
    mesh += text(mesh.empty() ? " (" : " x ", axis->name()->string_view(), " ", axis->size());
  return text(
      manifest.model_name() ? manifest.model_name()->string_view() : std::string_view("model"),
      ": ", world.size(), world.size() == 1 ? " rank" : " ranks", mesh.empty() ? "" : mesh + ")");
}

Status RunRecord::announce(int threads, uint64_t lastStep) {
  if (world.rank() != 0 || options.json)
    return {};
  const format::Manifest &manifest = executable.manifest();
  std::string line =
      text(describeJob(), ", ", threads, threads == 1 ? " thread" : " threads", " each, ",
           humanBytes(manifest.peak_memory_bytes()), " of memory a rank",
           manifest.peak_host_bytes() > 0
               ? text(" and ", humanBytes(manifest.peak_host_bytes()), " of its host")
               : "",
           ", ", manifest.global_batch(),
           manifest.sequence_length()
               ? text(" x ", format::counted(manifest.sequence_length(), "token"))
               : std::string(manifest.global_batch() == 1 ? " sample" : " samples"),
           " a step");
  if (!options.dryRun && TerminalView::isWanted(options, world.size() == 1))
    view.open(describeJob(), lastStep, options.steps);
  return say(line);
}

Status RunRecord::announceData(const std::string &line) {
  return world.rank() == 0 ? say(line) : Status();
}

Status RunRecord::announceDryRun(const std::vector<std::string> &checked, uint64_t lastStep) {
  if (world.rank() != 0)
    return {};
  std::string all;
  for (const std::string &each : checked)
    all += options.json ? text(all.empty() ? "" : ",", format::jsonString(format::printable(each)))
                        : text(all.empty() ? "" : ", ", format::printable(each));
  if (options.json)
    return say(text("{\"dry_run\":{\"checked\":[", all, "],\"resumes_after\":", lastStep, "}}"));
  return say(text("dry run: nothing was trained; checked: ", all));
}

Status RunRecord::say(const std::string &line) {
  if (!view.isOpen())
    return printLine(line);
  view.print(line);
  return {};
}

Status RunRecord::show(const StepReport &report) {
  if (world.rank() != 0)
    return {};
  metrics.write(report);
  if (!view.isOpen())
    return printLine(options.json ? stepAsJson(report) : stepAsText(report));
  view.show(report);
  lastLine = stepAsText(report);
  return {};
}

void RunRecord::checkLog(const Status &status, uint64_t step) {
  if (status.ok() || std::exchange(hasReportedLog, true))
    return;
  std::string rank = world.size() > 1 ? text("rank ", world.rank(), ": ") : "";
  std::fprintf(stderr,
               "dtrun: warning: %s%s; training goes on, and steps are missing in the log from step "
               "%llu on\n",
               rank.c_str(), format::printable(status.message()).c_str(),
               static_cast<unsigned long long>(step));
}

Status RunRecord::write(const StepReport &report) {
  Status shown = show(report);
  checkLog(log.write(report), report.step);
  events.write(report);
  return shown;
}

Status RunRecord::write(const EvaluationReport &report) {
  if (world.rank() != 0)
    return {};
  Status shown = say(options.json ? evaluationAsJson(report) : evaluationAsText(report));
  view.show(report);
  metrics.write(report);
  checkLog(log.write(report), report.step);
  events.write(report);
  return shown;
}

Status RunRecord::conclude(const RunSummary &summary) {
  std::string line = summaryAsText(summary);
  return world.rank() != 0 || options.json || line.empty() ? Status() : printLine(line);
}

Status RunRecord::close() {
  view.close();
  return lastLine.empty() ? Status() : printLine(std::exchange(lastLine, {}));
}

} // namespace dtc::rt
