// The mesh on the topology: for each axis, the coordinates of the devices of one node and of the
// nodes of the cluster.
#include "compiler/show/report/MeshDrawing.h"

#include "compiler/price/cost/UsedLevels.h"
#include "compiler/show/report/Html.h"

#include "compiler/price/cost/Cost.h"
#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtc::html {
namespace {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  RankGroup ranks;                  // ranks of one group; groups of experts may span several axes
  std::vector<int64_t> coordinates; // indexed by rank
  int64_t coordinateOf(int64_t rank) const { return coordinates[static_cast<size_t>(rank)]; }
};

// Returns the axes from the innermost out, except those of one rank. Stages have the ranks that the
// plan gives them, within which the other axes keep their order.
std::vector<MeshAxis> axesOf(const Plan &plan) {
  const Decisions &d = plan.decisions;
  std::vector<MeshAxis> axes;
  int64_t stride = 1, inStage = 1;
  for (char letter : d.order) {
    int64_t size = d.sizeOf(letter);
    if (size > 1) {
      MeshAxis &axis =
          axes.emplace_back(MeshAxis{std::string(1, letter) + "p", size, {{size, stride}}, {}});
      axis.coordinates.resize(static_cast<size_t>(plan.devices));
      for (size_t stage = 0; stage < plan.stages.size(); ++stage)
        for (size_t i = 0; i < plan.stages[stage].ranks.size(); ++i)
          axis.coordinates[static_cast<size_t>(plan.stages[stage].ranks[i])] =
              letter == 'p' ? static_cast<int64_t>(stage)
                            : static_cast<int64_t>(i) / inStage % size;
    }
    stride *= size;
    inStage *= letter == 'p' ? 1 : size;
  }
  return axes;
}

// Experts are over the innermost ranks of context and data, and of tensor parallelism where they
// are folded over it: the groups of addExpertGroups in compiler/price/estimate/ModelCost.cpp.
MeshAxis expertsOf(const Plan &plan) {
  const Decisions &d = plan.decisions;
  MeshAxis experts{"ep", d.ep, {}, {}};
  experts.coordinates.resize(static_cast<size_t>(plan.devices));
  int64_t left = d.ep, stride = 1, inStage = 1;
  for (char letter : d.order) {
    int64_t size = d.sizeOf(letter);
    bool isOver = d.spreadsExperts(letter);
    if (int64_t taken = isOver ? std::gcd(left, size) : 1; taken > 1) {
      for (const PlanStage &stage : plan.stages)
        for (size_t i = 0; i < stage.ranks.size(); ++i)
          experts.coordinates[static_cast<size_t>(stage.ranks[i])] +=
              static_cast<int64_t>(i) / inStage % taken * (d.ep / left);
      experts.ranks.push_back({taken, stride});
      left /= taken;
    }
    stride *= size;
    inStage *= letter == 'p' ? 1 : size;
  }
  return experts;
}

llvm::StringRef meaningOf(llvm::StringRef axis) {
  return axis == "tp"   ? "tensor parallel"
         : axis == "cp" ? "context parallel"
         : axis == "dp" ? "data parallel"
         : axis == "ep" ? "expert parallel"
                        : "pipeline stages";
}

// Hues once around, but for the part that would come back to the first; lightness tells neighbours
// apart.
std::string colourOf(int64_t coordinate, int64_t size) {
  int64_t hue = size > 1 ? 210 + coordinate * 300 / size : 210;
  int64_t lightness = size <= 16 && coordinate % 2 == 1 ? 64 : 72;
  return "hsl(" + std::to_string(hue % 360) + " 62% " + std::to_string(lightness) + "%)";
}

// "8 in each nvlink, 16 across ib"
std::string spreadText(const MeshAxis &axis, const Topology &topology) {
  if (!topology.isHomogeneous())
    return "";
  std::string list;
  llvm::SmallVector<int64_t> ranks = ranksPerLevel(axis.ranks, topology);
  for (size_t level = 0; level < ranks.size(); ++level)
    if (ranks[level] > 1)
      list += (list.empty() ? "" : ", ") + std::to_string(ranks[level]) + " over " +
              topology.levels[level].name;
  return list;
}

class MeshDrawing {
public:
  MeshDrawing(const Plan &plan, const Topology &topology)
      : plan(plan), topology(topology), perNode(std::max<int64_t>(1, topology.devicesPerNode)),
        nodes((plan.devices + perNode - 1) / perNode) {}

