// The forms in which the states of one parameter are stored.
#pragma once

#include "dialects/graph/StateType.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace dtc {

// A tensor that is kept between steps beside a parameter.
struct StoredTensor {
  std::string suffix; // of its name, behind that of the parameter: "exp_avg"
  mlir::RankedTensorType type;
  int64_t block = 0; // elements along the last dim that share a number of it; 0: none do
};

// The key of the random numbers by which states are rounded.
struct StateKey {
  mlir::Value seed, step; // scalars
  int64_t stream = 0;     // that of this parameter, whatever the plan
};

// The tensors that store the states of a parameter. Updates compute with states in f32.
//
// In Int8 the update is computed with a further dim: the last dim of the parameter is split in
// blocks, which share a scale, and the elements of a block, which are the largest power of two up
// to kStateBlock that divides the dim. Parameters without dims keep f32; so do, in Int8, parameters
// of fewer than kLeastStateElements elements or of less than two dims, and those whose blocks would
// have fewer than kLeastStateBlock elements.
class StateForm {
public:
  // `parameter` is the type of the parameter in f32, `names` those of its states.
  StateForm(StateType wanted, mlir::RankedTensorType parameter,
            llvm::ArrayRef<llvm::StringRef> names);

  // Returns the tensors, in the order in which `read` takes and `write` returns them.
  llvm::ArrayRef<StoredTensor> tensors() const { return stored; }
  // Returns true if `write` draws random numbers.
  bool isRounded() const { return form != StateType::F32; }

  // Returns a value of the parameter's shape in the shape that the update computes with.
  mlir::Value inBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) const;
  // Returns such a value in the parameter's shape again.
  mlir::Value whole(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) const;
  // Returns the states in f32.
  llvm::SmallVector<mlir::Value> read(mlir::OpBuilder &builder, mlir::Location loc,
                                      mlir::ValueRange tensors) const;
  // Returns the tensors of the states in f32. States that can be stored as they are stay so: what
  // was read is written to the same bits.
  llvm::SmallVector<mlir::Value> write(mlir::OpBuilder &builder, mlir::Location loc,
                                       mlir::ValueRange states, const StateKey &key) const;

private:
  // Returns the parameter's shape with its last dim in blocks, of each of which `last` are there.
  mlir::RankedTensorType inBlocksOf(mlir::Type element, int64_t last) const;

  StateType form;
  int64_t block = 0; // elements of a block in Int8
  mlir::RankedTensorType parameter;
  llvm::SmallVector<StoredTensor> stored;
};

} // namespace dtc
