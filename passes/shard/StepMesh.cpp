// Builds the mesh of a model from a plan's degrees of parallelism.
#include "passes/shard/StepMesh.h"

#include "passes/shard/OpSplit.h"

#include <numeric>

using namespace mlir;

namespace dtc {
namespace {

// Returns the number of parts into which kv heads are split if that is not `tp`; 1 if all of tp can
// split them, or none can.
int64_t partsOfHeads(ModuleOp model, int64_t tp) {
  int64_t parts = 1;
  model.walk([&](graph::RuleOpInterface op) {
    graph::OpRule rule = op.getRule();
    std::optional<unsigned> heads = groupedLoop(rule);
    if (!heads || parts > 1)
      return;
    int64_t size = rule.loops[*heads].size;
    bool fits = size >= tp && canSplitLoop(rule, static_cast<int>(*heads), tp);
    if (!fits)
      parts = std::gcd(size, tp);
  });
  return parts;
}

} // namespace

Mesh stepMesh(ModuleOp model, const MeshSizes &sizes) {
  auto [dp, tp, pp, zeroGroup, ep, cp] = sizes;
  Mesh mesh;
  auto add = [&](StringRef name, int64_t size, AxisRole role) {
    mesh.names.push_back(name.str());
    mesh.sizes.push_back(size);
    mesh.roles.push_back(role);
  };
  if (pp > 1)
    add("pp", pp, AxisRole::Pipeline);
  if (zeroGroup > 0 && zeroGroup < dp) {
    add("dp.groups", dp / zeroGroup, AxisRole::Data);
    add("dp.shards", zeroGroup / ep, AxisRole::Data);
  } else {
    add("dp", dp / ep, AxisRole::Data);
  }
  if (ep > 1)
    add("ep", ep, AxisRole::Expert);
  if (cp > 1)
    add("cp", cp, AxisRole::Context);
  int64_t heads = partsOfHeads(model, tp);
  if (heads > 1 && heads < tp) {
    add("tp.kv", heads, AxisRole::Tensor);
    add("tp.group", tp / heads, AxisRole::Tensor);
  } else {
    add("tp", tp, AxisRole::Tensor);
  }
  return mesh;
}

SmallVector<unsigned, 2> axesOfSamples(const Mesh &mesh) {
  SmallVector<unsigned, 2> axes = mesh.axesOf(AxisRole::Data);
  llvm::append_range(axes, mesh.axesOf(AxisRole::Expert));
  return axes;
}

} // namespace dtc
