// Builds the cost-function network of a step's placements.
#include "compiler/placement/PlacementNetwork.h"

#include "compiler/placement/StageCosts.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

// The solver counts in whole tenths of a nanosecond.
constexpr double kUnitsPerSecond = 1e10;
constexpr double kNever = std::numeric_limits<double>::infinity();
// Beyond so many placements a tensor's copies are not counted as sets.
constexpr size_t kMostTargets = 5;

int64_t units(double seconds) {
  return std::isfinite(seconds) ? std::llround(seconds * kUnitsPerSecond) : solver::kInfiniteCost;
}

// Sums that are not finished are finished where they are.
Placement finished(Placement placement) {
  for (AxisPlacement &axis : placement)
    if (axis.isPartial())
      axis = AxisPlacement::replicate();
  return placement;
}

int64_t ranksOf(ArrayRef<unsigned> axes, const Mesh &mesh) {
  int64_t ranks = 1;
  for (unsigned axis : axes)
    ranks *= mesh.sizes[axis];
  return ranks;
}

bool hasPartial(const Placement &placement) {
  return llvm::any_of(placement, [](const AxisPlacement &axis) { return axis.isPartial(); });
}

} // namespace

PlacementNetwork::PlacementNetwork(const PlacementProblem &problem)
    : module(problem.step), mesh(problem.mesh), sequenceParallel(problem.sequenceParallel),
      splitsWeights(problem.splitsWeights), told(problem.told), costs(problem.costs),
      prices(problem.prices), dataAxis(mesh.axisOf(AxisRole::Data)),
      expertAxis(mesh.axisOf(AxisRole::Expert)), tensorAxes(mesh.axesOf(AxisRole::Tensor)),
      roles(module, graph::kMicrobatchFunction), weights(module), heads(module, mesh, weights) {}

int64_t PlacementNetwork::tensorRanks() const { return ranksOf(tensorAxes, mesh); }

LogicalResult PlacementNetwork::build() {
  auto microbatch = module.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
  if (failed(placeInputs(microbatch)) || failed(enter(microbatch)))
    return failure();
  if (isTold())
    for (const auto &[name, ops] : told->functions)
      if (auto func = module.lookupSymbol<graph::FuncOp>(name); !func || !arguments.contains(func))
        return module.emitError("the plan's op_splits name the function '")
               << name
               << "', which the model's step does not have; plan this model again "
                  "with 'dtc plan'";
  // Parameters that nothing reads are somewhere, too.
  for (unsigned index = 0; index < weights.size(); ++index)
    if (failed(placeClass(index)))
      return failure();
  return success();
}

LogicalResult PlacementNetwork::placeInputs(graph::FuncOp microbatch) {
  std::vector<Place> &list = arguments[microbatch];
  for (BlockArgument argument : microbatch.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    Placement placement = replicated(mesh);
    if (dataAxis >= 0 && type.getRank() > 0 && mesh.sizes[dataAxis] > 1) {
      int64_t parts = mesh.sizes[dataAxis];
      if (type.getDimSize(0) % parts != 0)
        return microbatch.emitOpError("has a batch of ")
               << type.getDimSize(0) << " samples, which " << mesh.names[dataAxis] << " = " << parts
               << " does not divide";
      placement[dataAxis] = AxisPlacement::shard(0);
    }
    list.push_back(places[argument] = {-1, {placement}});
  }
  return success();
}

