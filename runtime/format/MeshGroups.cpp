// The groups of ranks of a mesh, as the file lists them.
#include "runtime/format/MeshGroups.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

namespace dtc::format {
namespace {

using Mesh = std::vector<std::unique_ptr<AxisT>>;

// Returns the axis that an axis is part of: "tp" for "tp.kv" and "tp.group".
std::string_view wholeName(std::string_view name) {
  return name.substr(0, std::min(name.find('.'), name.size()));
}

std::string nameOf(const Mesh &mesh, const std::vector<uint32_t> &axes) {
  auto countOf = [&](const std::vector<uint32_t> &among, std::string_view whole) {
    return std::count_if(among.begin(), among.end(),
                         [&](uint32_t axis) { return wholeName(mesh[axis]->name) == whole; });
  };
  std::vector<uint32_t> all(mesh.size());
  std::iota(all.begin(), all.end(), 0);
  std::string out, last;
  for (uint32_t axis : axes) {
    std::string name = mesh[axis]->name, whole(wholeName(name));
    if (countOf(axes, whole) == countOf(all, whole))
      name = whole;
    if (name != last)
      out = text(out, out.empty() ? "" : " x ", name);
    last = name;
  }
  return out.empty() ? "one rank" : out;
}

} // namespace

std::unique_ptr<GroupT> groupOfAxes(const Mesh &mesh, const std::vector<uint32_t> &axes,
                                    const std::vector<uint32_t> &meshRanks) {
  auto group = std::make_unique<GroupT>();
  group->name = nameOf(mesh, axes);
  // Offsets of positions along `axes`, and along the others, each in order.
  std::vector<uint32_t> members{0}, firsts{0};
  uint32_t stride = 1;
  for (size_t axis = mesh.size(); axis-- > 0;) {
    bool moves = std::find(axes.begin(), axes.end(), axis) != axes.end();
    std::vector<uint32_t> &positions = moves ? members : firsts;
    std::vector<uint32_t> inner = std::move(positions);
    positions.clear();
    for (uint32_t coordinate = 0; coordinate < mesh[axis]->size; ++coordinate)
      for (uint32_t position : inner)
        positions.push_back(coordinate * stride + position);
    stride *= mesh[axis]->size;
  }
  group->size = static_cast<uint32_t>(members.size());
  for (uint32_t first : firsts)
    for (uint32_t member : members)
      group->ranks.push_back(meshRanks.empty() ? first + member : meshRanks[first + member]);
  return group;
}

} // namespace dtc::format
