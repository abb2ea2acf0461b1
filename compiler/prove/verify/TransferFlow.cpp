#include "compiler/prove/verify/TransferFlow.h"

#include "compiler/prove/verify/CollectiveRules.h"
#include "compiler/prove/verify/RingRules.h"
#include "runtime/format/Description.h"

namespace dtc {
namespace {

using format::text;

std::optional<Fault> followSend(ProgramState &state, const format::Transfer &op) {
  if (std::optional<Fault> found = state.memory.read(0))
    return found;
  Value value = state.memory.operand(0).joined();
  if (op.role() == format::CollectiveRole::activation) {
    if (std::optional<Fault> found = checkPassedOn(state, op, value))
      return found;
    value.passOn(op.shift(), state.steps.manifest.groups()->Get(op.group())->size());
    state.channels.post(state.channels.send(op.group(), op.shift()), value);
    return std::nullopt;
  }
  if (std::optional<Fault> found = checkAtHome(state, op.buffer()))
    return found;
  if (AxisSet wrong = value.axes & state.groups.crossed(op.group(), op.shift(), state.steps.index))
    return state.at.fail("values", text("sends ", state.steps.bufferName(op.buffer()),
                                        ", which is sharded along ", state.namesOf(wrong),
                                        ", to a rank with another shard"));
  state.channels.post(state.channels.send(op.group(), op.shift()), value);
  return std::nullopt;
}

FlowResult followReceive(ProgramState &state, const format::Transfer &op) {
  Board::Key channel = state.channels.receive(op.group(), op.shift());
  std::optional<Value> value = state.channels.received(channel);
  if (!value)
    return FlowResult::waiting();
  // Ranks that receive from one another hold different values.
  value->axes |= state.groups.spread(op.group(), state.steps.index);
  value->order = RowOrders::kNone; // programs number their orders by themselves
  state.channels.pass(channel);
  return state.memory.write(state.at.source->touches[0], [&](uint32_t) { return *value; });
}

} // namespace

FlowResult followTransfer(ProgramState &state) {
  const format::Transfer &op = *state.at.source->source->op_as_Transfer();
  if (std::optional<Fault> found = checkWhole(state, state.at.source->touches[0]))
    return found;
  if (state.at.source->flow == Flow::Send)
    return followSend(state, op);
  return followReceive(state, op);
}

} // namespace dtc
