// Turns the program of one logical device into the program that every rank of the mesh runs.
#include "passes/shard/Partition.h"

#include "passes/shard/FunctionPartitioner.h"
#include "passes/shard/Reshard.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

class ModulePartitioner {
public:
  ModulePartitioner(ModuleOp module, const Mesh &mesh)
      : module(module), mesh(mesh), builder(module.getContext()) {
    policy.dataAxis = mesh.axisOf(AxisRole::Data);
    policy.weightAxis = mesh.axisOf(AxisRole::Tensor);
    policy.sequenceParallel = module->hasAttr(graph::kSequenceParallelAttr);
  }

  LogicalResult run() {
    auto microbatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    auto update = module.lookupSymbol<graph::FuncOp>(graph::kUpdateFunction);
    if (!microbatch || !update)
      return module.emitError(
          "partitioning needs '@microbatch' and '@update'; run dtc-differentiate and "
          "dtc-add-optimizer first");
    SmallVector<graph::FuncOp> old(module.getOps<graph::FuncOp>());
    if (failed(partitionMicrobatch(microbatch)) || failed(partitionUpdate(update)))
      return failure();
    replace(old);
    return success();
  }

private:
  LogicalResult partitionMicrobatch(graph::FuncOp func);
  LogicalResult partitionUpdate(graph::FuncOp func);
  FailureOr<LocalBlock> partitionBlock(const BlockKey &key);

  // Where the gradient of a parameter is wanted in @microbatch but for the data axis, over which it
  // stays a sum: where the parameter is used.
  Placement parameterInUse(StringRef parameter) {
    return placementInUse(module, parameter, mesh)
        .value_or(placementOfSymbol(module, parameter, mesh));
  }

  // Where the optimizer wants the gradient of a parameter: as its state, or without state as the
  // parameter.
  Placement gradientRequest(StringRef parameter) {
    for (auto state : module.getOps<graph::StateOp>())
      if (state.getParameter() == parameter)
        return fromAttr(state.getPlacementAttr(), mesh);
    return placementOfSymbol(module, parameter, mesh);
  }

  FunctionPartitioner partitionerFor(graph::FuncOp from, graph::FuncOp to) {
    return FunctionPartitioner(module, from, to, mesh, policy,
                               [this](const BlockKey &key) { return partitionBlock(key); });
  }

  // A new function that takes over `name` once the old functions are gone.
  graph::FuncOp createLocal(graph::FuncOp func, const std::string &name) {
    builder.setInsertionPointToEnd(module.getBody());
    auto local = graph::FuncOp::create(builder, func.getLoc(), "local." + name,
                                       FunctionType::get(module.getContext(), {}, {}));
    local.setSymVisibilityAttr(func.getSymVisibilityAttr());
    if (local.getBody().empty())
      local.getBody().emplaceBlock();
    names.emplace_back(local, name);
    return local;
  }

  void replace(ArrayRef<graph::FuncOp> old) {
    for (graph::FuncOp func : old)
      func.erase();
    llvm::StringMap<std::string> renamed;
    for (auto &[func, name] : names) {
      renamed[func.getSymName()] = name;
      func.setSymName(name);
    }
    module.walk([&](graph::CallOp call) { call.setCallee(renamed.lookup(call.getCallee())); });
  }

  // The gradient or other sum that crosses from @microbatch to @update at this place, by name.
  static std::string crossingName(DictionaryAttr attrs) {
    if (!attrs)
      return "";
    if (auto parameter = attrs.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr))
      return "gradient " + parameter.getValue().str();
    if (auto name = attrs.getAs<StringAttr>(graph::kAccumulatedAttr))
      return "sum " + name.str();
    return "";
  }

  DictionaryAttr withPlacement(DictionaryAttr attrs, const Placement &placement) {
    NamedAttrList list(attrs);
    list.set(graph::kPlacementAttr, toAttr(module.getContext(), placement));
    return list.getDictionary(module.getContext());
  }

  ModuleOp module;
  const Mesh &mesh;
  OpBuilder builder;
  PlacementPolicy policy;
  std::map<std::string, LocalBlock> blocks;
  std::map<std::string, unsigned> blockCounts;
  std::map<std::string, Placement> crossings;
  std::vector<std::pair<graph::FuncOp, std::string>> names;
};

