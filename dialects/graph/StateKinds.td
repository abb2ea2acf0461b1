// The ways in which a state takes its next value. They are apart from the dialect, so that a new
// one does not rebuild all of the compiler.
#ifndef DTC_GRAPH_STATE_KINDS_TD
#define DTC_GRAPH_STATE_KINDS_TD

include "mlir/IR/EnumAttr.td"

def Graph_ObserveKind : I32EnumAttr<"ObserveKind", "which of a step's values a state takes", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Mean", 2, "mean">,
  I32EnumAttrCase<"Last", 3, "last">]> {
  let cppNamespace = "::dtc::graph";
}

#endif
