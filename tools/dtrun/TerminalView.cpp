#include "tools/dtrun/TerminalView.h"

#include "runtime/base/Env.h"
#include "runtime/base/RemoveOnSignal.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace dtc::rt {
namespace {

using format::text;

template <typename... Args> std::string formatted(const char *form, Args... args) {
  char line[256];
  std::snprintf(line, sizeof(line), form, args...);
  return line;
}

std::string percent(double share) { return formatted("%.1f %%", share * 100); }

std::string progressLine(const ViewOfRun &run, size_t width) {
  uint64_t done = run.report.step - std::min(run.firstStep, run.report.step),
           left = run.steps - run.report.step;
  double share =
      run.steps > 0 ? static_cast<double>(run.report.step) / static_cast<double>(run.steps) : 1;
  std::string before = text("step ", run.report.step, " of ", run.steps, "  ");
  std::string after = formatted("  %3.0f %%  ", std::floor(share * 100));
  if (done > 0)
    after +=
        humanTime(run.sinceStart / static_cast<double>(done) * static_cast<double>(left)) + " left";
  constexpr size_t kLeast = 10, kMost = 40;
  size_t used = before.size() + after.size() + 2;
  if (width < used + kLeast)
    return before + after;
  size_t bar = std::min(width - used, kMost);
  auto full = static_cast<size_t>(static_cast<double>(bar) * share);
  return before + "[" + std::string(full, '#') + std::string(bar - full, '.') + "]" + after;
}

std::string splitLine(const StepReport &report) {
  std::string line = formatted("step %.4g ms", report.seconds * 1e3);
  auto add = [&](const char *what, double seconds) {
    line += text("  ", what, " ", percent(report.seconds > 0 ? seconds / report.seconds : 0));
  };
  if (std::optional<StepSplit> split = splitOf(report)) {
    add("compute", split->compute);
    add("comm", split->exposedComm);
  }
  add("input", report.inputWait);
  if (report.checkpointStall > 0)
    add("checkpoint", report.checkpointStall);
  return line + "  memory " + humanBytes(report.peakMemoryBytes);
}

std::string lossLine(const StepReport &report) {
  const StepResult &result = report.result;
  std::string line;
  if (result.hasLoss)
    line += formatted("loss %.5f  ", static_cast<double>(result.loss));
  if (result.hasGradNorm)
    line += formatted("grad norm %.4g  ", static_cast<double>(result.gradNorm));
  line += formatted("lr %.3e  ", static_cast<double>(report.learningRate)) + speedAsText(report);
  return report.mfu >= 0 ? line + "  MFU " + percent(report.mfu) : line;
}

std::string ranksLine(const StepReport &report) {
  std::string line = text("goodput ", percent(report.goodput[0]));
  for (size_t i = 1; i < numSpent; ++i)
    if (report.goodput[i] >= 0.005)
      line += text("  ", nameOf(static_cast<Spent>(i)), " ", percent(report.goodput[i]));
  if (report.loads.slowest < 0)
    return line;
  return text("slowest rank ", report.loads.slowest, ": +", percent(report.loads.excess),
              " of a step  ", line);
}

std::string rareLine(const ViewOfRun &run) {
  const StepResult &result = run.report.result;
  std::string line;
  if (run.evaluation)
    line += formatted("eval loss %.5f after step %llu  ", run.evaluation->loss,
                      static_cast<unsigned long long>(run.evaluation->step));
  if (result.hasSkippedSteps && result.skippedSteps > 0)
    line += formatted("%.9g skipped steps  ", static_cast<double>(result.skippedSteps));
  if (result.hasLossScale)
    line += formatted("loss scale %.9g", static_cast<double>(result.lossScale));
  return line;
}

// Names come from files. Characters that could control a terminal, or that do not take exactly one
// column, are shown as '?'.
std::string cut(std::string line, size_t width) {
  if (line.size() > width)
    line.resize(width);
  for (char &c : line)
    if (c < ' ' || c > '~')
      c = '?';
  return line;
}

bool isDumb() {
  const char *name = std::getenv("TERM");
  return !name || !*name || std::strcmp(name, "dumb") == 0;
}

} // namespace