LogicalResult ModulePartitioner::partitionMicrobatch(graph::FuncOp func) {
  graph::FuncOp local = createLocal(func, graph::kMicrobatchFunction.str());
  FunctionPartitioner partitioner = partitionerFor(func, local);
  partitioner.gatherForUses();
  for (BlockArgument argument : func.getArguments()) {
    Placement placement = replicated(mesh);
    auto type = cast<RankedTensorType>(argument.getType());
    if (policy.dataAxis >= 0 && type.getRank() > 0 &&
        func.getArgAttr(argument.getArgNumber(), graph::kInputAttr)) {
      int64_t parts = mesh.sizes[policy.dataAxis];
      if (type.getDimSize(0) % parts != 0)
        return func.emitOpError("has a batch of ")
               << type.getDimSize(0) << " samples, which dp = " << parts << " does not divide";
      placement[policy.dataAxis] = AxisPlacement::shard(0);
    }
    partitioner.addArgument(argument, placement, false);
  }
  auto parameterOf = [&](unsigned index) -> FlatSymbolRefAttr {
    DictionaryAttr attrs = func.getResultAttrDict(index);
    return attrs ? attrs.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr) : FlatSymbolRefAttr();
  };
  for (auto [index, value] : llvm::enumerate(partitioner.returned())) {
    FlatSymbolRefAttr parameter = parameterOf(index);
    if (!parameter)
      continue;
    Placement wanted = parameterInUse(parameter.getValue());
    if (policy.dataAxis >= 0) // sums over the data axis are finished once a step, in @update
      wanted[policy.dataAxis] = AxisPlacement::partial(graph::ReduceKind::Sum);
    partitioner.setHint(value, wanted);
  }
  if (failed(partitioner.rewriteBody()))
    return failure();

  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attrs;
  for (auto [index, value] : llvm::enumerate(partitioner.returned())) {
    Placement placement = partitioner.placementOf(value);
    if (FlatSymbolRefAttr parameter = parameterOf(index)) {
      // A parameter that rests elsewhere is held in part, and so is its gradient, at once.
      Placement wanted = parameterInUse(parameter.getValue());
      bool restsElsewhere = wanted != placementOfSymbol(module, parameter.getValue(), mesh);
      if (restsElsewhere)
        wanted = gradientRequest(parameter.getValue());
      for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
        if (restsElsewhere || !placement[axis].isPartial())
          placement[axis] = wanted[axis];
      results.push_back(partitioner.localAs(value, placement, graph::CollectiveRole::Gradient));
    } else {
      results.push_back(partitioner.localAs(value, placement));
    }
    attrs.push_back(withPlacement(func.getResultAttrDict(index), placement));
    crossings[crossingName(attrs.back())] = placement;
  }
  partitioner.finish(results);
  for (auto [index, dict] : llvm::enumerate(attrs))
    local.setResultAttrs(index, dict);
  for (BlockArgument argument : func.getArguments())
    local.setArgAttrs(argument.getArgNumber(),
                      withPlacement(func.getArgAttrDict(argument.getArgNumber()),
                                    partitioner.placementOf(argument)));
  return success();
}

LogicalResult ModulePartitioner::partitionUpdate(graph::FuncOp func) {
  graph::FuncOp local = createLocal(func, graph::kUpdateFunction.str());
  FunctionPartitioner partitioner = partitionerFor(func, local);
  partitioner.setDefaultRole(graph::CollectiveRole::Control);
  SmallVector<DictionaryAttr> attrs;
  for (BlockArgument argument : func.getArguments()) {
    DictionaryAttr dict = func.getArgAttrDict(argument.getArgNumber());
    auto crossing = crossings.find(crossingName(dict));
    if (crossing == crossings.end())
      return func.emitOpError("has argument ")
             << argument.getArgNumber()
             << ", which is not a gradient or sum that '@microbatch' returns";
    partitioner.addArgument(argument, crossing->second, false);
    attrs.push_back(withPlacement(dict, crossing->second));
  }
  for (BlockArgument argument : func.getArguments()) {
    DictionaryAttr dict = func.getArgAttrDict(argument.getArgNumber());
    auto parameter = dict.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr);
    if (parameter)
      partitioner.move(argument, gradientRequest(parameter.getValue()),
                       graph::CollectiveRole::Gradient);
    else
      partitioner.move(argument, replicated(mesh), graph::CollectiveRole::Control);
  }
  if (failed(partitioner.rewriteBody()))
    return failure();
  SmallVector<Value> results;
  for (Value value : partitioner.returned())
    results.push_back(partitioner.localAs(value, replicated(mesh)));
  partitioner.finish(results);
  for (auto [index, dict] : llvm::enumerate(attrs))
    local.setArgAttrs(index, dict);
  for (unsigned index = 0; index < results.size(); ++index)
    local.setResultAttrs(index, withPlacement(func.getResultAttrDict(index), replicated(mesh)));
  return success();
}

FailureOr<LocalBlock> ModulePartitioner::partitionBlock(const BlockKey &key) {
  std::string text = key.text();
  if (auto it = blocks.find(text); it != blocks.end())
    return it->second;
  auto func = module.lookupSymbol<graph::FuncOp>(key.callee);
  unsigned count = blockCounts[key.callee]++;
  graph::FuncOp local =
      createLocal(func, count == 0 ? key.callee : key.callee + "." + std::to_string(count));
  FunctionPartitioner partitioner = partitionerFor(func, local);
  for (auto [index, argument] : llvm::enumerate(func.getArguments()))
    partitioner.addArgument(argument, key.arguments[index], key.weights[index]);
  for (auto [value, hint] : llvm::zip(partitioner.returned(), key.hints))
    if (hint)
      partitioner.setHint(value, *hint);
  if (failed(partitioner.rewriteBody()))
    return failure();
  LocalBlock block{local, {}};
  SmallVector<Value> results;
  for (Value value : partitioner.returned()) {
    block.results.push_back(partitioner.placementOf(value));
    results.push_back(partitioner.localAs(value, block.results.back()));
  }
  partitioner.finish(results);
  blocks[text] = block;
  return block;
}

} // namespace

LogicalResult partitionModule(ModuleOp module) {
  FailureOr<Mesh> mesh = readMesh(module);
  if (failed(mesh))
    return failure();
  assignStatePlacements(module, *mesh);
  if (mesh->numRanks() > 1)
    decomposeCrossEntropy(module);
  return ModulePartitioner(module, *mesh).run();
}

} // namespace dtc
