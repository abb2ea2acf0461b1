// Turns the program of one logical device into the program that every rank of the mesh runs.
#include "passes/shard/Partition.h"

#include "passes/shard/FunctionPartitioner.h"

using namespace mlir;

namespace dtc {
namespace {

class ModulePartitioner {
public:
  ModulePartitioner(ModuleOp module, const Mesh &mesh)
      : module(module), mesh(mesh), roles(module), builder(module.getContext()) {}

  LogicalResult run() {
    auto microbatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    auto update = module.lookupSymbol<graph::FuncOp>(graph::kUpdateFunction);
    if (!microbatch || !update)
      return module.emitError(
          "partitioning needs '@microbatch' and '@update'; run dtc-differentiate and "
          "dtc-add-optimizer first");
    SmallVector<graph::FuncOp> old(module.getOps<graph::FuncOp>());
    if (failed(partition(microbatch)) || failed(partition(update)))
      return failure();
    replace(old);
    return success();
  }

private:
  FailureOr<graph::FuncOp> partition(graph::FuncOp func);
  void bringGradients(graph::FuncOp func, FunctionPartitioner &partitioner);

  // A new function that takes over the name once the old functions are gone.
  graph::FuncOp createLocal(graph::FuncOp func) {
    builder.setInsertionPointToEnd(module.getBody());
    auto local = graph::FuncOp::create(builder, func.getLoc(), "local." + func.getSymName().str(),
                                       FunctionType::get(module.getContext(), {}, {}));
    local.setSymVisibilityAttr(func.getSymVisibilityAttr());
    if (local.getBody().empty())
      local.getBody().emplaceBlock();
    return local;
  }

  void replace(ArrayRef<graph::FuncOp> old) {
    for (graph::FuncOp func : old)
      func.erase();
    auto nameOf = [](StringRef local) { return local.drop_front(StringRef("local.").size()); };
    for (auto &[func, local] : locals)
      local.setSymName(nameOf(local.getSymName()));
    module.walk([&](graph::CallOp call) { call.setCallee(nameOf(call.getCallee())); });
  }

  ModuleOp module;
  const Mesh &mesh;
  ValueRoles roles;
  OpBuilder builder;
  llvm::MapVector<Operation *, graph::FuncOp> locals;
};

FailureOr<graph::FuncOp> ModulePartitioner::partition(graph::FuncOp func) {
  if (auto it = locals.find(func); it != locals.end())
    return it->second;
  graph::FuncOp local = createLocal(func);
  FunctionPartitioner partitioner(module, func, local, mesh, roles,
                                  [this](graph::FuncOp callee) { return partition(callee); });
  if (func.getSymName() == graph::kMicrobatchFunction)
    partitioner.gatherForUses();
  if (failed(partitioner.addArguments()))
    return failure();
  bringGradients(func, partitioner);
  if (failed(partitioner.rewriteBody()) || failed(partitioner.finish()))
    return failure();
  if (!func.isPrivate()) { // what the schedule reads; blocks are inlined
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      local.setArgAttrs(index, func.getArgAttrDict(index));
    for (unsigned index = 0; index < func.getNumResults(); ++index)
      local.setResultAttrs(index, func.getResultAttrDict(index));
  }
  locals[func] = local;
  return local;
}

// The arguments of @update, before anything reads them.
void ModulePartitioner::bringGradients(graph::FuncOp func, FunctionPartitioner &partitioner) {
  for (BlockArgument argument : func.getArguments()) {
    DictionaryAttr attrs = func.getArgAttrDict(argument.getArgNumber());
    if (crossingName(attrs).empty())
      continue;
    auto parameter = attrs.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr);
    partitioner.move(argument, parameter ? gradientRequest(module, parameter.getValue(), mesh)
                                         : replicated(mesh));
  }
}

} // namespace

Placement gradientRequest(ModuleOp module, StringRef parameter, const Mesh &mesh) {
  for (auto state : module.getOps<graph::StateOp>())
    if (state.getParameter() == parameter)
      return fromAttr(state.getPlacementAttr(), mesh);
  return placementOfSymbol(module, parameter, mesh);
}

std::string crossingName(DictionaryAttr attrs) {
  if (!attrs)
    return "";
  if (auto parameter = attrs.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr))
    return "gradient " + parameter.getValue().str();
  if (auto name = attrs.getAs<StringAttr>(graph::kAccumulatedAttr))
    return "sum " + name.str();
  return "";
}

LogicalResult partitionModule(ModuleOp module) {
  FailureOr<Mesh> mesh = readMesh(module);
  if (failed(mesh))
    return failure();
  return ModulePartitioner(module, *mesh).run();
}

} // namespace dtc
