// Memory of stages over time and at their peaks, by kind.
#include "compiler/show/report/MemoryChart.h"

#include "compiler/show/report/Axis.h"

#include "compiler/show/explain/Figures.h"

#include <algorithm>
#include <set>

namespace dtc::html {
namespace {

struct Kind {
  llvm::StringLiteral cssClass, name;
  int64_t PlanMemory::*bytes;
};
// Stacked from the bottom up; kinds that change during a step are on top.
constexpr Kind kKinds[] = {
    {"mem-parameters", "parameters", &PlanMemory::parameters},
    {"mem-gradients", "gradients", &PlanMemory::gradients},
    {"mem-optimizer", "optimizer states", &PlanMemory::optimizer},
    {"mem-communication", "communication", &PlanMemory::communication},
    {"mem-reserved", "drivers and libraries", &PlanMemory::reserved},
    {"mem-temporaries", "temporaries", &PlanMemory::temporaries},
    {"mem-activations", "activations", &PlanMemory::activations},
};

double real(int64_t value) { return static_cast<double>(value); }

std::vector<LegendEntry> entries(const Plan &plan) {
  std::vector<LegendEntry> list;
  for (const Kind &kind : kKinds)
    for (const PlanStage &stage : plan.stages)
      if (stage.memory.*kind.bytes > 0) {
        list.push_back({kind.cssClass, kind.name.str()});
        break;
      }
  return list;
}

double ceilingOf(const Plan &plan, int64_t limit) {
  int64_t most = limit;
  for (const PlanStage &stage : plan.stages)
    most = std::max(most, stage.memory.total());
  return 1.06 * real(most);
}

void drawLimit(Svg &svg, const Scale &y, double left, double right, int64_t limit) {
  svg.line(left, y(real(limit)), right, y(real(limit)), "limit");
  svg.text(right - 2, y(real(limit)) - 5, "limit " + figures::bytes(limit), "limit-text halo",
           "end");
}

// The most that is held in each of `bins` parts of the step.
std::vector<double> binned(const TraceCounter &memory, double end, size_t bins) {
  std::vector<double> most(bins, 0);
  for (size_t index = 0; index < memory.samples.size(); ++index) {
    const TraceCounter::Sample &sample = memory.samples[index];
    double until = index + 1 < memory.samples.size() ? memory.samples[index + 1].seconds : end;
    auto binOf = [&](double seconds) {
      double bin = end > 0 ? seconds / end * static_cast<double>(bins) : 0;
      return std::min(bins - 1, static_cast<size_t>(std::max(0.0, bin)));
    };
    for (size_t bin = binOf(sample.seconds); bin <= binOf(until); ++bin)
      most[bin] = std::max(most[bin], real(sample.value));
  }
  return most;
}

std::string overTime(const Plan &plan, const StepSimulation &step, size_t index, int64_t limit) {
  constexpr double width = 520, height = 220, left = 40, right = 8, top = 26, bottom = 180;
  const PlanStage &stage = plan.stages[index];
  std::string name = "stage " + std::to_string(index);
  Svg svg(width, height, "memory-" + std::to_string(index), "Memory of " + name + " over a step",
          "a device of " + name + " holds at most " + figures::bytes(stage.memory.total()) +
              ", of which activations " + figures::bytes(stage.memory.activations));
  double end = step.result.makespan;
  Scale x{0, end, left, width - right}, y{0, ceilingOf(plan, limit), bottom, top};
  verticalAxis(svg, y, left, width - right, bytesUnit(y.high), "memory");
  double base = 0;
  for (const Kind &kind : kKinds) {
    int64_t bytes = stage.memory.*kind.bytes;
    if (kind.bytes == &PlanMemory::activations || bytes == 0)
      continue;
    svg.rect(left, y(base + real(bytes)), x.to - left, y(base) - y(base + real(bytes)),
             kind.cssClass, kind.name.str() + ": " + figures::bytes(bytes));
    base += real(bytes);
  }
  constexpr size_t bins = 236;
  double step2 = (x.to - left) / static_cast<double>(bins);
  std::string area = "M" + coordinate(left) + " " + coordinate(y(base));
  for (double bytes : binned(step.memory[index], end, bins))
    area += "V" + coordinate(y(std::max(base, bytes))) + "h" + coordinate(step2);
  svg.path(area + "V" + coordinate(y(base)) + "Z", "mem-activations",
           "activations: at most " + figures::bytes(stage.memory.activations));
  drawLimit(svg, y, left, x.to, limit);
  svg.text(left + 90, top - 8, name, "strong");
  horizontalAxis(svg, x, bottom, bottom, secondsUnit(end), "time", 6);
  return svg.finish();
}

// The fullest stage, the first, the last and some between them: an even number where there are that
// many.
std::set<size_t> chosenStages(const Plan &plan) {
  size_t count = plan.stages.size(), fullest = 0;
  for (size_t stage = 0; stage < count; ++stage)
    if (plan.stages[stage].memory.total() > plan.stages[fullest].memory.total())
      fullest = stage;
  std::set<size_t> chosen{0, fullest, count / 2, count - 1};
  if (chosen.size() % 2 == 1)
    chosen.insert(count / 4);
  return chosen;
}

std::string peaks(const Plan &plan, int64_t limit) {
  constexpr double width = 1056, height = 236, left = 44, right = 10, top = 26, bottom = 196;
  Svg svg(width, height, "memory-peaks", "Memory of every stage at its peak",
          "bytes of a device of each stage by what they hold; the fullest has " +
              figures::bytes(plan.predicted.peakMemoryBytes) + " of " + figures::bytes(limit));
  size_t count = plan.stages.size();
  Scale y{0, ceilingOf(plan, limit), bottom, top};
  verticalAxis(svg, y, left, width - right, bytesUnit(y.high), "memory");
  double pitch = std::min(72.0, (width - left - right) / static_cast<double>(count));
  double bar = pitch * 0.78;
  size_t every = std::max<size_t>(1, static_cast<size_t>(24 / pitch + 0.999));
  for (size_t index = 0; index < count; ++index) {
    double x = left + pitch * (static_cast<double>(index) + 0.11), base = 0;
    for (const Kind &kind : kKinds) {
      int64_t bytes = plan.stages[index].memory.*kind.bytes;
      if (bytes == 0)
        continue;
      svg.rect(x, y(base + real(bytes)), bar, y(base) - y(base + real(bytes)), kind.cssClass,
               "stage " + std::to_string(index) + ", " + kind.name.str() + ": " +
                   figures::bytes(bytes));
      base += real(bytes);
    }
    if (index % every == 0)
      svg.text(x + bar / 2, bottom + 15, std::to_string(index), "tick", "middle");
  }
  svg.line(left, bottom, width - right, bottom, "axis");
  svg.text(left, bottom + 31, "stage", "tick");
  drawLimit(svg, y, left, width - right, limit);
  return svg.finish();
}

} // namespace

std::string memoryFigures(const Plan &plan, const StepSimulation *step, int64_t limit) {
  std::string html = legend(entries(plan));
  if (plan.stages.size() > 1)
    html += figure(peaks(plan, limit), "Every stage at its peak, one device of it.");
  if (!step)
    return html;
  html += "<div class=\"half\">\n";
  for (size_t stage : chosenStages(plan))
    html += figure(overTime(plan, *step, stage, limit), "");
  html += "</div>\n<p class=\"note\">";
  return html + "Over one step. Activations grow with every forward pass and go with its backward "
                "pass; the rest "
                "stays.</p>\n";
}

} // namespace dtc::html
