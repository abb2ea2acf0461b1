// The mesh of ranks and the placement of tensors on it.
#include "passes/shard/Mesh.h"

#include "dialects/graph/Placement.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace dtc {

using graph::kAxisNamesAttr;
using graph::kAxisRolesAttr;
using graph::kMeshName;

int Mesh::axisNamed(llvm::StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(names))
    if (axis == name)
      return static_cast<int>(index);
  return -1;
}

SmallVector<unsigned, 2> Mesh::axesOf(AxisRole role) const {
  SmallVector<unsigned, 2> axes;
  for (auto [index, each] : llvm::enumerate(roles))
    if (each == role)
      axes.push_back(index);
  return axes;
}

int Mesh::axisOf(AxisRole role) const {
  SmallVector<unsigned, 2> axes = axesOf(role);
  return axes.empty() ? -1 : static_cast<int>(axes.front());
}

int64_t Mesh::numRanks() const {
  int64_t ranks = 1;
  for (int64_t size : sizes)
    ranks *= size;
  return ranks;
}

FailureOr<Mesh> readMesh(ModuleOp module) {
  auto grid = module.lookupSymbol<shard::GridOp>(kMeshName);
  if (!grid)
    return module.emitError(
        "the module has no 'shard.grid @mesh'; run dtc-set-mesh or apply a plan first");
  auto names = grid->getAttrOfType<ArrayAttr>(kAxisNamesAttr);
  auto roles = grid->getAttrOfType<ArrayAttr>(kAxisRolesAttr);
  if (!names || !roles)
    return grid.emitOpError("needs '")
           << (names ? kAxisRolesAttr : kAxisNamesAttr) << "' with one "
           << (names ? "role" : "name") << " for each of its " << grid.getShape().size() << " axes";
  Mesh mesh;
  for (auto [name, role, size] : llvm::zip(names, roles, grid.getShape())) {
    if (size < 1)
      return grid.emitOpError("needs sizes of 1 or more");
    mesh.names.push_back(cast<StringAttr>(name).str());
    mesh.sizes.push_back(size);
    mesh.roles.push_back(*graph::symbolizeAxisRole(cast<StringAttr>(role).getValue()));
  }
  return mesh;
}

void writeMesh(ModuleOp module, const Mesh &mesh) {
  if (auto old = module.lookupSymbol<shard::GridOp>(kMeshName))
    old.erase();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto grid = shard::GridOp::create(builder, module.getLoc(), kMeshName, mesh.sizes);
  SmallVector<Attribute> names;
  for (const std::string &name : mesh.names)
    names.push_back(builder.getStringAttr(name));
  grid->setAttr(kAxisNamesAttr, builder.getArrayAttr(names));
  SmallVector<Attribute> roles;
  for (AxisRole role : mesh.roles)
    roles.push_back(builder.getStringAttr(graph::stringifyAxisRole(role)));
  if (!roles.empty())
    grid->setAttr(kAxisRolesAttr, builder.getArrayAttr(roles));
}

Placement replicated(const Mesh &mesh) {
  return Placement(mesh.numAxes(), AxisPlacement::replicate());
}

std::string toString(const Placement &placement) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << '[';
  llvm::interleaveComma(placement, out,
                        [&](const AxisPlacement &axis) { out << graph::toString(axis); });
  out << ']';
  return text;
}

int64_t partsOf(const Placement &placement, const Mesh &mesh, int64_t dim) {
  return graph::getDimSplit(placement, mesh.sizes, dim).parts;
}

RankedTensorType localType(RankedTensorType global, const Placement &placement, const Mesh &mesh) {
  return graph::getLocalType(global, placement, mesh.sizes);
}

Type localType(Type global, const Placement &placement, const Mesh &mesh) {
  return graph::withTensor(global, localType(graph::tensorOf(global), placement, mesh));
}

graph::PlacementAttr toAttr(MLIRContext *context, const Placement &placement) {
  return graph::PlacementAttr::get(context, graph::canonicalPlacement(placement));
}

Placement fromAttr(graph::PlacementAttr attr, const Mesh &mesh) {
  if (!attr || attr.getAxes().size() != mesh.numAxes())
    return replicated(mesh);
  return Placement(attr.getAxes().begin(), attr.getAxes().end());
}

} // namespace dtc