std::string humanTime(double seconds) {
  auto whole = static_cast<unsigned long long>(std::clamp(std::ceil(seconds), 0.0, 1e15));
  unsigned long long days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  std::string line = days > 0 ? text(days, " d ") : "";
  return line + (days > 0 || hours > 0 ? formatted("%llu:%02llu:%02llu", hours, minutes, whole % 60)
                                       : formatted("%llu:%02llu", minutes, whole % 60));
}

std::vector<std::string> viewLines(const ViewOfRun &run, size_t width) {
  std::vector<std::string> lines = {run.job, progressLine(run, width), lossLine(run.report),
                                    splitLine(run.report), ranksLine(run.report)};
  if (std::string rare = rareLine(run); !rare.empty())
    lines.push_back(rare);
  for (std::string &line : lines)
    line = cut(std::move(line), width);
  return lines;
}

TerminalView::~TerminalView() { close(); }

std::string TerminalView::terminalOf(const Options &options) {
  char name[256];
  bool isTerminal = ::isatty(STDOUT_FILENO) == 1;
  if (!isTerminal || options.progress == ProgressView::Off ||
      (options.progress == ProgressView::Auto && (options.json || isDumb())))
    return "";
  return ::ttyname_r(STDOUT_FILENO, name, sizeof(name)) == 0 ? name : "";
}

// A launcher may give its ranks a terminal of their own, as Open MPI does. Nobody may ever see its
// output.
bool TerminalView::isWanted(const Options &options, bool isAlone) {
  if (options.progress != ProgressView::Auto)
    return options.progress == ProgressView::On;
  return isAlone ? !terminalOf(options).empty() : !envText(EnvVar::Terminal).empty();
}

void TerminalView::open(std::string job, uint64_t firstStep, uint64_t steps) {
  std::string path = envText(EnvVar::Terminal);
  if (!path.empty())
    descriptor = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  isOwn = descriptor >= 0;
  if (!isOwn)
    descriptor = STDOUT_FILENO;
  run.job = std::move(job);
  run.firstStep = firstStep;
  run.steps = steps;
  firstStepBegan = clockSeconds();
  eraseOnSignal(descriptor);
}

size_t TerminalView::columns() const {
  struct winsize size = {};
  constexpr size_t kUsual = 80, kLeast = 20;
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<size_t>(size.ws_col, kLeast) - 1; // some terminals wrap a line that is full
  return kUsual - 1;
}

void TerminalView::show(const StepReport &report) {
  constexpr double kBetween = 0.2; // seconds
  if (!isOpen())
    return;
  double now = clockSeconds();
  run.report = report;
  run.sinceStart = now - firstStepBegan;
  if (lastDrawn > 0 && now - lastDrawn < kBetween && report.step < run.steps)
    return;
  lastDrawn = now;
  draw();
}

// Draws in one write, with each line over the one that it replaces, so that nothing flickers.
void TerminalView::draw() {
  std::string frame = "\r\x1b[K";
  std::vector<std::string> lines = viewLines(run, columns());
  for (const std::string &line : lines)
    frame += "\n\r" + line + "\x1b[K";
  frame += text("\x1b[J\x1b[", lines.size(), "A\r");
  write(frame);
}

void TerminalView::print(const std::string &line) {
  if (!isOpen())
    return;
  write("\r\x1b[J" + line + "\r\n");
  if (lastDrawn > 0)
    draw();
}

void TerminalView::close() {
  if (!isOpen())
    return;
  write("\r\x1b[J");
  eraseOnSignal(-1);
  if (std::exchange(isOwn, false))
    ::close(descriptor);
  descriptor = -1;
}

// A terminal that takes no more output is no reason to end a run.
void TerminalView::write(const std::string &bytes) const {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR)
      return;
    done += count > 0 ? static_cast<size_t>(count) : 0;
  }
}

} // namespace dtc::rt
