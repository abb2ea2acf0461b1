#include "compiler/prove/verify/RowRules.h"

#include "runtime/format/Description.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dtc {
namespace {

using format::text;
using Number = RowOrders::Number;

bool isKnown(Number number) { return number != RowOrders::kNone && number != RowOrders::kUnknown; }

// Returns true if a buffer has numbers of rows in the layer that the program is at.
bool hasCounts(const ProgramState &state, const Touch &touch) {
  const format::Buffer &buffer = state.at.bufferOf(touch);
  return state.countStorages.count(format::sizeOf(buffer.layer_storages()) > state.at.layer
                                       ? buffer.layer_storages()->Get(state.at.layer)
                                       : buffer.storage());
}

bool hasIntegers(const ProgramState &state, const Touch &touch) {
  return state.at.bufferOf(touch).dtype() == format::DType::i32;
}

Number orderOf(const ProgramState &state, size_t touch) {
  return state.memory.operand(touch).joined().order;
}

// Returns the operands of the kernel that the program is at.
RowOperands operandsOf(const ProgramState &state) {
  RowOperands found;
  const std::vector<Touch> &touches = state.at.source->touches;
  for (size_t i = 0; i < touches.size(); ++i) {
    if (!touches[i].reads)
      continue;
    if (!hasIntegers(state, touches[i])) {
      found.rows.push_back(i);
      continue;
    }
    Number number = orderOf(state, i);
    found.isUnknown |= number == RowOrders::kUnknown;
    if (!isKnown(number))
      continue;
    found.integers.push_back(number);
    if (state.rowOrders.kindOf(number) == RowOrders::Kind::Indices)
      found.indices.push_back(number);
  }
  std::sort(found.indices.begin(), found.indices.end());
  return found;
}

// Returns true if indices are those that have last moved rows of an order.
bool undoes(const ProgramState &state, const RowOperands &operands, Number order) {
  return isKnown(order) && std::binary_search(operands.indices.begin(), operands.indices.end(),
                                              state.rowOrders.indicesOf(order));
}

// Returns the order of rows that a kernel makes.
Number orderOfRows(ProgramState &state, const RowOperands &operands) {
  if (operands.isUnknown)
    return RowOrders::kUnknown;
  Number order = RowOrders::kNone;
  bool undone = operands.indices.empty();
  for (size_t touch : operands.rows) {
    Number of = orderOf(state, touch);
    if (undoes(state, operands, of)) {
      of = state.rowOrders.below(of);
      undone = true;
    }
    order = RowOrders::joined(order, of);
  }
  if (undone || order == RowOrders::kUnknown)
    return order;
  return operands.indices.size() == 1 ? state.rowOrders.moved(order, operands.indices.front())
                                      : RowOrders::kUnknown;
}

// Returns the router of the scores that the instruction reads of a touch: the persistent tensors
// that the writer of the scores has read. An operand of no bytes has none.
RowOrders::Router routerOf(const ProgramState &state, size_t touch) {
  RowOrders::Router router;
  const ValueRanges &scores = state.memory.operand(touch);
  if (scores.size() == 0)
    return router;
  const Provenance &origin = state.memory.contentOf(scores.front()).origin;
  if (origin.time == 0)
    return router;
  const format::Run &run = *state.steps.entry.order()->Get(origin.run);
  const Executed &executed = state.steps.executed(run.task())[origin.step];
  for (const Touch &each : state.steps.accesses(run.task(), executed.instruction).touches)
    if (each.reads && !each.pieces.empty()) {
      Steps::Range range = state.steps.rangeOf(each, each.pieces[0], run, executed.layer);
      SegmentSpan span = state.steps.segments.find(range.begin, range.end);
      if (span.first != span.last && state.memory.tensorAt(span.first))
        router.insert(range.begin);
    }
  return router;
}

// Checks that a kernel that reads what a routing has chosen reads no scores of another one.
std::optional<Fault> checkScores(const ProgramState &state) {
  RowOperands operands = operandsOf(state);
  std::vector<Number> choices;
  std::copy_if(operands.integers.begin(), operands.integers.end(), std::back_inserter(choices),
               [&](Number number) { return state.rowOrders.isChoice(number); });
  if (choices.empty())
    return std::nullopt;
  for (size_t touch : operands.rows)
    if (state.rowOrders.areOfOthers(choices, routerOf(state, touch)))
      return state.at.fail(
          "values", text("reads ", state.steps.bufferName(state.at.source->touches[touch].buffer),
                         ", the scores of one routing, beside what another has chosen"));
  return std::nullopt;
}

// Checks the indices that a kernel reads, and the rows that it moves by them.
std::optional<Fault> checkMoves(const ProgramState &state) {
  RowOperands operands = operandsOf(state);
  if (operands.indices.empty() || operands.isUnknown)
    return std::nullopt;
  std::set<Number> routings;
  for (Number indices : operands.indices)
    routings.insert(state.rowOrders.routingOf(indices));
  auto isOfThese = [&](Number order) {
    return routings.count(state.rowOrders.routingOf(order)) > 0;
  };
  for (size_t touch : operands.rows)
    for (const ValueRange &range : state.memory.operand(touch))
      if (isKnown(range.value.order) && !isOfThese(range.value.order))
        return state.at.fail("values",
                             text("moves ",
                                  state.steps.bufferName(state.at.source->touches[touch].buffer),
                                  ", which one routing has placed, by the indices of another"),
                             state.memory.writerOf(range));
  return std::nullopt;
}

// Checks rows that a product of groups reads against its numbers of rows.
std::optional<Fault> checkCounted(const ProgramState &state, size_t touch, Number counts) {
  for (const ValueRange &range : state.memory.operand(touch)) {
    Number order = range.value.order;
    if (isKnown(order) && !state.rowOrders.areOf(state.rowOrders.indicesOf(order), counts))
      return state.at.fail("values",
                           text("multiplies ",
                                state.steps.bufferName(state.at.source->touches[touch].buffer),
                                " by numbers of rows that are not those of its order"),
                           state.memory.writerOf(range));
  }
  return std::nullopt;
}

// Checks that a product of groups does not add rows that it has added already.
std::optional<Fault> checkAddedOnce(ProgramState &state, size_t a, size_t b, size_t c) {
  if (state.memory.operand(a).size() == 0 || state.memory.operand(b).size() == 0)
    return std::nullopt; // there are no rows
  auto sourceOf = [&](size_t touch) {
    const ValueRange &range = state.memory.operand(touch).front();
    const Provenance &origin = state.memory.contentOf(range).origin;
    return std::array<int64_t, 3>{origin.run, origin.step, range.begin};
  };
  const Touch &sum = state.at.source->touches[c];
  if (state.addedRows.run != state.at.run)
    state.addedRows = {state.at.run, {}};
  auto &added = state.addedRows.sources[state.at.rangeOf(sum, sum.pieces[0]).begin];
  if (!state.at.adds())
    added.clear();
  if (added.insert({sourceOf(a), sourceOf(b)}).second)
    return std::nullopt;
  return state.at.fail(
      "values", text("adds rows of ", state.steps.bufferName(state.at.source->touches[a].buffer),
                     " to ", state.steps.bufferName(sum.buffer), " a second time"));
}

// Checks that a product of groups takes all rows that a buffer has room for.
std::optional<Fault> checkAllRows(const ProgramState &state, const Touch &touch) {
  uint64_t bytes = state.at.bufferOf(touch).bytes();
  if (static_cast<uint64_t>(touch.pieces[0].bytes) == bytes)
    return std::nullopt;
  return state.at.fail("values",
                       text("takes ", touch.pieces[0].bytes, " bytes of the rows of ",
                            state.steps.bufferName(touch.buffer), ", wanted all of its ", bytes));
}

// Checks the operands of a product of groups of rows.
std::optional<Fault> checkGroups(ProgramState &state, const format::GroupedGemm &op) {
  const std::vector<Touch> &touches = state.at.source->touches;
  size_t a = 0, b = 0, c = 0;
  Number counts = RowOrders::kNone;
  for (size_t i = 0; i < touches.size(); ++i) {
    if (touches[i].buffer == op.counts())
      counts = orderOf(state, i);
    else if (touches[i].writes)
      c = i;
    else
      (touches[i].buffer == op.a() ? a : b) = i;
  }
  // Squares of rows read one buffer as both.
  if (op.a() == op.b())
    b = a;
  std::vector<size_t> rows = {a, op.sums_rows() ? b : c};
  for (size_t touch : rows)
    if (std::optional<Fault> found = checkAllRows(state, touches[touch]))
      return found;
  if (isKnown(counts))
    for (size_t touch : rows)
      if (touches[touch].reads)
        if (std::optional<Fault> found = checkCounted(state, touch, counts))
          return found;
  if (!op.sums_rows())
    return std::nullopt;
  Number first = orderOf(state, a), second = orderOf(state, b);
  if (isKnown(first) && isKnown(second) && first != second)
    return state.at.fail("values",
                         text("sums products of rows of ", state.steps.bufferName(op.a()), " and ",
                              state.steps.bufferName(op.b()), ", which are in different orders"));
  return checkAddedOnce(state, a, b, c);
}

// Checks that a product of tokens reads no rows of experts.
std::optional<Fault> checkTokens(const ProgramState &state) {
  for (size_t i = 0; i < state.at.source->touches.size(); ++i) {
    const Touch &touch = state.at.source->touches[i];
    if (!touch.reads || hasIntegers(state, touch))
      continue;
    for (const ValueRange &range : state.memory.operand(i))
      if (isKnown(range.value.order))
        return state.at.fail("values",
                             text("reads ", state.steps.bufferName(touch.buffer),
                                  " as tokens, though a routing has placed it, and no kernel has "
                                  "put it back by the same indices"),
                             state.memory.writerOf(range));
  }
  return std::nullopt;
}

} // namespace

