#include "compiler/prove/verify/CollectiveRules.h"

#include "compiler/prove/verify/RingRules.h"
#include "runtime/format/Description.h"

namespace dtc {
namespace {

using format::text;

// Checks the group of a collective against its role.
std::optional<Fault> checkGroup(const ProgramState &state, const format::Collective &op) {
  std::string name = format::groupName(state.steps.manifest, op.group());
  if (!state.groups.ascends(op.group()))
    return state.at.fail("values",
                         text("is over '", name,
                              "', whose ranks do not ascend, so that its parts are out of place"));
  AxisSet spread = state.groups.spread(op.group(), state.steps.index);
  if (AxisSet cut = axesWithout(spread, state.groups.joined(op.group(), state.steps.index)))
    return state.at.fail("values", text("is over '", name, "', which has some ranks along ",
                                        state.namesOf(cut), " in one list and some in another"));
  if (op.role() == format::CollectiveRole::gradient && op.reduce() != format::ReduceKind::sum)
    return state.at.fail("values", "reduces gradients by max, wanted their sum");
  AxisSet mixed = axesWithout(spread & state.initial.batchAxes(), state.initial.contextAxes());
  if (op.role() == format::CollectiveRole::activation && mixed)
    return state.at.fail("values", text("mixes activations along ", state.namesOf(mixed),
                                        ", where ranks have samples of their own"));
  if (op.role() == format::CollectiveRole::expert && mixed &&
      op.kind() != format::CollectiveKind::all_to_all)
    return state.at.fail("values", text("is no exchange of rows of experts along ",
                                        state.namesOf(mixed), ", as its role says"));
  Value rows = state.memory.operand(0).joined();
  AxisSet whole = axesWithout(spread & state.initial.contextAxes(), rows.partial);
  if (op.role() == format::CollectiveRole::activation && reducesValues(op) && whole && !rows.isZero)
    return state.at.fail("values", text("mixes activations along ", state.namesOf(whole),
                                        ", where ranks have tokens of their own"));
  if (AxisSet along = exchangedBy(state, op); along && !rows.exchange(along))
    return state.at.fail("values", text("exchanges ", state.steps.bufferName(op.src()), " along ",
                                        state.namesOf(along),
                                        ", which is not of samples of the rank's own alone, nor "
                                        "of exchanged ones alone"));
  return std::nullopt;
}

bool isMadeByCollective(const ProgramState &state, const Provenance &origin) {
  if (origin.time == 0)
    return false;
  const format::Run &writer = *state.steps.entry.order()->Get(origin.run);
  uint32_t instruction = state.steps.executed(writer.task())[origin.step].instruction;
  return state.steps.program.tasks()
             ->Get(writer.task())
             ->instructions()
             ->Get(instruction)
             ->op_type() == format::Op::Collective;
}

// Checks that a range that is combined is not the same already on all ranks that take part.
std::optional<Fault> checkDiffering(const ProgramState &state, const format::Collective &op,
                                    bool sums, const ValueRange &range) {
  AxisSet same = axesWithout(state.groups.spread(op.group(), state.steps.index), range.value.axes);
  // The maximum of equals is what they are, and a gather may put copies side by side.
  bool isPart = op.role() == format::CollectiveRole::gradient ||
                op.role() == format::CollectiveRole::parameter;
  if (!same || !(sums || isPart || isMadeByCollective(state, state.memory.contentOf(range).origin)))
    return std::nullopt;
  return state.at.fail("values",
                       text("combines ", state.steps.bufferName(op.src()), " over ",
                            state.namesOf(same), ", but it is already replicated there"),
                       state.memory.writerOf(range));
}

// Checks that a range that is summed is not summed a second time.
std::optional<Fault> checkSummed(const ProgramState &state, const format::Collective &op,
                                 const ValueRange &range) {
  AxisSet spread = state.groups.spread(op.group(), state.steps.index);
  auto fail = [&](const std::string &message) {
    return state.at.fail("values", message, state.memory.writerOf(range));
  };
  std::string name = state.steps.bufferName(op.src());
  // Statistics of a batch are summed over its parts alone: other axes may split their channels.
  AxisSet others = axesWithout(spread, range.value.partial);
  if (others && op.role() == format::CollectiveRole::control && op.count() > 1)
    return fail(
        text("sums ", name, " along ", state.namesOf(others), ", where it is no part of a sum"));
  AxisSet twice = spread & range.value.reduced;
  if (twice && op.role() == format::CollectiveRole::gradient)
    return fail(text("reduces ", name, " along ", state.namesOf(twice), " a second time"));
  if (range.value.together == op.group() + 1)
    return fail(text("reduces ", name, " over '",
                     format::groupName(state.steps.manifest, op.group()), "' a second time"));
  return std::nullopt;
}

} // namespace

AxisSet exchangedBy(const ProgramState &state, const format::Collective &op) {
  if (op.kind() != format::CollectiveKind::all_to_all)
    return 0;
  AxisSet context = state.initial.contextAxes();
  AxisSet spread = state.groups.spread(op.group(), state.steps.index);
  if (op.role() == format::CollectiveRole::activation)
    return spread & context;
  return op.role() == format::CollectiveRole::expert
             ? axesWithout(spread & state.initial.batchAxes(), context)
             : 0;
}

bool reducesValues(const format::Collective &op) {
  return op.kind() == format::CollectiveKind::all_reduce ||
         op.kind() == format::CollectiveKind::reduce_scatter;
}

std::optional<Fault> checkCollective(const ProgramState &state, const format::Collective &op) {
  if (std::optional<Fault> found = checkGroup(state, op))
    return found;
  for (const Touch &touch : state.at.source->touches)
    if (std::optional<Fault> found = checkWhole(state, touch))
      return found;
  if (std::optional<Fault> found = checkAtHome(state, op.src()))
    return found;
  bool sums = op.reduce() == format::ReduceKind::sum && reducesValues(op);
  for (const ValueRange &range : state.memory.operand(0)) {
    if (range.value.isZero)
      continue;
    if (std::optional<Fault> found = checkDiffering(state, op, sums, range))
      return found;
    if (!sums)
      continue;
    if (std::optional<Fault> found = checkSummed(state, op, range))
      return found;
  }
  return std::nullopt;
}

std::optional<Fault> checkWhole(const ProgramState &state, const Touch &touch) {
  uint64_t bytes = state.at.bufferOf(touch).bytes();
  if (static_cast<uint64_t>(touch.pieces[0].bytes) == bytes)
    return std::nullopt;
  return state.at.fail("values",
                       text("moves ", touch.pieces[0].bytes, " bytes of ",
                            state.steps.bufferName(touch.buffer), ", wanted all of its ", bytes));
}

} // namespace dtc
