// The formats of floats in 8 bits. They are apart from the dialect, so that a new one does not
// rebuild all of the compiler.
#ifndef DTC_GRAPH_EIGHT_BIT_FORMATS_TD
#define DTC_GRAPH_EIGHT_BIT_FORMATS_TD

include "mlir/IR/EnumAttr.td"

def Graph_EightBitFormat : I32EnumAttr<"EightBitFormat", "a format of floats in 8 bits", [
  I32EnumAttrCase<"E4M3", 0, "e4m3">, I32EnumAttrCase<"E5M2", 1, "e5m2">]> {
  let cppNamespace = "::dtc::graph";
}

#endif