std::optional<Fault> checkRows(ProgramState &state) {
  if (state.countStorages.empty())
    return std::nullopt;
  const format::Instruction &instruction = *state.at.source->source;
  if (const format::GroupedGemm *op = instruction.op_as_GroupedGemm())
    return checkGroups(state, *op);
  if (instruction.op_as_Launch()) {
    std::optional<Fault> found = checkMoves(state);
    return found ? found : checkScores(state);
  }
  return instruction.op_as_Gemm() ? checkTokens(state) : std::nullopt;
}

RowResults::RowResults(ProgramState &state) : state(state) {
  if (state.countStorages.empty())
    return;
  const format::Instruction &instruction = *state.at.source->source;
  if (const format::GroupedGemm *op = instruction.op_as_GroupedGemm(); op && !op->sums_rows())
    for (size_t i = 0; i < state.at.source->touches.size(); ++i)
      if (state.at.source->touches[i].reads && state.at.source->touches[i].buffer == op->a())
        rows = dtc::orderOf(state, i);
  if (instruction.op_as_Launch())
    readKernel();
}

// Looks at what a kernel has read. Indices are made of numbers of rows or of indices, or beside
// numbers of rows.
void RowResults::readKernel() {
  operands = operandsOf(state);
  bool makesRows = false, makesIntegers = false, hasNumbers = false;
  for (const Touch &touch : state.at.source->touches)
    if (touch.writes) {
      (hasIntegers(state, touch) ? makesIntegers : makesRows) = true;
      hasNumbers |= hasCounts(state, touch);
    }
  for (Number number : operands.integers)
    hasNumbers |= state.rowOrders.kindOf(number) != RowOrders::Kind::Others;
  kind = hasNumbers ? RowOrders::Kind::Indices : RowOrders::Kind::Others;
  if (makesRows)
    rows = orderOfRows(state, operands);
  if (makesIntegers && operands.integers.empty())
    for (size_t touch : operands.rows)
      if (RowOrders::Router router = routerOf(state, touch); !router.empty())
        routers.insert(std::move(router));
}

// Returns the number of what a kernel chooses by scores.
Number RowResults::chosen(uint32_t result) {
  uint32_t task = state.at.current->task();
  if (state.choosingTask.value_or(task) != task)
    return RowOrders::kUnknown;
  state.choosingTask = task;
  return state.rowOrders.chosen(task, state.at.step, result, routers);
}

Number RowResults::orderOf(const Touch &touch, uint32_t result) {
  const format::Launch *launch = state.at.source->source->op_as_Launch();
  if (!launch || state.countStorages.empty() || !hasIntegers(state, touch))
    return rows;
  if (operands.isUnknown)
    return RowOrders::kUnknown;
  if (operands.integers.empty())
    return operands.rows.empty() ? RowOrders::kNone : chosen(result);
  std::vector<int64_t> scalars;
  for (uint32_t i = 0; i < format::sizeOf(launch->scalars()); ++i)
    scalars.push_back(launch->scalars()->Get(i)->base());
  return state.rowOrders.made(launch->kernel(), scalars, result, operands.integers,
                              hasCounts(state, touch) ? RowOrders::Kind::Counts : kind);
}

} // namespace dtc
