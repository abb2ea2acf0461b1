// How parameters are declared: their initial values, and the braces in the names of repeated ones.
#include "dialects/graph/Declaration.h"

using namespace mlir;
using namespace dtc::graph;

FailureOr<Initializer> dtc::graph::parseInitializer(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<InitKind> known = symbolizeInitKind(keyword);
  if (!known)
    return parser.emitError(loc) << "initialiser '" << keyword
                                 << "' is not known; write zeros, ones, constant(value) or "
                                    "normal(mean, stddev)";
  Initializer init{*known};
  bool isNormal = *known == InitKind::Normal;
  if (!isNormal && *known != InitKind::Constant)
    return init;
  if (parser.parseLParen() || parser.parseFloat(init.mean))
    return failure();
  if (isNormal && (parser.parseComma() || parser.parseFloat(init.stddev)))
    return failure();
  if (parser.parseRParen())
    return failure();
  return init;
}

void dtc::graph::printInitializer(AsmPrinter &printer, const Initializer &init) {
  printer << stringifyInitKind(init.kind);
  bool isNormal = init.kind == InitKind::Normal;
  if (!isNormal && init.kind != InitKind::Constant)
    return;
  printer << "(";
  printer.printFloat(APFloat(init.mean));
  if (isNormal) {
    printer << ", ";
    printer.printFloat(APFloat(init.stddev));
  }
  printer << ")";
}

size_t dtc::graph::countBraces(StringRef name) { return name.count("{}"); }

std::string dtc::graph::memberName(StringRef name, int64_t index) {
  if (countBraces(name) == 0)
    return name.str();
  auto [before, after] = name.split("{}");
  return before.str() + std::to_string(index) + after.str();
}
