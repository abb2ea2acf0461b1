// Reads the shape of a transformer off its forward pass.
#include "compiler/price/workload/Architecture.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RouteOps.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace dtc {
namespace {

int64_t sizeOf(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  if (dim < 0)
    dim += type.getRank();
  return dim >= 0 && dim < type.getRank() && !type.isDynamicDim(static_cast<unsigned>(dim))
             ? type.getDimSize(dim)
             : 0;
}

int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

// The base whose powers the frequencies of a table are, or -1. Where the short form was written out
// it is computed from them, to 9 digits.
double baseOf(graph::RotaryTableOp table) {
  if (table.getBase())
    return table.getBase()->convertToDouble();
  auto frequencies = table.getInverseFrequencies();
  if (!frequencies || frequencies->size() < 2 || (*frequencies)[1] <= 0)
    return -1;
  auto count = static_cast<double>(frequencies->size());
  double base = std::pow(1 / (*frequencies)[1], count), whole = std::round(base);
  if (std::abs(base - whole) < 1e-9 * base)
    base = whole;
  for (auto [index, frequency] : llvm::enumerate(*frequencies))
    if (std::abs(std::pow(base, -static_cast<double>(index) / count) / frequency - 1) > 1e-6)
      return -1;
  return base;
}

// Returns whether a bias is added, by the op itself or, where its short form was written out,
// behind it.
bool addsBias(graph::LinearOp linear) {
  auto isBias = [&](Operation *user) {
    return isa<graph::AddOp>(user) && llvm::any_of(user->getOperands(), [&](Value operand) {
             return rankOf(operand) < rankOf(linear.getResult());
           });
  };
  return linear.getBias() || llvm::any_of(linear.getResult().getUsers(), isBias);
}

class Reader {
public:
  explicit Reader(ModuleOp module) : module(module) {}

  ModelArchitecture read() {
    auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    for (auto func : module.getOps<graph::FuncOp>())
      for (Operation &op : func.getBody().front())
        readOp(op, func == loss);
    llvm::StringSet<> blocks;
    for (auto call : loss.getBody().getOps<graph::BlockCallOpInterface>())
      blocks.insert(call.getBlockName());
    readEmbeddingAndHead(loss);
    out.biases = linears > 0 && biased == linears;
    out.qkvBiases = qkvLinears > 0 && qkvBiased == qkvLinears;
    bool isMixed = (biased > 0 && biased < linears) || (qkvBiased > 0 && qkvBiased < qkvLinears);
    // No flags say all of stretched rotary embedding. Modules that predict later tokens have losses
    // of their own, and no flags say where their layer is counted.
    bool hasOneLoss = llvm::range_size(loss.getBody().getOps<graph::CrossEntropyOp>()) == 1;
    out.isWhole = hasEqualBlocks && hasOneLoss && out.rotaryBase >= 0 && !isMixed &&
                  blocks.size() == 1 && out.heads > 0 && out.inner > 0 && out.vocabulary > 0 &&
                  !out.norm.empty() && !out.activation.empty();
    return out;
  }

private:
  // Ranks have to divide the sizes of all layers, also where these differ.
  void divide(int64_t &size, int64_t value) {
    hasEqualBlocks &= size == 0 || size == value;
    size = std::gcd(size, value);
  }
  template <typename T> void agree(T &known, const T &value) {
    hasEqualBlocks &= known == T() || known == value;
    if (known == T())
      known = value;
  }

