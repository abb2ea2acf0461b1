// Reads the module's kind of context parallelism.
#include "dialects/graph/Context.h"

using namespace mlir;

namespace dtc::graph {

std::optional<KeyTravel> keyTravelFrom(StringRef word) {
  for (KeyTravel travel : {KeyTravel::Gather, KeyTravel::Ring})
    if (word == toString(travel))
      return travel;
  return std::nullopt;
}

StringRef toString(KeyTravel travel) {
  switch (travel) {
  case KeyTravel::Gather:
    return "gather";
  case KeyTravel::Ring:
    return "ring";
  }
  llvm_unreachable("all kinds have a word");
}

std::optional<KeyTravel> keyTravelOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto word = module ? module->getAttrOfType<StringAttr>(kKeyTravelAttr) : StringAttr();
  return word ? keyTravelFrom(word.getValue()) : std::nullopt;
}

} // namespace dtc::graph
