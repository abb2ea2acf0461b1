#include "tools/dtrun/Report.h"

#include "runtime/base/Text.h"
#include "runtime/format/Counted.h"
#include "runtime/format/JsonString.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

using format::text;

// %.9g gives back the same float, and %.17g the same double. JSON has no NaN, so it becomes null.
std::string number(double value, bool known = true, const char *form = "%.9g") {
  if (!known || !std::isfinite(value))
    return "null";
  char digits[40];
  std::snprintf(digits, sizeof(digits), form, value);
  return digits;
}

double tokensPerSecond(const StepReport &report) {
  return report.samplesPerSecond * static_cast<double>(report.sequenceLength);
}

double exposedFraction(const StepReport &report) {
  return report.seconds > 0 ? report.result.exposedCommSeconds / report.seconds : 0;
}

std::string withSuffix(double value) {
  const char *suffix = "";
  for (const char *next : {"k", "M", "G"})
    if (value >= 1000) {
      value /= 1000;
      suffix = next;
    }
  return number(value, true, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f") + suffix;
}

std::string humanSeconds(double seconds) {
  if (seconds >= 1)
    return number(seconds, true, "%.2f s");
  return number(seconds * 1e3, true, seconds >= 0.1 ? "%.0f ms" : "%.2f ms");
}

std::string lossText(double loss) {
  if (std::isnan(loss))
    return "nan"; // printf would add a sign
  char digits[340];
  std::snprintf(digits, sizeof(digits), "%.5f", loss);
  return digits;
}

std::string splitFields(const StepReport &report) {
  std::optional<StepSplit> split = splitOf(report);
  StepSplit known = split.value_or(StepSplit());
  return text(",\"compute_s\":", number(known.compute, split.has_value()),
              ",\"exposed_comm_s\":", number(known.exposedComm, split.has_value()),
              ",\"input_wait_s\":", number(report.inputWait),
              ",\"other_s\":", number(known.other, split.has_value()));
}

std::string loadFields(const RankLoads &loads) {
  std::string work;
  for (double seconds : loads.work)
    work += text(work.empty() ? "[" : ",", number(seconds, true, "%.6g"));
  bool isKnown = loads.slowest >= 0, hasStraggler = loads.straggler.rank >= 0;
  return text(",\"rank_work_s\":", work.empty() ? "null" : work + "]",
              ",\"slowest_rank\":", number(loads.slowest, isKnown),
              ",\"slowest_excess\":", number(loads.excess, isKnown, "%.6g"),
              ",\"straggler\":", number(loads.straggler.rank, hasStraggler),
              ",\"straggler_cost\":", number(loads.straggler.costShare, hasStraggler, "%.6g"));
}

std::string goodputField(const StepReport &report) {
  std::string shares;
  for (size_t i = 0; i < numSpent; ++i)
    shares += text(shares.empty() ? "{" : ",", format::jsonString(nameOf(static_cast<Spent>(i))),
                   ":", number(report.goodput[i], true, "%.6g"));
  return text(",\"elapsed_s\":", number(report.elapsed), ",\"goodput\":", shares, "}");
}

// Returns ",KEY:[..]" with an element for each layer of experts, or "" if their rows were not
// gathered.
template <typename Element>
std::string listOf(const char *key, const std::vector<std::vector<int64_t>> &layers,
                   const Element &element) {
  std::string list;
  for (const std::vector<int64_t> &rows : layers)
    list += text(list.empty() ? "" : ",", element(rows));
  return list.empty() ? list : text(",\"", key, "\":[", list, "]");
}

std::string expertFields(const StepReport &report) {
  if (!report.experts)
    return "";
  const StepResult &result = report.result;
  return text(",\"expert_imbalance\":", number(report.experts->imbalance, true, "%.6g"),
              ",\"expert_rounds\":", report.experts->rounds,
              ",\"router_loss\":", number(result.lossBeside, result.hasLossBeside),
              listOf("expert_load", report.experts->rows, [](const std::vector<int64_t> &rows) {
                return number(loadOf(rows), true, "%.6g");
              }));
}

// Returns the rows of each expert in each layer, which only the log has: there are many.
std::string expertRowsField(const StepReport &report) {
  if (!report.experts)
    return "";
  return listOf("expert_rows", report.experts->rows, [](const std::vector<int64_t> &rows) {
    std::string layer;
    for (int64_t count : rows)
      layer += text(layer.empty() ? "[" : ",", count);
    return layer + "]";
  });
}

std::string normsField(const StepReport &report) {
  std::string norms;
  for (const BlockNorm &norm : report.norms)
    norms += text(norms.empty() ? ",\"param_norms\":{" : ",", format::jsonString(norm.block), ":",
                  number(norm.norm));
  return norms.empty() ? norms : norms + "}";
}

// Returns the keys that the step line and the log share, without braces.
std::string fields(const StepReport &report) {
  const StepResult &result = report.result;
  return text(
      "\"step\":", report.step, ",\"loss\":", number(result.loss, result.hasLoss),
      ",\"grad_norm\":", number(result.gradNorm, result.hasGradNorm),
      ",\"lr\":", number(report.learningRate), ",\"step_time_s\":", number(report.seconds),
      ",\"samples_per_s\":", number(report.samplesPerSecond),
      ",\"tokens_per_s\":", number(tokensPerSecond(report), report.sequenceLength > 0),
      ",\"mfu\":", number(report.mfu, report.mfu >= 0),
      ",\"exposed_comm_fraction\":", number(exposedFraction(report), splitOf(report).has_value()),
      ",\"peak_memory_bytes\":", report.peakMemoryBytes,
      ",\"skipped_steps\":", number(result.skippedSteps, result.hasSkippedSteps),
      ",\"loss_scale\":", number(result.lossScale, result.hasLossScale),
      ",\"roll_backs\":", report.rollBacks, ",\"skipped_batches\":", report.skippedBatches,
      ",\"checkpoint_stall_s\":", number(report.checkpointStall), splitFields(report),
      ",\"resident_bytes\":", report.residentBytes ? text(report.residentBytes) : "null",
      loadFields(report.loads), goodputField(report), expertFields(report), normsField(report));
}

std::string skippedText(const StepResult &result) {
  std::string scale =
      result.hasLossScale ? text(", loss scale ", number(result.lossScale, true, "%.9g")) : "";
  return text("  skipped: gradients are not finite (", number(result.skippedSteps), " so far",
              scale, ")");
}

} // namespace