// Adds what the function does; its arguments have a place.
LogicalResult PlacementNetwork::enter(graph::FuncOp func, int64_t numCarried) {
  Uses uses;
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (auto get = dyn_cast<graph::GetOp>(op)) {
      if (failed(placeClass(*weights.of(get.getSymbol()))))
        return failure();
      places[get.getResult()] = placeOfWeight(get.getResult());
    } else if (auto call = dyn_cast<graph::BlockCallOpInterface>(op)) {
      if (failed(addCall(call, uses)))
        return failure();
    } else if (auto interface = dyn_cast<graph::RuleOpInterface>(op)) {
      placeSum(&op);
      if (failed(addOp(&op, interface, uses)))
        return failure();
    } else {
      for (Value result : op.getResults()) // scalars of the run
        places[result] = {-1, {replicated(mesh)}};
    }
  }
  if (isTold())
    if (size_t count = toldOf(func).size(); toldOps[func] < count)
      return func.emitOpError("has ") << toldOps[func] << " ops, the plan's op_splits have "
                                      << count << "; plan this model again with 'dtc plan'";
  if (func.getSymName() == graph::kMicrobatchFunction)
    leaveStep(func);
  else
    leaveBlock(func, numCarried, uses);
  connect(uses);
  return success();
}

LogicalResult PlacementNetwork::addCall(graph::BlockCallOpInterface call, Uses &uses) {
  auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
  bool isNew = !arguments.contains(callee);
  if (isNew) {
    placeArguments(call, callee);
    if (failed(enter(callee, call.getNumCarried())))
      return failure();
    for (auto [argument, place] : llvm::zip(callee.getArguments(), arguments[callee]))
      place = places.lookup(argument); // of a sum it is known only now
  }
  for (auto [operand, place] : llvm::zip(call->getOperands(), arguments[callee]))
    if (!weights.of(operand))
      use(uses, operand, place);
  for (auto [index, result] : llvm::enumerate(call->getResults())) {
    places[result] = results[callee][index];
    if (callee.getResultAttr(index, graph::kSavedAttr))
      saved.insert(result);
  }
  return success();
}

// A term of the op's result beside `term`; null where there is none.
static Value otherTerm(graph::RuleOpInterface op, Value term) {
  graph::OpRule rule = op.getRule();
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (operand != term && rule.isTerm(index))
      return operand;
  return {};
}

// Whether a carried argument, which has no part for each sample, is read by nothing but one op that
// adds it to something for the result that carries it on.
bool PlacementNetwork::isSum(BlockArgument argument, graph::FuncOp callee) const {
  if (isActivation(argument) || !argument.hasOneUse())
    return false;
  Operation *adds = *argument.getUsers().begin();
  auto interface = dyn_cast<graph::RuleOpInterface>(adds);
  Operation *end = callee.getBody().front().getTerminator();
  return interface && otherTerm(interface, argument) && adds->hasOneUse() &&
         end->getOperand(argument.getArgNumber()) == adds->getResult(0);
}

void PlacementNetwork::placeArguments(graph::BlockCallOpInterface call, graph::FuncOp callee) {
  std::vector<Place> list;
  for (auto [argument, operand] : llvm::zip(callee.getArguments(), call->getOperands())) {
    Place place{-1, {boundaryOf(argument)}};
    if (weights.of(argument)) {
      place = placeOfWeight(argument);
    } else if (saved.contains(operand)) {
      saved.insert(argument);
      place = places.lookup(operand);
    }
    if (static_cast<int64_t>(list.size()) < call.getNumCarried() && isSum(argument, callee))
      sums.insert(argument);
    list.push_back(places[argument] = place);
  }
  arguments[callee] = std::move(list);
}

// A sum is where the first op that adds to it has what it adds.
void PlacementNetwork::placeSum(Operation *op) {
  for (Value operand : op->getOperands())
    if (sums.contains(operand))
      places[operand] = Place(places.lookup(otherTerm(cast<graph::RuleOpInterface>(op), operand)));
}