  void readOp(Operation &op, bool isInLoss) {
    if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
      divide(out.heads, sizeOf(attention.getQ(), 2));
      agree(out.headDim, sizeOf(attention.getQ(), 3));
      divide(out.kvHeads, sizeOf(attention.getK(), 2));
      out.attentionDropout =
          std::max(out.attentionDropout, attention.getDropout().convertToDouble());
      agree(out.window, static_cast<int64_t>(attention.getSliding().value_or(0)));
      hasEqualBlocks &= attention.getCausal() && !attention.getSoftCap() && !attention.getSinks() &&
                        !attention.getPrefix() && !attention.getLengths() &&
                        !attention.getDocuments() && !attention.getBias() &&
                        !attention.getSlopes() && !attention.getStarts() &&
                        sizeOf(attention.getV(), 3) == sizeOf(attention.getQ(), 3);
    } else if (auto norm = dyn_cast<graph::RmsNormOp>(op)) {
      agree(out.norm, std::string("rms"));
      agree(out.epsilon, norm.getEpsilon().convertToDouble());
    } else if (auto norm = dyn_cast<graph::LayerNormOp>(op)) {
      agree(out.norm, std::string("layer"));
      agree(out.epsilon, norm.getEpsilon().convertToDouble());
    } else if (auto table = dyn_cast<graph::RotaryTableOp>(op)) {
      agree(out.rotaryBase, baseOf(table));
      if (table.getFactor())
        agree(out.rotaryFactor, table.getFactor()->convertToDouble());
    } else if (auto router = dyn_cast<graph::MoeRouterOp>(op)) {
      agree(out.experts, sizeOf(router.getLogits(), 2));
      agree(out.expertsOfToken, static_cast<int64_t>(router.getTop()));
    } else if (auto router = dyn_cast<graph::RouteTokensOp>(op)) {
      agree(out.experts, sizeOf(router.getLogits(), 2));
      agree(out.expertsOfToken, static_cast<int64_t>(router.getTop()));
    } else if (auto dispatch = dyn_cast<graph::MoeDispatchOp>(op)) {
      agree(out.capacity, dispatch.getCapacity().convertToDouble());
    } else if (auto dropout = dyn_cast<graph::DropoutOp>(op)) {
      out.dropout = std::max(out.dropout, dropout.getP().convertToDouble());
    } else if (auto linear = dyn_cast<graph::LinearOp>(op)) {
      if (!isInLoss)
        readLinear(linear);
    } else {
      readActivation(op);
    }
  }

  // Queries, keys and values have heads in dims of their own; a router has no bias in any model.
  void readLinear(graph::LinearOp linear) {
    bool isRouter = llvm::any_of(linear.getResult().getUsers(), [](Operation *user) {
      return isa<graph::MoeRouterOp, graph::RouteTokensOp>(user);
    });
    if (isRouter)
      return;
    bool makesHeads = rankOf(linear.getResult()) > 3, hasBias = addsBias(linear);
    ++(makesHeads ? qkvLinears : linears);
    (makesHeads ? qkvBiased : biased) += hasBias;
  }

  void readActivation(Operation &op) {
    std::string name;
    if (isa<graph::SiluOp>(op)) {
      bool isGate = llvm::any_of(op.getResult(0).getUsers(),
                                 [](Operation *user) { return isa<graph::MultiplyOp>(user); });
      name = isGate ? "swiglu" : "silu";
    } else if (auto gelu = dyn_cast<graph::GeluOp>(op)) {
      name = gelu.getKind() == graph::GeluKind::Tanh ? "gelu_tanh" : "gelu";
    } else if (op.getName().getStringRef() == "graph.relu") {
      name = "relu";
    } else {
      return;
    }
    agree(out.activation, name);
    divide(out.inner, sizeOf(op.getOperand(0), -1));
  }

  // The embedding in front of the layers and the output layer behind them.
  void readEmbeddingAndHead(graph::FuncOp loss) {
    StringRef table;
    for (auto embedding : loss.getBody().getOps<graph::EmbeddingOp>()) {
      agree(out.vocabulary, sizeOf(embedding.getTable(), 0));
      agree(out.hidden, sizeOf(embedding.getTable(), 1));
      if (auto get = embedding.getTable().getDefiningOp<graph::GetOp>())
        table = get.getSymbol();
    }
    for (auto linear : loss.getBody().getOps<graph::LinearOp>())
      if (auto get = linear.getWeight().getDefiningOp<graph::GetOp>())
        out.tied |= !table.empty() && get.getSymbol() == table;
    for (auto add : loss.getBody().getOps<graph::AddOp>())
      for (Value operand : add->getOperands())
        if (operand.getDefiningOp<graph::GetOp>() && rankOf(operand) == 2 &&
            sizeOf(operand, 1) == out.hidden)
          out.learnedPositions = sizeOf(operand, 0);
  }

  ModuleOp module;
  ModelArchitecture out;
  bool hasEqualBlocks = true;
  int64_t linears = 0, biased = 0, qkvLinears = 0, qkvBiased = 0;
};

} // namespace

ModelArchitecture readArchitecture(ModuleOp module) { return Reader(module).read(); }

} // namespace dtc
