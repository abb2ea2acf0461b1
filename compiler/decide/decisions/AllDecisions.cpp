// The list of all families, and the orders in which decisions are listed, written and compared. A
// decision that an order does not name comes last in it.
#include "compiler/decide/decisions/AllDecisions.h"

#include "compiler/decide/decisions/Families.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>
#include <vector>

namespace dtc {
namespace {

using Keys = llvm::ArrayRef<llvm::StringRef>;
using Rows = std::vector<const Decision *>;

constexpr llvm::StringRef kOrderOfLists[] = {"dp",
                                             "tp",
                                             "tp_of_parts",
                                             "pp",
                                             "cp",
                                             "cp_kind",
                                             "cp_inner",
                                             "ep",
                                             "etp",
                                             "expert_room",
                                             "sp",
                                             "zero",
                                             "zero_group",
                                             "micro_batch",
                                             "num_micro_batches",
                                             "virtual_stages",
                                             "schedule",
                                             "vocab_over_pp",
                                             "recompute",
                                             "loss_chunks",
                                             "offload_optimizer",
                                             "offload_activations",
                                             "placement",
                                             "axis_order",
                                             "overlap_gradients",
                                             "bucket_bytes",
                                             "compress"};

// Programs read plan files, and people compare them line by line: this order stays.
constexpr llvm::StringRef kOrderOfPlans[] = {"dp",
                                             "tp",
                                             "pp",
                                             "cp",
                                             "ep",
                                             "etp",
                                             "expert_room",
                                             "tp_of_parts",
                                             "cp_kind",
                                             "cp_inner",
                                             "sp",
                                             "zero",
                                             "zero_group",
                                             "micro_batch",
                                             "num_micro_batches",
                                             "schedule",
                                             "virtual_stages",
                                             "vocab_over_pp",
                                             "axis_order",
                                             "placement",
                                             "loss_chunks",
                                             "offload_optimizer",
                                             "offload_activations",
                                             "overlap_gradients",
                                             "bucket_bytes",
                                             "recompute"};

// The search takes the first of plans that tie, in order of these values, smaller ones first.
constexpr llvm::StringRef kOrderOfTies[] = {"dp",
                                            "tp",
                                            "pp",
                                            "cp",
                                            "ep",
                                            "etp",
                                            "expert_room",
                                            "cp_kind",
                                            "cp_inner",
                                            "sp",
                                            "zero",
                                            "zero_group",
                                            "micro_batch",
                                            "num_micro_batches",
                                            "schedule",
                                            "virtual_stages",
                                            "vocab_over_pp",
                                            "recompute",
                                            "recompute_most",
                                            "even_stages",
                                            "even_recompute",
                                            "loss_chunks",
                                            "offload_optimizer",
                                            "offload_activations",
                                            "axis_order",
                                            "placement",
                                            "part_order",
                                            "tp_of_parts",
                                            "overlap_gradients",
                                            "bucket_bytes",
                                            "compress"};

Rows inOrder(llvm::ArrayRef<const Decision *> rows, Keys order) {
  std::vector<std::tuple<size_t, size_t, const Decision *>> positions;
  for (const Decision *row : rows)
    positions.emplace_back(llvm::find(order, row->key) - order.begin(), positions.size(), row);
  llvm::sort(positions);
  Rows sorted;
  for (auto [position, index, row] : positions)
    sorted.push_back(row);
  return sorted;
}

Rows saidInOrder(Keys order) {
  Rows rows = inOrder(allDecisions(), order);
  llvm::erase_if(rows, [](const Decision *row) { return row->plan.form == PlanForm::Absent; });
  return rows;
}

// The fields that a key leaves out, with their usual values.
struct UsualField {
  DecisionField field;
  int64_t usual;
};

const std::vector<UsualField> &fieldsOutside(KeptResult result) {
  static const auto all = [] {
    std::vector<std::vector<UsualField>> lists;
    for (KeptResult of : kKeptResults) {
      std::vector<UsualField> &list = lists.emplace_back();
      for (const Decision *each : allDecisions())
        if (!each->whyLeftOut(of).empty())
          list.push_back({each->field, each->field.get(Decisions())});
    }
    return lists;
  }();
  return all[static_cast<size_t>(result)];
}

} // namespace

llvm::ArrayRef<const Decision *> allDecisions() {
  static const Rows all = [] {
    Rows rows;
    for (llvm::ArrayRef<Decision> family :
         {families::data(), families::tensor(), families::pipeline(), families::context(),
          families::experts(), families::zero(), families::memory(), families::axisOrder(),
          families::buckets(), families::compress()})
      for (const Decision &row : family)
        rows.push_back(&row);
    return rows;
  }();
  return all;
}

llvm::ArrayRef<const Decision *> decisions() {
  static const Rows rows = saidInOrder(kOrderOfLists);
  return rows;
}

llvm::ArrayRef<const Decision *> decisionsOfPlans() {
  static const Rows rows = saidInOrder(kOrderOfPlans);
  return rows;
}

std::strong_ordering Decisions::operator<=>(const Decisions &other) const {
  static const std::vector<int64_t (*)(const Decisions &)> fields = [] {
    std::vector<int64_t (*)(const Decisions &)> getters;
    for (const Decision *row : inOrder(allDecisions(), kOrderOfTies))
      getters.push_back(row->field.get);
    return getters;
  }();
  for (auto get : fields)
    if (auto order = get(*this) <=> get(other); std::is_neq(order))
      return order;
  return std::strong_ordering::equal;
}

const Decision *findDecision(llvm::StringRef key) {
  auto all = decisions();
  const auto *found = llvm::find_if(all, [&](const Decision *each) { return each->key == key; });
  return found == all.end() ? nullptr : *found;
}

std::string valueOf(const Decisions &d, llvm::StringRef key) {
  const Decision *decision = findDecision(key);
  assert(decision && "a key of decisions()");
  return decision->valueOf(d);
}

const Decision *findUncompilable(const Decisions &d) {
  auto all = decisions();
  const auto *found = llvm::find_if(
      all, [&](const Decision *each) { return each->program.holds && !each->program.holds(d); });
  return found == all.end() ? nullptr : *found;
}

Decisions keyOf(KeptResult result, const Decisions &d) {
  Decisions key = d;
  for (const UsualField &each : fieldsOutside(result))
    each.field.set(key, each.usual);
  return key;
}

llvm::SmallVector<int64_t, 16> restOf(KeptResult result, const Decisions &d) {
  llvm::SmallVector<int64_t, 16> rest;
  for (const UsualField &each : fieldsOutside(result))
    rest.push_back(each.field.get(d));
  return rest;
}

} // namespace dtc
