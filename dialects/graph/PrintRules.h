// Registers the pass that prints rules.
#pragma once

namespace dtc::graph {

// Registers dtc-print-rules: a remark with its rule at every op that has one.
void registerPrintRulesPass();

} // namespace dtc::graph
