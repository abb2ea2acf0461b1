#include "compiler/show/runs/RunPage.h"

#include "compiler/show/explain/Figures.h"
#include "compiler/show/report/Axis.h"
#include "compiler/show/report/Html.h"
#include "compiler/show/runs/CurveChart.h"
#include "compiler/show/runs/StackedChart.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

using namespace html;

constexpr size_t kMostRows = 200; // rows of a table

double real(uint64_t value) { return static_cast<double>(value); }

std::string known(double value, const std::string &text) { return std::isnan(value) ? "-" : text; }
std::string secondsText(double value) { return known(value, figures::seconds(value)); }
std::string bytesText(double value) {
  return std::isfinite(value) && value < 9e18 ? figures::bytes(static_cast<int64_t>(value)) : "-";
}

// Returns the value in the middle, without unknown ones; kUnknown if all are.
double medianOf(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double v) { return std::isnan(v); }),
               values.end());
  if (values.empty())
    return kUnknown;
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class RunPage {
public:
  RunPage(const std::string &name, const RunLog &run, const std::vector<RunEvent> &events)
      : name(name), run(run), events(events), steps(run.ranks.front().steps),
        evaluations(run.ranks.front().evaluations),
        speed(std::isnan(medianOf(valuesOf(&LoggedStep::tokensPerSecond)))
                  ? &LoggedStep::samplesPerSecond
                  : &LoggedStep::tokensPerSecond),
        speedUnit(speed == &LoggedStep::tokensPerSecond ? "tokens/s" : "samples/s") {}

  std::string finish() const {
    return html::page(
        "Run " + name, header(),
        section("loss", "Loss", lossFigures()) +
            section("throughput", "Throughput", throughputFigures()) +
            section("goodput", "Where the time of the job went", goodputFigures()) +
            section("memory", "Memory", memoryFigures()) +
            section("events", "Events", eventTable()),
        "Made by <code>dtc report</code> of the logs that <code>dtrun --log-dir</code> wrote.");
  }

private:
  std::vector<double> valuesOf(double LoggedStep::*member) const {
    std::vector<double> values;
    for (const LoggedStep &step : steps)
      values.push_back(step.*member);
    return values;
  }
  std::vector<CurvePoint> curveOf(double LoggedStep::*member) const {
    std::vector<CurvePoint> points;
    for (const LoggedStep &step : steps)
      points.push_back({real(step.step), step.*member});
    return points;
  }
  std::string speedText(double value) const {
    double scaled = value >= 1e6 ? value / 1e6 : value >= 1e3 ? value / 1e3 : value;
    return known(value, figures::number(scaled) +
                            (value >= 1e6   ? " M "
                             : value >= 1e3 ? " k "
                                            : " ") +
                            speedUnit);
  }
  // Returns the most bytes that a rank's process had in the host's memory.
  static double mostResident(const RankSteps &rank) {
    double most = kUnknown;
    for (const LoggedStep &step : rank.steps)
      if (!std::isnan(step.residentBytes))
        most = std::isnan(most) ? step.residentBytes : std::max(most, step.residentBytes);
    return most;
  }

  std::string lossNote() const {
    const LoggedStep *lowest = nullptr;
    for (const LoggedStep &step : steps)
      if (!std::isnan(step.loss) && (!lowest || step.loss < lowest->loss))
        lowest = &step;
    std::string note = lowest ? "lowest " + figures::number(lowest->loss, 5) + " at step " +
                                    std::to_string(lowest->step)
                              : "the run has no loss";
    if (!evaluations.empty())
      note += "; evaluation " +
              known(evaluations.back().loss, figures::number(evaluations.back().loss, 5));
    return note;
  }

  std::string header() const {
    const LoggedStep &last = steps.back();
    double mfu = medianOf(valuesOf(&LoggedStep::mfu));
    const RankSteps *fullest = &run.ranks.front();
    for (const RankSteps &rank : run.ranks)
      if (mostResident(rank) > mostResident(*fullest))
        fullest = &rank;
    std::string figures =
        keyFigure("Last step", std::to_string(last.step),
                  figures::counted(steps.size(), "step") + " in the log") +
        keyFigure("Loss", known(last.loss, figures::number(last.loss, 5)), lossNote()) +
        keyFigure("Throughput", speedText(medianOf(valuesOf(speed))),
                  "median; a step takes " + secondsText(medianOf(valuesOf(&LoggedStep::seconds))) +
                      (std::isnan(mfu) ? "" : "; MFU " + figures::percent(mfu, 1))) +
        keyFigure("Goodput", figures::percent(last.spent[0], last.elapsed),
                  "of " + secondsText(last.elapsed) + " went to training") +
        keyFigure("Memory", bytesText(mostResident(*fullest)),
                  "the most of a process, of rank " + std::to_string(fullest->rank) + "; arena " +
                      bytesText(last.plannedBytes) + " of rank 0");
    return "<header>\n<h1>Run " + escape(name) + "</h1>\n<p>Logs of " +
           figures::counted(run.ranks.size(), "rank") + ", " +
           figures::counted(events.size(), "event") + "</p>\n<dl class=\"figures\">\n" + figures +
           "</dl>\n</header>\n";
  }

  std::vector<CurveMark> marks() const {
    std::vector<CurveMark> list;
    for (const RunEvent &event : events)
      if (event.first > 0 && list.size() < kMostRows)
        list.push_back({real(event.first), "step " + std::to_string(event.first) + ", " +
                                               event.what + ": " + event.detail});
    return list;
  }

  std::string lossFigures() const {
    CurveChart chart{.id = "loss-curve", .title = "Loss over steps", .axis = "loss"};
    chart.curve = curveOf(&LoggedStep::loss);
    for (const LoggedEvaluation &evaluation : evaluations)
      chart.spots.push_back({real(evaluation.step), evaluation.loss});
    chart.marks = marks();
    std::vector<LegendEntry> entries = {{"key-curve", "training loss"}};
    if (!chart.spots.empty())
      entries.push_back({"spot", "evaluation"});
    if (!chart.marks.empty())
      entries.push_back({"key-event", "event"});
    CurveChart norm{.id = "norm-curve", .title = "Norm of the gradients", .axis = "gradient norm"};
    norm.curve = curveOf(&LoggedStep::gradNorm);
    CurveChart rate{.id = "rate-curve", .title = "Learning rate", .axis = "learning rate"};
    rate.curve = curveOf(&LoggedStep::learningRate);
    norm.isHalf = rate.isHalf = true;
    return legend(entries) + figure(draw(chart), bandNote()) + "<div class=\"half\">\n" +
           figure(draw(norm), "") + figure(draw(rate), "") + "</div>\n";
  }

  std::string bandNote() const {
    return steps.size() > 480 ? "The line is the mean of neighbouring steps, the band has their "
                                "smallest and largest value."
                              : "";
  }

  std::string throughputFigures() const {
    CurveChart chart{.id = "speed-curve", .title = "Throughput over steps", .axis = "throughput"};
    chart.curve = curveOf(speed);
    double most = 0;
    for (const CurvePoint &point : chart.curve)
      most = std::max(most, std::isnan(point.second) ? 0 : point.second);
    chart.unit = most >= 1e6   ? Unit{"M " + speedUnit, 1e6}
                 : most >= 1e3 ? Unit{"k " + speedUnit, 1e3}
                               : Unit{speedUnit, 1};
    chart.fromZero = true;
    chart.marks = marks();
    StackedChart parts{
        .id = "step-parts", .title = "Where the time of a step goes", .axis = "time of a step"};
    for (const LoggedStep &step : steps)
      parts.steps.push_back(real(step.step));
    parts.parts = {
        {"part-compute", "compute", valuesOf(&LoggedStep::compute)},
        {"part-communication", "exposed communication", valuesOf(&LoggedStep::exposedComm)},
        {"part-input", "waiting for data", valuesOf(&LoggedStep::inputWait)},
        {"part-other", "other", valuesOf(&LoggedStep::other)}};
    return figure(draw(chart), bandNote()) +
           figure(draw(parts), "Of rank 0. On a GPU, only the time of data is known without "
                               "<code>--profile</code>.");
  }

  std::string stallText() const {
    double sum = 0, longest = 0;
    uint64_t count = 0, at = 0;
    for (const LoggedStep &step : steps)
      if (step.checkpointStall > 0) {
        ++count;
        sum += step.checkpointStall;
        if (step.checkpointStall > longest) {
          longest = step.checkpointStall;
          at = step.step;
        }
      }
    return count == 0 ? "Training never waited for a checkpoint."
                      : "Training waited " + figures::seconds(sum) + " for checkpoints, before " +
                            figures::counted(count, "step") + "; longest before step " +
                            std::to_string(at) + ", " + figures::seconds(longest) + ".";
  }

  std::string goodputFigures() const {
    StackedChart chart{.id = "goodput-shares",
                       .title = "Shares of the job's time by cause",
                       .axis = "share of the job's time so far",
                       .isShare = true};
    HtmlTable table("Time of the job, of all its starts", {"cause", "what it is", "time", "share"},
                    2);
    const LoggedStep &last = steps.back();
    for (const LoggedStep &step : steps)
      chart.steps.push_back(real(step.step));
    for (size_t cause = 0; cause < kSpentCauses.size(); ++cause) {
      const char *key = kSpentCauses[cause].key;
      StackedPart part{std::string("spent-") + key, key, {}};
      for (const LoggedStep &step : steps)
        part.values.push_back(step.elapsed > 0 ? step.spent[cause] / step.elapsed : 0);
      chart.parts.push_back(std::move(part));
      table.addRow({key, kSpentCauses[cause].meaning, figures::seconds(last.spent[cause]),
                    figures::percent(last.spent[cause], last.elapsed)});
    }
    return figure(drawBar(chart), "") + figure(draw(chart), "") + table.finish() + "<p>" +
           escape(stallText()) + "</p>\n";
  }

  std::string memoryFigures() const {
    CurveChart chart{.id = "memory-curve", .title = "Memory of rank 0's process", .axis = "memory"};
    chart.curve = curveOf(&LoggedStep::residentBytes);
    chart.fromZero = true;
    double planned = steps.back().plannedBytes, most = std::isnan(planned) ? 0 : planned;
    for (const CurvePoint &point : chart.curve)
      most = std::max(most, std::isnan(point.second) ? 0 : point.second);
    chart.unit = bytesUnit(most);
    if (planned > 0) {
      chart.limit = planned;
      chart.limitText = "arena as planned, " + bytesText(planned);
    }
    HtmlTable table("Ranks", {"rank", "arena, as planned", "most in the host's memory",
                              "compute of a step, median"});
    for (const RankSteps &rank : run.ranks) {
      if (rank.rank >= kMostRows)
        break;
      std::vector<double> compute;
      for (const LoggedStep &step : rank.steps)
        compute.push_back(step.compute);
      table.addRow({std::to_string(rank.rank),
                    rank.steps.empty() ? "-" : bytesText(rank.steps.back().plannedBytes),
                    bytesText(mostResident(rank)), secondsText(medianOf(compute))});
    }
    return figure(draw(chart), "Host memory that the process of rank 0 has; the line is the arena "
                               "of the device, as the plan says.") +
           table.finish();
  }

  std::string eventTable() const {
    if (events.empty())
      return "<p>Nothing but steps happened.</p>\n";
    size_t left = events.size() - std::min(events.size(), kMostRows);
    HtmlTable table(left ? "The last " + std::to_string(kMostRows) + " events of " +
                               std::to_string(events.size())
                         : "",
                    {"step", "time", "event", ""}, 4);
    for (size_t i = left; i < events.size(); ++i) {
      const RunEvent &event = events[i];
      std::string at = event.first == 0 ? "-"
                       : event.first == event.last
                           ? std::to_string(event.first)
                           : std::to_string(event.first) + " to " + std::to_string(event.last);
      table.addRow({at, secondsText(event.elapsed), event.what, event.detail});
    }
    return table.finish();
  }

  const std::string &name;
  const RunLog &run;
  const std::vector<RunEvent> &events;
  const std::vector<LoggedStep> &steps;
  const std::vector<LoggedEvaluation> &evaluations;
  double LoggedStep::*speed; // tokens or samples a second
  std::string speedUnit;
};

} // namespace

std::string runPage(const std::string &name, const RunLog &run,
                    const std::vector<RunEvent> &events) {
  return RunPage(name, run, events).finish();
}

} // namespace dtc