std::optional<StepSplit> splitOf(const StepReport &report) {
  const StepResult &result = report.result;
  StepSplit split{.exposedComm = result.exposedCommSeconds, .inputWait = report.inputWait};
  double all = 0;
  for (size_t i = 0; i < numTimeClasses; ++i) {
    auto timeClass = static_cast<TimeClass>(i);
    all += result.classSeconds[i];
    if (timeClass != TimeClass::Collective && timeClass != TimeClass::Wait)
      split.compute += result.classSeconds[i];
  }
  if (all <= 0)
    return std::nullopt;
  split.other = std::max(report.seconds - split.compute - split.exposedComm - split.inputWait, 0.0);
  return split;
}

std::string stepAsJson(const StepReport &report) { return "{" + fields(report) + "}"; }

std::string stepAsText(const StepReport &report) {
  const StepResult &result = report.result;
  char line[256];
  std::string norm = result.hasGradNorm ? number(result.gradNorm, true, "%.4g") : "-";
  std::string mfu = report.mfu >= 0 ? number(report.mfu * 100, true, "%.1f%%") : "-";
  std::string comm = splitOf(report) ? number(exposedFraction(report) * 100, true, "%.1f%%") : "-";
  bool hasTokens = report.sequenceLength > 0;
  std::string loss = result.hasLoss ? lossText(static_cast<double>(result.loss)) : "-";
  std::snprintf(line, sizeof(line),
                "step %6llu  loss %9s  grad norm %8s  lr %.3e  %9s  %6s %s/s  MFU %6s  comm %6s",
                static_cast<unsigned long long>(report.step), loss.c_str(), norm.c_str(),
                static_cast<double>(report.learningRate), humanSeconds(report.seconds).c_str(),
                withSuffix(hasTokens ? tokensPerSecond(report) : report.samplesPerSecond).c_str(),
                hasTokens ? "tokens" : "samples", mfu.c_str(), comm.c_str());
  std::string stall =
      report.checkpointStall > 0 ? text("  checkpoint ", humanSeconds(report.checkpointStall)) : "";
  return text(line, report.isSkipped ? skippedText(result) : "", stall);
}

std::string speedAsText(const StepReport &report) {
  bool hasTokens = report.sequenceLength > 0;
  return withSuffix(hasTokens ? tokensPerSecond(report) : report.samplesPerSecond) +
         (hasTokens ? " tokens/s" : " samples/s");
}

std::string summaryAsText(const RunSummary &summary) {
  if (summary.steps == 0 && summary.stepsBefore > 0)
    return text(summary.stepsBefore == 1 ? "the only step"
                                         : "all " + format::counted(summary.stepsBefore, "step"),
                " ran before; raise --steps to train more");
  if (summary.steps == 0)
    return "";
  bool hasTokens = summary.sequenceLength > 0;
  double amount = static_cast<double>(summary.samples) *
                  static_cast<double>(hasTokens ? summary.sequenceLength : 1);
  std::string unit = hasTokens ? "token" : "sample";
  std::string work =
      text(format::counted(summary.steps, "step"), " in ", humanSeconds(summary.seconds), ", ",
           amount < 1000 ? format::counted(static_cast<uint64_t>(amount), unit)
                         : text(withSuffix(amount), " ", unit, "s"));
  if (summary.last.hasLoss)
    work += text(", last loss ", lossText(static_cast<double>(summary.last.loss)));
  if (summary.stopped && !summary.checkpoint.empty())
    return text("step ", summary.lastStep, " saved in ", summary.checkpoint,
                "; --resume goes on after it (", work, ")");
  return text(work, summary.checkpoint.empty() ? "" : "; checkpoint " + summary.checkpoint);
}