void PlacementNetwork::leaveBlock(graph::FuncOp func, int64_t numCarried, Uses &uses) {
  std::vector<Place> list;
  for (auto [index, value] :
       llvm::enumerate(func.getBody().front().getTerminator()->getOperands())) {
    Place source = places.lookup(value);
    bool isSaved = static_cast<bool>(func.getResultAttr(index, graph::kSavedAttr));
    if (isSaved) {
      for (auto [choice, placement] : llvm::enumerate(source.placements)) {
        placement = finished(placement);
        if (source.node >= 0 && costs)
          addCost(source.node, choice,
                  prices.secondsPerKeptByte *
                      costs->keptBytes(graph::tensorOf(value.getType()), placement));
      }
      use(uses, value, source);
    } else if (static_cast<int64_t>(index) < numCarried) {
      source = places.lookup(func.getArgument(index));
      use(uses, value, source);
    } else if (isActivation(value)) {
      source = {-1, {boundaryOf(value)}};
      use(uses, value, source);
    }
    list.push_back(std::move(source));
  }
  results[func] = std::move(list);
}

void PlacementNetwork::leaveStep(graph::FuncOp microbatch) {
  std::vector<Place> list;
  for (auto [index, value] :
       llvm::enumerate(microbatch.getBody().front().getTerminator()->getOperands())) {
    auto symbol = microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr);
    std::optional<unsigned> parameter =
        symbol ? weights.of(symbol.getValue()) : std::optional<unsigned>();
    if (parameter && succeeded(placeClass(*parameter)))
      returnGradient(value, classPlaces[*parameter]);
    list.push_back(places.lookup(value));
  }
  results[microbatch] = std::move(list);
}

// Samples: what data parallelism splits.
bool PlacementNetwork::isActivation(Value value) const {
  return roles.bitsOf(value) & ScalesWithBatch;
}

Placement PlacementNetwork::boundaryOf(Value value) const {
  Placement placement = replicated(mesh);
  ArrayRef<uint8_t> dims = roles.of(value);
  auto dimOf = [&](auto matches) {
    return static_cast<int64_t>(llvm::find_if(dims, matches) - dims.begin());
  };
  int64_t numDims = static_cast<int64_t>(dims.size());
  int64_t samples = dimOf([](uint8_t bits) { return bits & ScalesWithBatch; });
  if (samples == numDims)
    return placement;
  if (dataAxis >= 0 && mesh.sizes[dataAxis] > 1)
    placement[dataAxis] = AxisPlacement::shard(samples);
  int64_t sequence = dimOf([](uint8_t bits) { return bits == ScalesWithSequence; });
  int64_t channels = dimOf([](uint8_t bits) { return bits == DimRoles::kChannels; });
  if (sequenceParallel && sequence < numDims && channels < numDims)
    for (unsigned axis : tensorAxes)
      placement[axis] = AxisPlacement::shard(sequence);
  return placement;
}

// -------------------------------------------------------------------------------------- parameters

// Where the step computes with a parameter, where that is said already.
static graph::PlacementAttr inUse(graph::ParameterOp parameter) {
  return parameter.getInUseAttr() ? parameter.getInUseAttr() : parameter.getPlacementAttr();
}

static std::optional<Placement> placementOf(const WeightClasses::Class &weights, const Mesh &mesh) {
  for (graph::ParameterOp parameter : weights.parameters)
    if (graph::PlacementAttr attr = inUse(parameter))
      return fromAttr(attr, mesh);
  return std::nullopt;
}

FailureOr<PlacementNetwork::Place> PlacementNetwork::placeClass(unsigned weightClass) {
  auto [it, isNew] = classPlaces.try_emplace(weightClass);
  if (!isNew)
    return it->second;
  const WeightClasses::Class &entry = weights[weightClass];
  Place place;
  if (std::optional<Placement> given = placementOf(entry, mesh)) {
    graph::ParameterOp first = entry.parameters.front();
    for (graph::ParameterOp parameter : entry.parameters)
      if (fromAttr(inUse(parameter), mesh) != *given)
        return parameter.emitError()
               << "parameter '" << parameter.getSymName() << "' is placed otherwise than '"
               << first.getSymName()
               << "', which the same block reads as the same argument; place both alike";
    place.placements.push_back(*given);
  } else {
    place.placements = placementsOf(weightClass);
  }
  place.node = addNode(place.placements.size());
  bool mustBeSplit = mustSplit(weightClass, place.placements);
  for (auto [value, placement] : llvm::enumerate(place.placements)) {
    if (mustBeSplit && !isSplitEnough(weightClass, placement))
      addCost(place.node, value, kNever);
    if (costs)
      addCost(place.node, value,
              prices.secondsPerParameterByte * costs->parameterBytes(entry.type, placement) +
                  costs->updateSeconds(entry.type, placement) / prices.microBatches);
  }
  return it->second = place;
}