  std::string run() {
    std::vector<MeshAxis> axes = axesOf(plan);
    if (plan.decisions.ep > 1)
      axes.push_back(expertsOf(plan));
    if (axes.empty())
      return "<p>One device: there is nothing to place.</p>\n";
    std::string html = "<div class=\"half\">\n";
    for (const MeshAxis &axis : axes)
      html += figure(drawing(axis), "");
    html += "</div>\n<p class=\"note\">Colours and numbers are the coordinate of a device on the "
            "axis; devices of one colour hold the same part along it. ";
    if (nodes > 1)
      html +=
          "Left: the devices of node 0. Right: every node of the cluster, in the order of ranks, "
          "coloured by its first device. ";
    return html + "</p>\n";
  }

private:
  std::string drawing(const MeshAxis &axis) const {
    constexpr double width = 520, top = 42;
    double nodeWidth = nodes > 1 ? 150 : width - 12;
    int64_t columns = columnsOf(std::min(perNode, plan.devices), nodes > 1 ? 2 : 8);
    double cell = std::min(34.0, (nodeWidth - 16) / static_cast<double>(columns));
    int64_t shown = std::min<int64_t>(std::min(perNode, plan.devices), 72);
    double nodeHeight =
        16 + cell * std::ceil(static_cast<double>(shown) / static_cast<double>(columns));
    Grid cluster = gridOf(width - nodeWidth - 26);
    double height = top + std::max(nodeHeight, nodes > 1 ? cluster.height + 8 : 0.0) + 6;
    std::string spread = spreadText(axis, topology);
    std::string title =
        axis.name + " = " + std::to_string(axis.size) + ", " + meaningOf(axis.name).str();
    Svg svg(width, height, "mesh-" + axis.name, title,
            "ranks of " + axis.name + " lie " +
                std::to_string(static_cast<int64_t>(axis.ranks.front().stride)) + " apart" +
                (spread.empty() ? "" : ": " + spread));
    svg.text(2, 14, title, "strong");
    svg.text(2, 31, spread, "tick");
    svg.rect(2, top, 16 + cell * static_cast<double>(columns), nodeHeight, "box", "", 5);
    for (int64_t device = 0; device < shown; ++device) {
      int64_t row = device / columns, column = device % columns;
      drawDevice(svg, axis, device, 10 + cell * static_cast<double>(column),
                 top + 8 + cell * static_cast<double>(row), cell - 2);
    }
    if (nodes > 1)
      drawCluster(svg, axis, cluster, nodeWidth + 14, top);
    return svg.finish();
  }

  static int64_t columnsOf(int64_t devices, int64_t wanted) {
    int64_t columns =
        std::max(wanted, static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(devices)))));
    // Whole rows where that takes few columns more.
    for (int64_t more = columns; more <= columns + 2; ++more)
      if (devices % more == 0)
        return more;
    return std::clamp<int64_t>(columns, 1, std::max<int64_t>(1, devices));
  }

  static void drawDevice(Svg &svg, const MeshAxis &axis, int64_t rank, double x, double y,
                         double size) {
    int64_t coordinate = axis.coordinateOf(rank);
    svg.cell(x, y, size, size, colourOf(coordinate, axis.size),
             "rank " + std::to_string(rank) + ": " + axis.name + " " + std::to_string(coordinate));
    if (size > 14)
      svg.text(x + size / 2, y + size / 2 + 3.5, std::to_string(coordinate), "inside", "middle");
  }

  struct Grid {
    int64_t columns = 1;
    double cell = 8, height = 0;
  };
  Grid gridOf(double width) const {
    constexpr double mostHeight = 168;
    Grid grid;
    grid.cell = std::clamp(std::floor(std::sqrt(width * mostHeight / static_cast<double>(nodes))),
                           3.0, 26.0);
    grid.columns = std::max<int64_t>(1, static_cast<int64_t>(width / grid.cell));
    // A power of two where that is near: strides show as columns then.
    while (grid.columns & (grid.columns - 1))
      grid.columns &= grid.columns - 1;
    grid.columns = std::min(grid.columns, nodes);
    grid.cell = std::min(26.0, width / static_cast<double>(grid.columns));
    grid.height =
        grid.cell * std::ceil(static_cast<double>(nodes) / static_cast<double>(grid.columns));
    return grid;
  }

  // Nodes of one colour that follow one another in a row are one rectangle.
  void drawCluster(Svg &svg, const MeshAxis &axis, const Grid &grid, double left,
                   double top) const {
    double gap = grid.cell > 9 ? 1.5 : grid.cell > 5 ? 0.5 : 0;
    for (int64_t node = 0; node < nodes;) {
      int64_t coordinate = axis.coordinateOf(node * perNode), last = node;
      bool joins = grid.cell <= 9;
      while (joins && last + 1 < nodes && (last + 1) % grid.columns != 0 &&
             axis.coordinateOf((last + 1) * perNode) == coordinate)
        ++last;
      double count = static_cast<double>(last - node + 1);
      int64_t row = node / grid.columns, column = node % grid.columns;
      svg.cell(left + grid.cell * static_cast<double>(column),
               top + grid.cell * static_cast<double>(row), grid.cell * count - gap, grid.cell - gap,
               colourOf(coordinate, axis.size),
               (last > node ? "nodes " + std::to_string(node) + " to " + std::to_string(last)
                            : "node " + std::to_string(node)) +
                   ": " + axis.name + " " + std::to_string(coordinate));
      node = last + 1;
    }
  }

  const Plan &plan;
  const Topology &topology;
  int64_t perNode, nodes;
};

} // namespace

std::string meshFigures(const Plan &plan, const Topology &topology) {
  return MeshDrawing(plan, topology).run();
}

} // namespace dtc::html
