// Emits the search by which a block of a merged kernel finds its piece.
#include "passes/codegen/MergedEntry.h"
#include "dialects/graph/ElementwiseOps.h"

#include "passes/codegen/MergedKernels.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace dtc;

namespace {

constexpr unsigned globalSpace = 1;

class MergedEntry {
public:
  MergedEntry(LLVM::LLVMFuncOp piece, int64_t elementBytes)
      : piece(piece), builder(piece), loc(piece.getLoc()), elementBytes(elementBytes),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())), i64(builder.getI64Type()) {}

  void emit() {
    std::string name = piece.getSymName().str();
    piece.setSymName(name + "_piece");
    piece.setLinkage(LLVM::Linkage::Internal);
    piece.setAlwaysInline(true);
    auto none = LLVM::LLVMVoidType::get(builder.getContext());
    entry = LLVM::LLVMFuncOp::create(builder, loc, name,
                                     LLVM::LLVMFunctionType::get(none, {pointer, pointer, i64}));
    // Marks the two tables as read only: the kernel does not write them.
    for (unsigned table : {0U, 1U})
      for (StringRef attribute :
           {LLVM::LLVMDialect::getNoAliasAttrName(), LLVM::LLVMDialect::getReadonlyAttrName()})
        entry.setArgAttr(table, attribute, builder.getUnitAttr());
    entry->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    entry->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                   builder.getDenseI32ArrayAttr({static_cast<int32_t>(mergedThreads)}));
    emitBody();
  }

private:
  void emitBody() {
    Block *begin = entry.addEntryBlock(builder);
    Block *search = addBlock(2), *halve = addBlock(0), *found = addBlock(0), *work = addBlock(0),
          *end = addBlock(0);
    builder.setInsertionPointToStart(begin);
    Value firsts = begin->getArgument(0), records = begin->getArgument(1);
    Value block = blockNumber();
    LLVM::BrOp::create(builder, loc, ValueRange{constant(0), begin->getArgument(2)}, search);

    // Searches pieces [low, high) for the last one that begins at or before this block.
    Value low = search->getArgument(0), high = search->getArgument(1);
    builder.setInsertionPointToStart(search);
    Value isOne = compare(LLVM::ICmpPredicate::ult, add(low, constant(1)), high);
    LLVM::CondBrOp::create(builder, loc, isOne, halve, found);
    builder.setInsertionPointToStart(halve);
    Value middle = LLVM::LShrOp::create(builder, loc, add(low, high), constant(1));
    Value isAfter =
        compare(LLVM::ICmpPredicate::ugt, load(i64, at(firsts, middle), /*bytes=*/8), block);
    Value nextLow = LLVM::SelectOp::create(builder, loc, isAfter, low, middle);
    Value nextHigh = LLVM::SelectOp::create(builder, loc, isAfter, middle, high);
    LLVM::BrOp::create(builder, loc, ValueRange{nextLow, nextHigh}, search);

    // Ends blocks past the last piece.
    builder.setInsertionPointToStart(found);
    unsigned numBuffers = piece.getNumArguments() - 2;
    Value record = at(records, mul(low, constant(1 + numBuffers)));
    Value bytes = load(i64, record, /*bytes=*/8);
    Value size = LLVM::UDivOp::create(builder, loc, bytes, constant(elementBytes));
    Value number = LLVM::SubOp::create(builder, loc, block, load(i64, at(firsts, low), 8));
    Value begins = mul(number, constant(mergedPoints));
    LLVM::CondBrOp::create(builder, loc, compare(LLVM::ICmpPredicate::ult, begins, size), work,
                           end);
    builder.setInsertionPointToStart(work);
    SmallVector<Value> arguments;
    for (unsigned i = 0; i < numBuffers; ++i)
      arguments.push_back(loadBuffer(at(record, constant(1 + i))));
    arguments.append({number, size});
    LLVM::CallOp::create(builder, loc, piece, arguments);
    LLVM::BrOp::create(builder, loc, ValueRange(), end);
    builder.setInsertionPointToStart(end);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
  }

  Block *addBlock(unsigned numbers) {
    Block *block = builder.createBlock(&entry.getBody(), entry.getBody().end());
    for (unsigned i = 0; i < numbers; ++i)
      block->addArgument(i64, loc);
    return block;
  }

  Value constant(int64_t value) { return LLVM::ConstantOp::create(builder, loc, i64, value); }
  Value add(Value a, Value b) { return LLVM::AddOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return LLVM::MulOp::create(builder, loc, a, b); }
  Value compare(LLVM::ICmpPredicate how, Value a, Value b) {
    return LLVM::ICmpOp::create(builder, loc, how, a, b);
  }
  // Returns the address of word `index` in an array of 8-byte words.
  Value at(Value array, Value index) {
    return LLVM::GEPOp::create(builder, loc, pointer, i64, array, LLVM::GEPArg(index));
  }
  Value load(Type type, Value address, unsigned bytes) {
    return LLVM::LoadOp::create(builder, loc, type, address, bytes);
  }
  // Loads a buffer's address. All buffers are in global memory, as those of the original kernels.
  Value loadBuffer(Value address) {
    Type global = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
    return LLVM::AddrSpaceCastOp::create(builder, loc, pointer, load(global, address, 8));
  }

  template <typename Register> Value special() {
    Value word = Register::create(builder, loc, builder.getI32Type());
    return LLVM::ZExtOp::create(builder, loc, i64, word);
  }
  // Returns the number of the block: (z * size of y + y) * size of x + x.
  Value blockNumber() {
    Value row = add(mul(special<NVVM::BlockIdZOp>(), special<NVVM::GridDimYOp>()),
                    special<NVVM::BlockIdYOp>());
    return add(mul(row, special<NVVM::GridDimXOp>()), special<NVVM::BlockIdXOp>());
  }

  LLVM::LLVMFuncOp piece, entry;
  OpBuilder builder;
  Location loc;
  int64_t elementBytes;
  Type pointer, i64;
};

} // namespace

void dtc::addMergedEntry(LLVM::LLVMFuncOp piece) {
  auto bytes = piece->getAttrOfType<IntegerAttr>(mergedElementName);
  piece->removeAttr(mergedElementName);
  MergedEntry(piece, bytes.getInt()).emit();
}