std::vector<Placement> PlacementNetwork::placementsOf(unsigned weightClass) const {
  RankedTensorType type = weights[weightClass].type;
  std::vector<Placement> placements{replicated(mesh)};
  // One more for each way in which `axes`, which do nothing yet, split a dim.
  auto splitOver = [&](ArrayRef<unsigned> axes, const Placement &placement) {
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.getDimSize(dim) >= ranksOf(axes, mesh) && partsOf(placement, mesh, dim) == 1) {
        placements.push_back(placement);
        for (unsigned axis : axes)
          placements.back()[axis] = AxisPlacement::shard(dim);
      }
  };
  for (ArrayRef<unsigned> axes : axesTogether())
    if (ranksOf(axes, mesh) > 1 && static_cast<int>(axes.front()) != dataAxis)
      for (const Placement &placement : std::vector<Placement>(placements))
        splitOver(axes, placement);
  if (tensorAxes.size() < 2)
    return placements;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!heads.isHeadDim(weightClass, dim) || type.getDimSize(dim) < mesh.sizes[tensorAxes[0]])
      continue;
    Placement ofHeads = replicated(mesh);
    ofHeads[tensorAxes[0]] = AxisPlacement::shard(dim);
    placements.push_back(ofHeads);
    splitOver(ArrayRef<unsigned>(tensorAxes).drop_front(), ofHeads);
  }
  return placements;
}

// Axes of tensor parallelism choose together.
std::vector<SmallVector<unsigned, 2>> PlacementNetwork::axesTogether() const {
  std::vector<SmallVector<unsigned, 2>> all;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    if (!llvm::is_contained(tensorAxes, axis))
      all.push_back({axis});
    else if (axis == tensorAxes.front())
      all.push_back(tensorAxes);
  return all;
}

// Whether no rank of tensor parallelism has what another one has, but for those that attention
// leaves no choice.
bool PlacementNetwork::isSplitEnough(unsigned weightClass, const Placement &placement) const {
  return llvm::all_of(tensorAxes, [&](unsigned axis) {
    return placement[axis].isShard() ||
           (axis != tensorAxes.front() && !heads.splitsGroups() &&
            placement[tensorAxes.front()].isShard() &&
            heads.isHeadDim(weightClass, placement[tensorAxes.front()].dim));
  });
}

bool PlacementNetwork::mustSplit(unsigned weightClass,
                                 const std::vector<Placement> &placements) const {
  return splitsWeights && !tensorAxes.empty() && weights[weightClass].isInProduct &&
         llvm::any_of(placements, [&](const Placement &placement) {
           return isSplitEnough(weightClass, placement);
         });
}

PlacementNetwork::Place PlacementNetwork::placeOfWeight(Value value) {
  return classPlaces.at(*weights.of(value));
}

// Sums are finished once a step; anything else is moved every micro-batch.
void PlacementNetwork::returnGradient(Value value, const Place &parameter) {
  Place &source = places[value];
  if (source.node < 0 || !costs)
    return;
  std::vector<int64_t> table;
  for (const Placement &from : source.placements)
    for (const Placement &to : parameter.placements)
      table.push_back(units(seconds(graph::tensorOf(value.getType()), from, to) /
                            (hasPartial(from) ? prices.microBatches : 1)));
  if (source.node != parameter.node)
    addEdge(source.node, parameter.node, std::move(table));
}

// --------------------------------------------------------------------------------------------- ops

