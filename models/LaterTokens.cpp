// Builds what the prediction of tokens behind the next one needs beside its layers: shifted tokens,
// and the losses.
#include "dialects/graph/NnOps.h"
#include "models/ModelBuilder.h"

#include <utility>

using namespace mlir;

namespace dtc {

Value ModelBuilder::shiftLeft(Value ids, int64_t by) {
  SmallVector<std::string> wanted = std::exchange(names, {});
  Value numbers = as("id_numbers").castTo(ids, /*isInteger=*/false);
  numbers = as("id_numbers_cut").slice(numbers, 1, by, sequence - by);
  numbers = as("id_numbers_shifted").pad(numbers, 1, 0, by);
  names = std::move(wanted);
  return castTo(numbers, /*isInteger=*/true);
}

Value ModelBuilder::meanWithLater(Value logits, ValueRange later, Value targets, double factor) {
  std::string name = names.empty() ? "loss" : names.front();
  auto lossesOf = [&](StringRef of, Value rows, Value labels) -> Value {
    return as(of)
        .make<graph::CrossEntropyOp>(batched({sequence}), Type(), rows, labels,
                                     builder.getI64IntegerAttr(kIgnoredTarget), UnitAttr())
        .getLoss();
  };
  Value sum = lossesOf("token_losses", logits, targets);
  double share = factor / static_cast<double>(later.size());
  for (auto [index, of] : llvm::enumerate(later)) {
    auto by = static_cast<int64_t>(index) + 1;
    Value labels = as("later_targets").shiftLeft(targets, by);
    // Each loss goes to the place of its target, whose weight says whether it counts.
    Value losses = lossesOf("later_losses", of, labels);
    losses = as("later_losses_cut").slice(losses, 1, 0, sequence - by);
    losses = as("later_losses_placed").pad(losses, 1, by, 0);
    losses = as("later_losses_scaled")
                 .scale(losses,
                        share * static_cast<double>(sequence) / static_cast<double>(sequence - by));
    sum = as("token_losses_and_later").add(sum, losses);
  }
  Value counted = as("counted").make<graph::CountedOp>(sum.getType(), targets,
                                                       static_cast<uint64_t>(kIgnoredTarget));
  return as(name).make<graph::WeightedMeanOp>(tensor({}), sum, counted);
}

} // namespace dtc
