#include "compiler/prove/verify/CollectiveFlow.h"

#include "compiler/prove/verify/CollectiveRules.h"

namespace dtc {
namespace {

using Kind = format::CollectiveKind;

// The values that one collective leaves in its destination.
class CollectiveValues {
public:
  // `others` is what all programs contribute together; of no use where there is but one.
  CollectiveValues(const ProgramState &state, const format::Collective &op, const Value &others)
      : state(state), op(op), own(state.memory.operand(0)), others(others),
        joined(state.groups.joined(op.group(), state.steps.index)),
        spread(state.groups.spread(op.group(), state.steps.index)),
        isOfPrograms(state.groups.met(op.group(), state.steps.index).size() > 1),
        ranks(state.steps.manifest.groups()->Get(op.group())->size()),
        bytes(static_cast<int64_t>(op.count() * format::bytesOf(op.dtype()))) {
    const std::vector<Touch> &touches = state.at.source->touches;
    src = state.at.rangeOf(touches[0], touches[0].pieces[0]).begin;
    dst = state.at.rangeOf(touches[1], touches[1].pieces[0]).begin;
  }

  // Returns the value of bytes [begin, end) of the arena.
  Value at(int64_t begin, int64_t end) const {
    Value value = own.size() == 1 ? own.front().value : sourceOf(begin - dst, end - dst);
    value.axes |= others.axes;
    value.partial |= others.partial;
    value.samples |= others.samples;
    value.exchanged |= others.exchanged;
    value.ring |= others.ring;
    if (AxisSet along = exchangedBy(state, op))
      value.exchange(along);
    if (reducesValues(op))
      reduce(value);
    if (op.kind() == Kind::all_gather)
      gatherSamples(value);
    if (op.kind() == Kind::all_reduce || op.kind() == Kind::all_gather)
      value.equalise(joined);
    else
      value.axes |= spread;
    if (AxisSet context = state.initial.contextAxes(); spread & context)
      value.ring.positions = value.samples & context ? 1 : 0;
    return value;
  }

private:
  // Returns the join of what bytes [begin, end) of the destination are made of.
  Value sourceOf(int64_t begin, int64_t end) const {
    if (op.kind() == Kind::all_reduce)
      return own.joined(src + begin, src + end);
    if (op.kind() == Kind::all_gather && begin / bytes == (end - 1) / bytes)
      return own.joined(src + begin % bytes, src + (end - 1) % bytes + 1);
    if (op.kind() != Kind::reduce_scatter)
      return own.joined();
    Value value = Value::ofNothing();
    for (uint32_t rank = 0; rank < ranks; ++rank)
      value.join(own.joined(src + rank * bytes + begin, src + rank * bytes + end));
    return value;
  }

  // Results of exchanged samples, gathered from all ranks, need no sum along their axes; nor does
  // what is gathered of all parts of sequences, since all ranks have all of it then.
  void gatherSamples(Value &value) const {
    AxisSet met = axesWithout(value.exchanged & joined, value.samples);
    AxisSet whole = value.samples & joined & state.initial.contextAxes();
    value.exchanged = axesWithout(value.exchanged, met);
    value.samples = axesWithout(value.samples, whole);
    value.reduced |= met | whole;
  }

  void reduce(Value &value) const {
    value.finishSum(joined);
    // Gradients of keys that are added up where their tokens are: each rank has its own ones again.
    if (op.kind() == Kind::reduce_scatter && op.role() == format::CollectiveRole::activation)
      value.samples |= spread & state.initial.contextAxes();
    // Statistics of a batch, which state is made of, are reduced as gradients are.
    if (op.role() == format::CollectiveRole::gradient ||
        op.role() == format::CollectiveRole::control)
      value.reduced |= spread;
    if (isOfPrograms)
      value.together = op.group() + 1;
  }

  const ProgramState &state;
  const format::Collective &op;
  const ValueRanges &own;
  Value others;
  AxisSet joined, spread;
  bool isOfPrograms;
  uint32_t ranks;
  int64_t bytes; // that each rank contributes, or receives
  int64_t src = 0, dst = 0;
};

// Reads and checks what this program contributes, and lets other programs know of it.
std::optional<Fault> contribute(ProgramState &state, const format::Collective &op) {
  if (std::optional<Fault> found = state.memory.read(0))
    return found;
  if (std::optional<Fault> found = checkCollective(state, op))
    return found;
  if (state.groups.met(op.group(), state.steps.index).size() > 1)
    state.channels.post(state.channels.collective(op.group()), state.memory.operand(0).joined());
  return std::nullopt;
}

} // namespace

FlowResult followCollective(ProgramState &state) {
  const format::Collective &op = *state.at.source->source->op_as_Collective();
  if (!state.isBlocked)
    if (std::optional<Fault> found = contribute(state, op))
      return found;
  Board::Key channel = state.channels.collective(op.group());
  std::optional<Value> others = state.channels.contributed(channel);
  if (!others)
    return FlowResult::waiting();
  state.channels.pass(channel);
  CollectiveValues values(state, op, *others);
  return state.memory.write(state.at.source->touches[1], [&](uint32_t segment) {
    return values.at(state.steps.segments.begin(segment), state.steps.segments.end(segment));
  });
}

} // namespace dtc