// On an axis where every value has one placement.
int PlacementNetwork::follow(unsigned axis, Operation *op, const graph::OpRule &rule) const {
  return followOperands(op, rule, {mesh.sizes[axis]}, {}, [&](Value operand) {
    return places.find(operand)->second.placements.front()[axis];
  });
}

std::vector<OpSplit> PlacementNetwork::choicesOn(ArrayRef<unsigned> axes, Operation *op,
                                                 const graph::OpRule &rule) const {
  int64_t ranks = ranksOf(axes, mesh);
  std::vector<OpSplit> splits;
  auto add = [&](int choice) {
    splits.emplace_back(mesh.numAxes(), split::kNone);
    for (unsigned axis : axes)
      splits.back()[axis] = choice;
  };
  bool isTensor = llvm::equal(axes, tensorAxes);
  if (ranks == 1 || static_cast<int>(axes.front()) == dataAxis) {
    add(ranks == 1 ? split::kNone : follow(axes.front(), op, rule));
    return splits;
  }
  add(split::kNone);
  for (unsigned loop : loopsOn(axes, op, rule)) {
    add(static_cast<int>(loop));
    if (rule.loops[loop].size < ranks || !canSplit(rule, splits.back(), mesh.sizes))
      splits.pop_back();
  }
  if (rule.jointlyLinear)
    add(split::kPartial);
  if (isTensor && axes.size() > 1)
    addHeadChoices(op, rule, splits);
  bool isShared = splitsWeights && isTensor && rule.multiplies();
  if (isShared && splits.size() > 1)
    splits.erase(splits.begin()); // "none": no rank repeats a product
  return splits;
}

// Loops that are the axes' to split.
SmallVector<unsigned, 8> PlacementNetwork::loopsOn(ArrayRef<unsigned> axes, Operation *op,
                                                   const graph::OpRule &rule) const {
  SmallVector<unsigned, 8> loops;
  SmallVector<uint8_t, 8> bits = roles.ofLoops(op, rule);
  for (unsigned loop = 0; loop < rule.loops.size(); ++loop) {
    // A loop over a sequence whose tokens went through experts has the bit of samples, too.
    bool isOfExperts = bits[loop] & (ScalesWithExperts | ScalesWithCapacity);
    if (static_cast<int>(axes.front()) == expertAxis
            ? llvm::is_contained(rule.expertLoops, loop)
            : bits[loop] != ScalesWithBatch && !isOfExperts)
      loops.push_back(loop);
  }
  return loops;
}

// The outer axis splits heads, and the inner one something else: another loop, sums, or nothing.
void PlacementNetwork::addHeadChoices(Operation *op, const graph::OpRule &rule,
                                      std::vector<OpSplit> &splits) const {
  unsigned outer = tensorAxes.front(), inner = tensorAxes.back();
  bool repeats = !splitsWeights || !heads.splitsGroups() || !rule.multiplies();
  auto add = [&](int outerChoice, int innerChoice) {
    OpSplit split(mesh.numAxes(), split::kNone);
    split[outer] = outerChoice;
    split[inner] = innerChoice;
    auto fits = [&](unsigned axis) {
      return split[axis] < 0 || rule.loops[split[axis]].size >= mesh.sizes[axis];
    };
    if (fits(outer) && fits(inner) && canSplit(rule, split, mesh.sizes))
      splits.push_back(std::move(split));
  };
  for (unsigned head : heads.loopsOf(op)) {
    int loop = static_cast<int>(head);
    if (repeats)
      add(loop, split::kNone);
    for (unsigned other : loopsOn(tensorAxes, op, rule))
      if (other != head)
        add(loop, static_cast<int>(other));
    if (rule.jointlyLinear)
      add(loop, split::kPartial);
  }
  // Sums of ranks that ran the same product together.
  if (rule.jointlyLinear && (!splitsWeights || !heads.splitsGroups()))
    add(split::kPartial, split::kNone);
}