std::string evaluationAsJson(const EvaluationReport &report) {
  return text("{\"step\":", report.step, ",\"eval_loss\":", number(report.loss),
              ",\"eval_tokens\":", report.countsTokens ? text(report.count) : "null", "}");
}

std::string evaluationAsText(const EvaluationReport &report) {
  char step[64];
  std::snprintf(step, sizeof(step), "step %6llu  eval loss ",
                static_cast<unsigned long long>(report.step));
  std::string loss = lossText(report.loss);
  loss.insert(0, std::max<size_t>(loss.size(), 9) - loss.size(), ' ');
  return text(step, loss, " over ",
              format::counted(report.count, report.countsTokens ? "token" : "sample"));
}

std::string humanBytes(uint64_t bytes) {
  double value = static_cast<double>(bytes);
  const char *unit = " bytes";
  for (const char *next : {" kB", " MB", " GB", " TB"})
    if (value >= 1000) {
      value /= 1000;
      unit = next;
    }
  return number(value, true, "%.4g") + unit;
}

RankLog::~RankLog() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (madeFile && !hasLines)
    ::unlink(path.c_str());
  if (isFolderMade && !hasLines)
    ::rmdir(folder.c_str()); // keeps the folder if another rank has its log in it
}

Status RankLog::open(const std::string &wanted, int rank) {
  folder = wanted;
  isFolderMade = ::mkdir(folder.c_str(), 0777) == 0;
  if (!isFolderMade && errno != EEXIST)
    return Status::invalidArgument(
        text("making the log folder '", folder, "': ", std::strerror(errno)));
  path = text(folder, "/rank-", rank, ".jsonl");
  madeFile = ::access(path.c_str(), F_OK) != 0;
  // O_NONBLOCK, because opening a pipe without a reader would wait forever.
  descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) {
    madeFile = false;
    return Status::invalidArgument(text("creating the log '", path, "': ", std::strerror(errno)));
  }
  // Locks the file, because two jobs would overwrite each other's lines. Some file systems have no
  // locks.
  struct stat info;
  bool isFile = ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (isFile && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    madeFile = false;
    return Status::invalidArgument(
        text("opening the log '", path, "': another job is writing it; name another --log-dir"));
  }
  return {};
}

// Keeps everything up to the last line of a step that is not after `step`.
void RankLog::goOnAfter(uint64_t step) {
  struct stat info;
  wholeBytes = 0;
  isCut = false;
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return;
  std::ifstream lines(path);
  size_t at = 0;
  for (std::string line; std::getline(lines, line) && !lines.eof();) { // half a line is not kept
    at += line.size() + 1;
    constexpr std::string_view kBegin = "{\"step\":";
    if (line.compare(0, kBegin.size(), kBegin) != 0)
      continue;
    if (std::strtoull(line.c_str() + kBegin.size(), nullptr, 10) > step)
      return;
    wholeBytes = at;
  }
}

Status RankLog::write(const StepReport &report) {
  if (descriptor < 0)
    return {};
  std::string line = "{" + fields(report) + ",\"class_seconds\":{";
  for (size_t i = 0; i < numTimeClasses; ++i)
    line += text(i ? "," : "", "\"", nameOf(static_cast<TimeClass>(i)),
                 "\":", number(report.result.classSeconds[i]));
  return append(line + "}" + expertRowsField(report) + "}\n");
}

Status RankLog::write(const EvaluationReport &report) {
  return descriptor < 0 ? Status() : append(evaluationAsJson(report) + "\n");
}

Status RankLog::append(const std::string &line) {
  // Only a regular file can be cut. A device has no old lines.
  auto end = static_cast<off_t>(wholeBytes);
  if (!isCut && ((::ftruncate(descriptor, end) != 0 && errno != EINVAL) ||
                 (::lseek(descriptor, end, SEEK_SET) != end && errno != ESPIPE)))
    return failure();
  isCut = true;
  hasLines = true;
  for (size_t done = 0; done < line.size();) {
    ssize_t now = ::write(descriptor, line.data() + done, line.size() - done);
    if (now < 0 && errno != EINTR)
      return failure();
    done += now > 0 ? static_cast<size_t>(now) : 0;
  }
  wholeBytes += line.size();
  return {};
}

// Removes half a line, so that later lines that fit begin on a line of their own.
Status RankLog::failure() const {
  Status status = Status::unavailable(text("writing the log '", path, "': ", std::strerror(errno)));
  auto end = static_cast<off_t>(wholeBytes);
  if (::ftruncate(descriptor, end) == 0)
    (void)::lseek(descriptor, end, SEEK_SET);
  return status;
}

} // namespace dtc::rt
