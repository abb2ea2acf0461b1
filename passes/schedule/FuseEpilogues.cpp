// Moves epilogues of kernels into the matrix products before them (pass dtc-fuse-epilogues).
#include "dialects/graph/Epilogue.h"
#include "passes/schedule/Dependences.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace dtc {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {

// A bias begins at a multiple of this, where cuBLASLt reads it by vectors.
constexpr int64_t kVectorBytes = 16;

bool isNarrow(Type type) { return type.isBF16() || type.isF16(); }

// True if cuBLASLt is documented to support GELU, its derivative and biases for the matrix product.
bool hasEpilogues(exec::GemmOp gemm) {
  Type type = exec::getDtype(gemm.getC());
  return isNarrow(type) && exec::getDtype(gemm.getA()) == type &&
         graph::hasVectorRows(gemm.getSizes()[1], gemm.getStrides());
}

// True for buffers of parameters, which are aligned; gathered ones may begin anywhere.
bool isAligned(Value bias) {
  exec::BufferRange range = exec::getRange(bias);
  return getRootOp(bias).getPersistent() && range.offset % kVectorBytes == 0;
}

bool isWhole(Value buffer) {
  exec::BufferRange range = exec::getRange(buffer);
  return range.offset == 0 && range.bytes == static_cast<int64_t>(getRootOp(buffer).getBytes());
}

// A matrix product whose result is read by one launch alone.
struct Candidate {
  exec::GemmOp gemm;
  exec::LaunchOp launch;
  unsigned operand; // the operand of the launch that is the result of the matrix product

  static std::optional<Candidate> of(exec::GemmOp gemm);
  // True if the matrix product may move to the place of the launch.
  bool canMove() const;
};

std::optional<Candidate> Candidate::of(exec::GemmOp gemm) {
  Value c = gemm.getC();
  exec::BufferOp root = getRootOp(c);
  if (gemm.getBatch() != 1 || gemm.accumulates() || gemm.hasEpilogue() || !isWhole(c) ||
      root.getPersistent() || root.getCarried() || gemm.getStrides()[2] != gemm.getSizes()[1])
    return std::nullopt;
  SmallVector<exec::InstructionOpInterface> accesses = getAccesses(root);
  if (accesses.size() != 2 || accesses[0] != gemm || accesses[1]->getBlock() != gemm->getBlock())
    return std::nullopt;
  auto launch = dyn_cast<exec::LaunchOp>(accesses[1].getOperation());
  if (!launch || launch.getScalars() || launch.runsLastOnly() != gemm.runsLastOnly() ||
      launch.getStream() != gemm.getStream() ||
      llvm::any_of(launch.getShares().value_or(ArrayRef<int64_t>()),
                   [](int64_t axes) { return axes != 0; }))
    return std::nullopt;
  std::optional<unsigned> operand;
  for (auto [index, input] : llvm::enumerate(launch.getInputs()))
    if (exec::getRange(input).root == c) {
      if (operand || !isWhole(input))
        return std::nullopt;
      operand = static_cast<unsigned>(index);
    }
  if (!operand)
    return std::nullopt;
  return Candidate{gemm, launch, *operand};
}

bool Candidate::canMove() const {
  for (Operation *op = gemm->getNextNode(); op != launch; op = op->getNextNode())
    if (auto between = dyn_cast<exec::InstructionOpInterface>(op);
        between && conflict(gemm, between))
      return false;
  return true;
}

struct FuseEpilogues : dtc::impl::FuseEpiloguesBase<FuseEpilogues> {
  void runOnOperation() override {
    symbols.emplace(getOperation());
    auto programs = llvm::to_vector(getOperation().getOps<exec::ProgramOp>());
    for (exec::ProgramOp program : programs)
      for (exec::GemmOp gemm : getInstructionsOf<exec::GemmOp>(program))
        if (std::optional<Candidate> candidate = Candidate::of(gemm))
          fused += fuse(*candidate);
    dropUnused(programs);
  }