ArrayRef<OpSplits::Op> PlacementNetwork::toldOf(graph::FuncOp func) const {
  auto it = told->functions.find(func.getSymName().str());
  return it == told->functions.end() ? ArrayRef<OpSplits::Op>()
                                     : ArrayRef<OpSplits::Op>(it->second);
}

// What the plan says of the op; its ops come in the order of the function's.
FailureOr<OpSplit> PlacementNetwork::toldChoice(Operation *op) {
  auto func = cast<graph::FuncOp>(op->getParentOp());
  ArrayRef<OpSplits::Op> list = toldOf(func);
  size_t next = toldOps[func]++;
  StringRef name = op->getName().stripDialect();
  if (next < list.size() && list[next].name == name) {
    ArrayRef<int> choices = list[next].choices;
    if (choices.size() != 1 && choices.size() != tensorAxes.size())
      return op->emitOpError("is split over ")
             << choices.size() << " axes of tensor parallelism by the plan's op_splits, and there "
             << (tensorAxes.size() == 1 ? "is " : "are ") << tensorAxes.size()
             << "; plan this model again with 'dtc plan'";
    OpSplit split(mesh.numAxes(), split::kNone);
    for (auto [index, axis] : llvm::enumerate(tensorAxes))
      split[axis] = choices.size() == 1 ? choices.front() : choices[index];
    return split;
  }
  return op->emitOpError("is op ")
         << next << " of '@" << func.getSymName() << "', where the plan's op_splits have "
         << (next >= list.size() ? std::string("no more") : "'" + list[next].name + "'")
         << "; plan this model again with 'dtc plan'";
}

FailureOr<std::vector<OpSplit>> PlacementNetwork::choicesOf(Operation *op,
                                                            const graph::OpRule &rule) {
  if (op->hasAttr(kSplitsAttr)) { // decided already
    FailureOr<OpSplit> given = readSplit(op, rule, mesh);
    return failed(given) ? FailureOr<std::vector<OpSplit>>(failure())
                         : std::vector<OpSplit>{*given};
  }
  std::vector<OpSplit> splits{OpSplit(mesh.numAxes(), split::kNone)};
  for (ArrayRef<unsigned> axes : axesTogether()) {
    std::vector<OpSplit> choices;
    if (isTold() && llvm::equal(axes, tensorAxes)) {
      FailureOr<OpSplit> choice = toldOrFollowed(op, rule);
      if (failed(choice))
        return failure();
      choices = {*choice};
    } else {
      choices = choicesOn(axes, op, rule);
    }
    std::vector<OpSplit> longer;
    for (const OpSplit &split : splits)
      for (const OpSplit &choice : choices) {
        auto isTaken = [&](unsigned axis) {
          return choice[axis] >= 0 && llvm::is_contained(split, choice[axis]);
        };
        if (!isTold() && llvm::any_of(axes, isTaken))
          continue;
        longer.push_back(split);
        for (unsigned axis : axes)
          longer.back()[axis] = choice[axis];
      }
    splits = std::move(longer);
  }
  return splits;
}

// Scalars have no loop that a plan could name.
FailureOr<OpSplit> PlacementNetwork::toldOrFollowed(Operation *op, const graph::OpRule &rule) {
  if (!rule.loops.empty())
    return toldChoice(op);
  OpSplit split(mesh.numAxes(), split::kNone);
  for (unsigned axis : tensorAxes)
    split[axis] = follow(axis, op, rule);
  return split;
}

LogicalResult PlacementNetwork::addOp(Operation *op, graph::RuleOpInterface interface, Uses &uses) {
  graph::OpRule rule = interface.getRule();
  FailureOr<std::vector<OpSplit>> found = choicesOf(op, rule);
  if (failed(found))
    return failure();
  std::vector<OpSplit> splits = std::move(*found);
  if (isTold()) // what is told is checked before it is used
    for (const OpSplit &split : splits) {
      setSplit(op, split);
      if (failed(readSplit(op, rule, mesh)))
        return failure();
    }
  int node = addNode(splits.size());
  for (auto [value, split] : llvm::enumerate(splits))
    if (costs)
      addCost(node, value, secondsOfOp(op, rule, split, mesh, *costs));
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Place place{node, {}};
    for (const OpSplit &split : splits)
      place.placements.push_back(resultUnder(rule, index, split));
    places[result] = std::move(place);
  }
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Place need{node, {}};
    for (const OpSplit &split : splits)
      need.placements.push_back(operandUnder(rule, index, split));
    use(uses, operand, std::move(need));
  }
  ops[op] = {node, std::move(splits)};
  return success();
}

