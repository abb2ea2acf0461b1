// The order of the mesh axes on the links.
#include "compiler/decide/decisions/Families.h"
#include "compiler/decide/decisions/LegalSpace.h"
#include "compiler/decide/decisions/Words.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc::families {
namespace {

constexpr LeftOut kOfLinks[] = {{KeptResult::Work, "ranks compute the same in any order"},
                                {KeptResult::LeastMemory, "ranks hold the same in any order"},
                                {KeptResult::Program, "programs name no links"},
                                {KeptResult::Lowered, "programs name no links"}};

std::string orderOf(const Decisions &d) { return orderText(d.order); }

std::string readOrder(llvm::StringRef word, Decisions &d) {
  std::optional<AxisOrder> order = orderFrom(word);
  d.order = order.value_or(d.order);
  return order ? "" : "is '" + word.str() + "', wanted tp, cp, dp and pp in some order";
}

// Values of --fix have no blanks, so '-' joins axes there.
std::optional<UserError> readPinnedOrder(const std::string &text, Decisions &d) {
  std::string words = text;
  std::replace(words.begin(), words.end(), '-', ' ');
  if (readOrder(words, d).empty())
    return std::nullopt;
  return refusedWord("axis_order", text, "there is no such order of axes",
                     "give tp, cp, dp and pp from the innermost links out, as tp-cp-pp-dp");
}

std::string pinOf(const Decisions &d) {
  std::string text = orderOf(d);
  std::replace(text.begin(), text.end(), ' ', '-');
  return text;
}

// Returns the axes of more than one rank, from the innermost on; others make no difference.
AxisOrder severalOf(const AxisOrder &order, const Decisions &d) {
  AxisOrder axes{};
  size_t count = 0;
  for (char axis : order)
    if (d.sizeOf(axis) > 1)
      axes[count++] = axis;
  return axes;
}

bool isLegalOrder(const Decisions &d, const LegalSpace &space) {
  constexpr AxisOrder orders[] = {kMegatronOrder, {'t', 'c', 'p', 'd'}};
  if (hasWord(space.axisOrders, 0))
    return true;
  // Megatron-Core needs as many copies of an expert as of everything else if stages are inside of
  // replicas (parallel_state.py: "When not using pp-last rank ordering ...").
  bool copiesDiffer = d.pp > 1 && d.hasExpertParallelism() && d.ranksOfExperts() / d.ep != d.dp;
  AxisOrder own = severalOf(d.order, d);
  for (auto [index, order] : llvm::enumerate(orders))
    if (hasWord(space.axisOrders, index + 1) && severalOf(order, d) == own &&
        !(copiesDiffer && own != severalOf(kMegatronOrder, d)))
      return true;
  return false;
}

constexpr StackRule kStacksOfOrder[] = {{.keys = "axis_order",
                                         .holds = isLegalOrder,
                                         .mend = "axis_orders can be {axis_orders}",
                                         .part = StackRule::Part::Mesh,
                                         .openIsSeveral = true}};

constexpr Decision kAxisOrderRows[] = {
    {.key = "axis_order",
     .field = fieldOf<&Decisions::order>(),
     .value = orderOf,
     .listing = Listing::IfUnusual,
     .phrase = [](const Decisions &d) { return "order " + orderOf(d); },
     .plan = {.form = PlanForm::Word, .mayMiss = true, .readWord = readOrder},
     .pin = {.name = "axis_order",
             .meaning = "order of the mesh axes on the links, innermost first",
             .words = "tp, cp, dp and pp in some order: tp-cp-dp-pp",
             .readWord = readPinnedOrder,
             .write = pinOf},
     .mechanism = {"another order of axes",
                   [](const Decisions &d) { return d.order == kMegatronOrder ? 0 : 1; }},
     .stackRules = kStacksOfOrder,
     .leftOut = kOfLinks},
};

} // namespace

llvm::ArrayRef<Decision> axisOrder() { return kAxisOrderRows; }

} // namespace dtc::families
