// Turns the program of one logical device into the program that every rank of the mesh runs.
#include "passes/shard/Partition.h"

#include "dialects/graph/StepWeights.h"
#include "passes/shard/FunctionPartitioner.h"
#include "passes/shard/Stages.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

class ModulePartitioner : BlockSource {
public:
  ModulePartitioner(ModuleOp module, const Mesh &mesh)
      : module(module), mesh(mesh), stored(module), roles(module), builder(module.getContext()) {}

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
    if (auto prepare = module.lookupSymbol<graph::FuncOp>(graph::kPrepareFunction);
        prepare && failed(partition(prepare)))
      return failure();
    replace(old);
    return success();
  }

private:
  FailureOr<graph::FuncOp> partition(graph::FuncOp func, const RestingArguments &resting = {});
  FailureOr<graph::FuncOp> resolve(graph::FuncOp block, const RestingArguments &resting) override {
    return partition(block, resting);
  }
  graph::FuncOp create(Location loc, StringRef name) override;
  void bringGradients(graph::FuncOp func, FunctionPartitioner &partitioner);

  // Creates a function with a name that is free once the old functions are gone.
  graph::FuncOp createLocal(Location loc, StringRef name, StringAttr visibility) {
    builder.setInsertionPointToEnd(module.getBody());
    auto local = graph::FuncOp::create(builder, loc, (kLocal + name).str(),
                                       FunctionType::get(module.getContext(), {}, {}));
    local.setSymVisibilityAttr(visibility);
    if (local.getBody().empty())
      local.getBody().emplaceBlock();
    return local;
  }

  void replace(ArrayRef<graph::FuncOp> old) {
    for (graph::FuncOp func : old)
      func.erase();
    auto nameOf = [](StringRef local) { return local.drop_front(kLocal.size()); };
    for (auto func : module.getOps<graph::FuncOp>())
      func.setSymName(nameOf(func.getSymName()));
    module.walk([&](graph::BlockCallOpInterface call) {
      call.setBlockAttr(FlatSymbolRefAttr::get(call.getContext(), nameOf(call.getBlockName())));
    });
  }

  static constexpr StringLiteral kLocal = "local.";

  ModuleOp module;
  const Mesh &mesh;
  Stored stored;
  ValueRoles roles;
  OpBuilder builder;
  struct Partitioned {
    graph::FuncOp local;
    RestingArguments resting; // the resting arguments that it was made for
  };
  std::map<Operation *, Partitioned> locals;
  llvm::StringMap<unsigned> numbers; // last number used for each function name
};

graph::FuncOp ModulePartitioner::create(Location loc, StringRef name) {
  std::string unique = name.str();
  auto isTaken = [&] {
    return module.lookupSymbol(unique) || module.lookupSymbol((kLocal + unique).str());
  };
  // Continues the last number instead of trying all from 1.
  for (unsigned &number = numbers[name]; isTaken();)
    unique = (name + "." + Twine(++number)).str();
  return createLocal(loc, unique, builder.getStringAttr("private"));
}

FailureOr<graph::FuncOp> ModulePartitioner::partition(graph::FuncOp func,
                                                      const RestingArguments &resting) {
  if (auto it = locals.find(func); it != locals.end()) {
    for (auto [before, now] : llvm::zip(it->second.resting, resting))
      if (before.has_value() != now.has_value() || (before && before->atRest != now->atRest))
        return func.emitOpError(
            "is called with parameters that rest in different ways; place "
            "those that the same block reads as the same argument in the same way");
    return it->second.local;
  }
  graph::FuncOp local = createLocal(func.getLoc(), func.getSymName(), func.getSymVisibilityAttr());
  FunctionPartitioner partitioner(module, func, local, mesh, stored, roles, *this);
  if (func.getSymName() == graph::kMicrobatchFunction)
    partitioner.gatherForUses();
  if (failed(partitioner.addArguments(resting)))
    return failure();
  bringGradients(func, partitioner);
  if (failed(partitioner.rewriteBody()) || failed(partitioner.finish()))
    return failure();
  if (!func.isPrivate()) { // the schedule reads these attributes; blocks are inlined
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      local.setArgAttrs(index, func.getArgAttrDict(index));
    for (unsigned index = 0; index < func.getNumResults(); ++index)
      local.setResultAttrs(index, func.getResultAttrDict(index));
  }
  locals[func] = {local, resting};
  return local;
}

// Moves the gradient arguments of @update before anything reads them. Those of one chunk of a
// pipeline move together, because they are on the same ranks.
void ModulePartitioner::bringGradients(graph::FuncOp func, FunctionPartitioner &partitioner) {
  llvm::MapVector<Attribute, SmallVector<FunctionPartitioner::Move>> moves; // keyed by chunk
  for (BlockArgument argument : func.getArguments()) {
    DictionaryAttr attrs = func.getArgAttrDict(argument.getArgNumber());
    if (crossingName(attrs).empty())
      continue;
    auto parameter = attrs.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr);
    Operation *owner = parameter ? stored.at(parameter.getValue()) : nullptr;
    Attribute chunk = owner ? owner->getAttr(graph::kChunkAttr) : Attribute();
    moves[chunk].push_back({argument, parameter
                                          ? gradientRequest(stored, parameter.getValue(), mesh)
                                          : replicated(mesh)});
  }
  for (const auto &[chunk, together] : moves)
    partitioner.move(together);
}

} // namespace

Placement gradientRequest(const Stored &stored, StringRef parameter, const Mesh &mesh) {
  graph::StateOp state = stored.firstStateOf(parameter);
  Placement placement =
      state ? fromAttr(state.getPlacementAttr(), mesh) : placementOfSymbol(stored, parameter, mesh);
  if (Operation *op = stored.at(parameter); op && op->hasAttr(graph::kCompressedAttr))
    for (unsigned axis : mesh.axesOf(AxisRole::Data)) // '@update' takes the addends of the ranks
      placement[axis] = AxisPlacement::partial(graph::ReduceKind::Sum);
  return placement;
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
  if (failed(mesh) || failed(takeApart(module, *mesh)))
    return failure();
  return ModulePartitioner(module, *mesh).run();
}

} // namespace dtc