// ------------------------------------------------------------------------------- nodes and edges

double PlacementNetwork::seconds(Type type, const Placement &from, const Placement &to) const {
  if (!costs)
    return 0;
  bool mayScatter = !splitsWeights || sequenceParallel || tensorAxes.empty();
  if (!mayScatter && from[tensorAxes.front()].isPartial() && to[tensorAxes.front()].isShard())
    return kNever;
  return costs->moveSeconds(type, from, to);
}

// Values of a node often leave a tensor alike, so each pair of different placements is asked for once.
PlacementNetwork::MoveTable PlacementNetwork::tableOf(Type type, ArrayRef<Placement> from,
                                                      ArrayRef<Placement> to) const {
  MoveTable table;
  auto distinct = [](ArrayRef<Placement> all, std::vector<size_t> &indices) {
    SmallVector<const Placement *> found;
    for (const Placement &placement : all) {
      auto same = [&](const Placement *other) { return *other == placement; };
      auto it = llvm::find_if(found, same);
      indices.push_back(static_cast<size_t>(it - found.begin()));
      if (it == found.end())
        found.push_back(&placement);
    }
    return found;
  };
  SmallVector<const Placement *> sources = distinct(from, table.sources),
                                 targets = distinct(to, table.targets);
  table.width = targets.size();
  for (const Placement *source : sources)
    for (const Placement *target : targets)
      table.seconds.push_back(seconds(type, *source, *target));
  return table;
}

int PlacementNetwork::addNode(size_t values) {
  solver::ProblemNode node;
  node.costs.assign(values, 0);
  node.usages.assign(values, 0);
  network.nodes.push_back(std::move(node));
  return static_cast<int>(network.nodes.size()) - 1;
}

void PlacementNetwork::addCost(int node, size_t value, double cost) {
  int64_t &entry = network.nodes[static_cast<size_t>(node)].costs[value];
  entry = std::min(solver::kInfiniteCost, entry + units(cost));
}

void PlacementNetwork::addEdge(int a, int b, std::vector<int64_t> table) {
  if (llvm::all_of(table, [](int64_t cost) { return cost == 0; }))
    return;
  network.edges.push_back({a, b, static_cast<int32_t>(network.tables.size())});
  network.tables.push_back(std::move(table));
}

void PlacementNetwork::connectOne(Type type, const Place &source, const Place &need) {
  if (source.node < 0 || need.node < 0 || source.node == need.node) {
    int node = std::max(source.node, need.node);
    if (node < 0)
      return;
    for (size_t value = 0; value < network.nodes[static_cast<size_t>(node)].costs.size(); ++value)
      addCost(node, value,
              seconds(type, source.placements[source.node < 0 ? 0 : value],
                      need.placements[need.node < 0 ? 0 : value]));
    return;
  }
  MoveTable moves = tableOf(type, source.placements, need.placements);
  std::vector<int64_t> table;
  for (size_t from = 0; from < source.placements.size(); ++from)
    for (size_t to = 0; to < need.placements.size(); ++to)
      table.push_back(units(moves.at(from, to)));
  addEdge(source.node, need.node, std::move(table));
}

