// Stores the states of optimizers in f32, in bf16 or in codes of 8 bits.
#include "passes/graph/StateForm.h"

#include "dialects/graph/PointOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StoredOps.h"

#include <numeric>

using namespace mlir;

namespace dtc {
namespace {

// Returns the elements of a block of a parameter, or 0 if its state is not in 8 bits.
int64_t blockOf(RankedTensorType parameter) {
  if (parameter.getRank() < 2 || parameter.getNumElements() < kLeastStateElements)
    return 0;
  int64_t block = std::gcd(parameter.getShape().back(), kStateBlock);
  return block >= kLeastStateBlock ? block : 0;
}

// Returns the form in which the states of a parameter are stored where `wanted` is asked for.
StateType formOf(StateType wanted, RankedTensorType parameter) {
  switch (wanted) {
  case StateType::F32:
    return wanted;
  case StateType::BF16:
    return parameter.getRank() > 0 ? wanted : StateType::F32;
  case StateType::Int8:
    return blockOf(parameter) > 0 ? wanted : StateType::F32;
  }
  llvm_unreachable("all forms are there");
}

Value reshaped(OpBuilder &builder, Location loc, Value value, RankedTensorType type) {
  return value.getType() == type ? value
                                 : graph::ReshapeOp::create(builder, loc, type, value).getResult();
}

} // namespace

StateForm::StateForm(StateType wanted, RankedTensorType parameter, ArrayRef<StringRef> names)
    : form(formOf(wanted, parameter)), parameter(parameter) {
  Builder builder(parameter.getContext());
  Type element = form == StateType::F32    ? Type(builder.getF32Type())
                 : form == StateType::BF16 ? Type(builder.getBF16Type())
                                           : Type(builder.getI8Type());
  for (StringRef name : names)
    stored.push_back({name.str(), parameter.clone(element)});
  if (form != StateType::Int8)
    return;
  block = blockOf(parameter);
  SmallVector<int64_t> shape(parameter.getShape());
  shape.back() /= block;
  for (StringRef name : names)
    stored.push_back(
        {name.str() + "_largest", RankedTensorType::get(shape, builder.getF32Type()), block});
}

RankedTensorType StateForm::inBlocksOf(Type element, int64_t last) const {
  SmallVector<int64_t> shape(parameter.getShape());
  shape.back() /= block;
  shape.push_back(last);
  return RankedTensorType::get(shape, element);
}

Value StateForm::inBlocks(OpBuilder &builder, Location loc, Value value) const {
  return form == StateType::Int8
             ? reshaped(builder, loc, value, inBlocksOf(builder.getF32Type(), block))
             : value;
}

Value StateForm::whole(OpBuilder &builder, Location loc, Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  return reshaped(builder, loc, value,
                  RankedTensorType::get(parameter.getShape(), type.getElementType()));
}

SmallVector<Value> StateForm::read(OpBuilder &builder, Location loc, ValueRange tensors) const {
  switch (form) {
  case StateType::F32:
    return SmallVector<Value>(tensors);
  case StateType::BF16:
    return llvm::map_to_vector(tensors, [&](Value tensor) -> Value {
      return graph::CastOp::create(builder, loc, parameter, tensor);
    });
  case StateType::Int8:
    break;
  }
  RankedTensorType moments = inBlocksOf(builder.getF32Type(), block),
                   codes = inBlocksOf(builder.getI8Type(), block),
                   largest = inBlocksOf(builder.getF32Type(), 1);
  return llvm::to_vector_of<Value>(
      graph::DecodeMomentsOp::create(
          builder, loc, moments, moments, reshaped(builder, loc, tensors[0], codes),
          reshaped(builder, loc, tensors[1], codes), reshaped(builder, loc, tensors[2], largest),
          reshaped(builder, loc, tensors[3], largest))
          ->getResults());
}

SmallVector<Value> StateForm::write(OpBuilder &builder, Location loc, ValueRange states,
                                    const StateKey &key) const {
  IntegerAttr stream = builder.getI64IntegerAttr(key.stream);
  if (form == StateType::F32)
    return SmallVector<Value>(states);
  if (form == StateType::BF16) {
    SmallVector<Type> types(states.size(),
                            RankedTensorType::get(parameter.getShape(), builder.getBF16Type()));
    return llvm::to_vector_of<Value>(
        graph::RoundRandomlyOp::create(builder, loc, types, states, key.seed, key.step, stream,
                                       DenseI64ArrayAttr(), ArrayAttr())
            ->getResults());
  }
  auto moments = cast<RankedTensorType>(states.front().getType());
  RankedTensorType ofBlocks = inBlocksOf(builder.getF32Type(), 1),
                   codes = inBlocksOf(builder.getI8Type(), block);
  RankedTensorType largestType = stored.back().type;
  SmallVector<Value> largest, inBlocks;
  for (auto [index, state] : llvm::enumerate(states)) {
    Value magnitude = state;
    if (index == 0) // the second moment is never below 0
      magnitude = graph::PointOp::create(builder, loc, moments, state, graph::PointFunction::Abs,
                                         builder.getDenseF64ArrayAttr({}));
    largest.push_back(graph::ReduceOp::create(builder, loc, largestType, magnitude,
                                              graph::ReduceKind::Max,
                                              ArrayRef<int64_t>{moments.getRank() - 1}));
    inBlocks.push_back(reshaped(builder, loc, largest.back(), ofBlocks));
  }
  auto encoded = graph::EncodeMomentsOp::create(builder, loc, codes, codes, states[0], states[1],
                                                inBlocks[0], inBlocks[1], key.seed, key.step,
                                                stream, DenseI64ArrayAttr(), ArrayAttr());
  return {whole(builder, loc, encoded.getCodes()), whole(builder, loc, encoded.getCodesSq()),
          largest[0], largest[1]};
}

} // namespace dtc