  bool fuse(const Candidate &candidate) {
    auto [gemm, launch, operand] = candidate;
    auto kernel = symbols->lookup<graph::FuncOp>(launch.getKernel());
    if (!kernel)
      return false;
    auto epilogue = readEpilogue(kernel, operand, gemm.getSizes()[1]);
    if (!epilogue || !canHave(candidate, *epilogue) || !candidate.canMove())
      return false;
    auto input = [&](Value argument) { return inputOf(launch, argument); };
    auto output = [&](Value result) { return outputOf(launch, kernel, result); };
    Value geluInput = epilogue->gelu ? output(epilogue->sum) : Value();
    OpBuilder builder(launch);
    auto fusedGemm = exec::GemmOp::create(
        builder, builder.getFusedLoc({gemm.getLoc(), launch.getLoc()}), gemm.getA(), gemm.getB(),
        input(epilogue->addend), input(epilogue->bias), input(epilogue->geluOf),
        output(epilogue->main()), geluInput, gemm.getTransA(), gemm.getTransB(), gemm.getSizes(),
        gemm.getStrides(), gemm.getAlpha(), gemm.getBeta(), gemm.getBatch(), gemm.getBatchStrides(),
        epilogue->gelu, gemm.getStream(), gemm.getLast(),
        /*starts_sum=*/false);
    fusedGemm->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
    launched.insert(launch.getKernelAttr().getAttr());
    Operation *unused = getRootOp(gemm.getC());
    launch.erase();
    gemm.erase();
    for (Operation *user : llvm::make_early_inc_range(unused->getUsers()))
      if (user->use_empty())
        user->erase(); // erases a view
    if (unused->use_empty())
      unused->erase();
    return true;
  }

  // Reads the epilogue that a kernel applies to its operand `product`.
  static std::optional<graph::Epilogue> readEpilogue(graph::FuncOp kernel, unsigned product,
                                                     int64_t columns) {
    Block &body = kernel.getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    auto epilogue = graph::readEpilogue(body.getArgument(product), columns, ops);
    // Each buffer that the kernel writes needs a result of the product of its own.
    auto returned = body.getTerminator()->getOperands();
    auto isReturned = [&](Value value) { return value && llvm::is_contained(returned, value); };
    if (epilogue && returned.size() != static_cast<size_t>(isReturned(epilogue->sum)) +
                                           static_cast<size_t>(isReturned(epilogue->result)))
      return std::nullopt;
    return epilogue;
  }

  // Returns the buffer that the kernel reads as `argument`; null for null.
  static Value inputOf(exec::LaunchOp launch, Value argument) {
    return argument ? launch.getInputs()[cast<BlockArgument>(argument).getArgNumber()] : Value();
  }

  // Returns the buffer to which the kernel writes `result`; null if it does not return it.
  static Value outputOf(exec::LaunchOp launch, graph::FuncOp kernel, Value result) {
    for (auto [value, buffer] : llvm::zip_equal(
             kernel.getBody().front().getTerminator()->getOperands(), launch.getOutputs()))
      if (value == result)
        return buffer;
    return Value();
  }

  static bool canHave(const Candidate &candidate, const graph::Epilogue &epilogue) {
    auto [gemm, launch, operand] = candidate;
    if (epilogue.isOfLibrary() && !hasEpilogues(gemm))
      return false;
    if (epilogue.bias && !isAligned(inputOf(launch, epilogue.bias)))
      return false;
    // All buffers must have the type of c, and written buffers must have no other access.
    Type type = exec::getDtype(gemm.getC());
    SmallVector<Value> written(launch.getOutputs());
    SmallVector<Value> read(launch.getInputs());
    read.append({gemm.getA(), gemm.getB()});
    for (auto [index, out] : llvm::enumerate(written)) {
      if (exec::getDtype(out) != type)
        return false;
      SmallVector<Value> others = read;
      llvm::append_range(others, ArrayRef(written).drop_front(index + 1));
      for (Value other : others)
        if (exec::getRange(out).overlaps(exec::getRange(other)))
          return false;
    }
    return llvm::all_of(launch.getInputs(), [&](Value in) { return exec::getDtype(in) == type; });
  }

  // Erases the kernels that are no longer launched.
  void dropUnused(ArrayRef<exec::ProgramOp> programs) {
    for (exec::ProgramOp program : programs)
      for (exec::LaunchOp launch : getInstructionsOf<exec::LaunchOp>(program))
        launched.remove(launch.getKernelAttr().getAttr());
    for (exec::ProgramOp program : programs)
      for (auto kernel : llvm::make_early_inc_range(program.getBody().getOps<exec::KernelOp>()))
        if (launched.contains(kernel.getSymNameAttr()))
          kernel.erase();
    for (StringAttr name : launched)
      symbols->erase(symbols->lookup(name));
  }

  std::optional<SymbolTable> symbols;
  llvm::SetVector<StringAttr> launched; // kernels with a removed launch
};
} // namespace