// `needs` of the source's own node are what it brings its tensor to itself.
void PlacementNetwork::connectThroughCopies(Type type, const Place &source, ArrayRef<Place> needs,
                                            ArrayRef<Placement> targets) {
  size_t sets = size_t(1) << targets.size();
  Place copies{addNode(sets), {}};
  auto has = [&](size_t set, const Placement &placement) {
    return set >> (llvm::find(targets, placement) - targets.begin()) & 1;
  };
  MoveTable moves = tableOf(type, source.placements, targets);
  // What the source's value `from` makes of each set: a sum over its targets, built from that of the
  // set without one of them.
  auto setCosts = [&](size_t from) {
    std::vector<double> sums(sets, 0);
    for (size_t set = 1; set < sets; ++set) {
      auto bit = static_cast<size_t>(llvm::countr_zero(set));
      sums[set] = sums[set & (set - 1)] + moves.at(from, bit);
    }
    for (const Place &need : needs)
      if (need.node == source.node && need.placements[from] != source.placements[from])
        for (size_t set = 0; set < sets; ++set)
          if (!has(set, need.placements[from]))
            sums[set] = kNever;
    return sums;
  };
  if (source.node < 0) {
    for (auto [set, cost] : llvm::enumerate(setCosts(0)))
      addCost(copies.node, set, cost);
  } else {
    std::vector<int64_t> table;
    for (size_t from = 0; from < source.placements.size(); ++from)
      for (double cost : setCosts(from))
        table.push_back(units(cost));
    addEdge(source.node, copies.node, std::move(table));
  }
  for (const Place &need : needs) {
    if (need.node == source.node)
      continue;
    std::vector<int64_t> table;
    for (size_t set = 0; set < sets; ++set)
      for (const Placement &placement : need.placements)
        table.push_back(has(set, placement) ? 0 : solver::kInfiniteCost);
    if (need.node >= 0)
      addEdge(copies.node, need.node, std::move(table));
    else
      for (size_t set = 0; set < sets; ++set)
        addCost(copies.node, set, has(set, need.placements[0]) ? 0 : kNever);
  }
}

void PlacementNetwork::connect(const Uses &uses) {
  if (!costs)
    return;
  for (const auto &[value, needs] : uses) {
    Type type = graph::tensorOf(value.getType());
    const Place source = places.lookup(value);
    SmallVector<Placement> targets;
    for (const Place &need : needs)
      for (auto [index, placement] : llvm::enumerate(need.placements)) {
        bool isThere = need.node == source.node && placement == source.placements[index];
        if (!isThere && !llvm::is_contained(targets, placement))
          targets.push_back(placement);
      }
    if (needs.size() > 1 && targets.size() <= kMostTargets)
      connectThroughCopies(type, source, needs, targets);
    else
      for (const Place &need : needs)
        connectOne(type, source, need);
  }
}

// ------------------------------------------------------------------------------------------ decode

PlacedStep PlacementNetwork::decode(ArrayRef<int32_t> choice) const {
  PlacedStep step;
  for (const auto &[op, entry] : ops)
    step.ops[op] = entry.second[static_cast<size_t>(choice[static_cast<size_t>(entry.first)])];
  for (const auto &[index, place] : classPlaces)
    for (graph::ParameterOp parameter : weights[index].parameters)
      step.parameters[parameter.getSymName().str()] = chosen(place, choice);
  auto choose = [&](const auto &from, auto &to) {
    for (const auto &[func, list] : from)
      for (const Place &place : list)
        to[func].push_back(chosen(place, choice));
  };
  choose(arguments, step.arguments);
  choose(results, step.results);
  // Gradients leave as they come but for splits that are not their parameter's.
  ModuleOp owner = module;
  auto microbatch = owner.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
  for (auto [index, placement] : llvm::enumerate(step.results[microbatch]))
    if (auto symbol =
            microbatch.getResultAttrOfType<FlatSymbolRefAttr>(index, graph::kGradientOfAttr)) {
      const Placement &parameter = step.parameters.at(symbol.getValue().str());
      for (auto [axis, wanted] : llvm::zip(placement, parameter))
        if (!axis.isPartial())
          axis = wanted;
    }
  return step;
}

} // namespace dtc
