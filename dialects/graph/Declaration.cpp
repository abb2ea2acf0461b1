// Implements declarations of parameters: initial values, and braces in the names of repeated
// parameters.
#include "dialects/graph/Declaration.h"

#include "llvm/ADT/StringExtras.h"

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

namespace {

struct Braces {
  StringRef before, after;
  int64_t first = 0, step = 1;

  // Returns the text of the braces that count from `number`, by the same step.
  std::string from(int64_t number) const {
    std::string counted = step == 1 ? "" : ":" + std::to_string(step);
    return (before + "{" + Twine(number) + counted + "}" + after).str();
  }
};

// Removes digits from the front of `text` and stores their number. Returns false if there are too
// many; without digits the number stays.
bool takeNumber(StringRef &text, int64_t &number) {
  constexpr size_t mostDigits = 9;
  StringRef digits = text.take_while(llvm::isDigit);
  text = text.drop_front(digits.size());
  return digits.size() <= mostDigits && (digits.empty() || !digits.getAsInteger(10, number));
}

// Returns the first braces of a name that are empty, or hold a number, a step behind ':', or both.
std::optional<Braces> findBraces(StringRef name) {
  for (size_t open = name.find('{'); open != StringRef::npos; open = name.find('{', open + 1)) {
    Braces braces{name.take_front(open), {}};
    StringRef rest = name.drop_front(open + 1);
    if (takeNumber(rest, braces.first) &&
        (!rest.consume_front(":") || (takeNumber(rest, braces.step) && braces.step > 0)) &&
        rest.consume_front("}")) {
      braces.after = rest;
      return braces;
    }
  }
  return std::nullopt;
}

} // namespace

size_t dtc::graph::countBraces(StringRef name) {
  size_t count = 0;
  for (std::optional<Braces> braces; (braces = findBraces(name)); name = braces->after)
    ++count;
  return count;
}

int64_t dtc::graph::firstMember(StringRef name) {
  std::optional<Braces> braces = findBraces(name);
  return braces ? braces->first : 0;
}

std::string dtc::graph::memberName(StringRef name, int64_t index) {
  std::optional<Braces> braces = findBraces(name);
  if (!braces)
    return name.str();
  return (braces->before + Twine(braces->first + index * braces->step) + braces->after).str();
}

std::string dtc::graph::familyFrom(StringRef name, int64_t index) {
  std::optional<Braces> braces = findBraces(name);
  if (!braces || index == 0)
    return name.str();
  return braces->from(braces->first + index * braces->step);
}

std::pair<std::string, int64_t> dtc::graph::wholeFamily(StringRef name) {
  std::optional<Braces> braces = findBraces(name);
  if (!braces)
    return {name.str(), 0};
  return {braces->from(braces->first % braces->step), braces->first / braces->step};
}
