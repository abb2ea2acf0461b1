#include "compiler/prove/verify/RingRules.h"

#include "runtime/format/Description.h"

#include <algorithm>

namespace dtc {
namespace {

using format::text;

// The operands and results of an attention, or of its gradient.
struct Attention {
  const format::Attention *forward = nullptr; // null for other instructions
  const format::AttentionGrad *grad = nullptr;

  explicit Attention(const format::Instruction &instruction)
      : forward(instruction.op_as_Attention()), grad(instruction.op_as_AttentionGrad()) {
    if (grad)
      forward = grad->forward();
  }
  bool isOfKeys(uint32_t buffer) const {
    return buffer == forward->k() || buffer == forward->v() ||
           (grad && (buffer == grad->dk() || buffer == grad->dv()));
  }
};

// Returns the positions of all ranks of the ring.
uint64_t allPositions(const ProgramState &state) {
  uint64_t ranks = 1;
  for (uint32_t axis = 0; axis < state.steps.manifest.mesh()->size(); ++axis)
    if (state.initial.contextAxes() & (1u << axis))
      ranks *= state.steps.manifest.mesh()->Get(axis)->size();
  return ranks >= RingTokens::kMostPositions ? ~uint64_t(0) : (uint64_t(1) << ranks) - 1;
}

bool isElsewhere(uint64_t positions) { return (positions & ~uint64_t(1)) != 0; }
bool isOfSeveral(uint64_t positions) { return (positions & (positions - 1)) != 0; }

// Returns what an instruction reads of a buffer.
Value readOf(const ProgramState &state, uint32_t buffer) {
  Value value = Value::ofNothing();
  const std::vector<Touch> &touches = state.at.source->touches;
  for (size_t i = 0; i < touches.size(); ++i)
    if (touches[i].reads && touches[i].buffer == buffer)
      value.join(state.memory.operand(i).joined());
  return value;
}

// Returns the ranks whose keys attention reads.
uint64_t positionsOfKeys(const ProgramState &state, const Attention &attention) {
  Value keys = readOf(state, attention.forward->k());
  keys.join(readOf(state, attention.forward->v()));
  return keys.samples & state.initial.contextAxes() ? keys.ring.positions : allPositions(state);
}

// Returns what is wrong with a value that leaves attention; "" for nothing.
std::string wrongWith(const RingTokens &tokens, uint64_t all) {
  if (tokens.met && (tokens.met & all) != all)
    return ", which has not met the tokens of all ranks";
  if (tokens.means & ~tokens.sums)
    return ", which has results of attention that were merged without their sums of exponentials";
  return "";
}

// Returns a fault at the first operand that has met the tokens of some ranks of a ring alone, or
// that is no weighted mean of what it has met.
std::optional<Fault> findUnmet(const ProgramState &state, bool ofSaved) {
  uint64_t all = allPositions(state);
  const std::vector<Touch> &touches = state.at.source->touches;
  Attention attention(*state.at.source->source);
  for (size_t i = 0; i < touches.size(); ++i) {
    if (!touches[i].reads)
      continue;
    uint32_t buffer = touches[i].buffer;
    if (ofSaved && buffer != attention.forward->out() && buffer != attention.forward->lse())
      continue;
    for (const ValueRange &range : state.memory.operand(i))
      if (std::string wrong = wrongWith(range.value.ring, all); !wrong.empty())
        return state.at.fail("values",
                             text("reads ", state.steps.bufferName(buffer), wrong, " along ",
                                  state.namesOf(state.initial.contextAxes())),
                             state.memory.writerOf(range));
  }
  return std::nullopt;
}

} // namespace

std::optional<Fault> checkPositions(const ProgramState &state, const Value &made) {
  if (!state.initial.contextAxes())
    return std::nullopt;
  const format::Instruction &instruction = *state.at.source->source;
  Attention attention(instruction);
  uint64_t positions = made.ring.positions;
  if (attention.forward) {
    if (attention.grad)
      if (std::optional<Fault> found = findUnmet(state, /*ofSaved=*/true))
        return found;
    positions = 0;
    uint64_t ofKeys = 0;
    for (const Touch &touch : state.at.source->touches)
      if (touch.reads)
        (attention.isOfKeys(touch.buffer) ? ofKeys : positions) |=
            readOf(state, touch.buffer).ring.positions;
    if (isOfSeveral(ofKeys))
      return state.at.fail("values", "reads keys and values of several ranks along " +
                                         state.namesOf(state.initial.contextAxes()) +
                                         " as if they were of one");
    if (isElsewhere(positions))
      return state.at.fail("values", "has queries of another rank along " +
                                         state.namesOf(state.initial.contextAxes()));
  } else if (!instruction.op_as_Launch()) {
    if (std::optional<Fault> found = findUnmet(state, /*ofSaved=*/false))
      return found;
  }
  if (isOfSeveral(positions))
    return state.at.fail("values", "reads tokens of several ranks along " +
                                       state.namesOf(state.initial.contextAxes()) +
                                       " beside each other, some of which have passed on");
  return std::nullopt;
}

void setPositions(const ProgramState &state, uint32_t buffer, Value &value) {
  if (!state.initial.contextAxes())
    return;
  const format::Instruction &instruction = *state.at.source->source;
  Attention attention(instruction);
  if (!attention.forward) {
    if (!instruction.op_as_Launch())
      value.ring = {value.ring.positions};
    return;
  }
  uint32_t from = attention.isOfKeys(buffer) ? attention.forward->k() : attention.forward->q();
  uint64_t met = positionsOfKeys(state, attention);
  value.ring = {readOf(state, from).ring.positions, met};
  if (attention.grad || met == allPositions(state))
    return;
  (buffer == attention.forward->lse() ? value.ring.sums : value.ring.means) = met;
}

bool hasPassedOn(const ProgramState &state, uint32_t buffer) {
  uint64_t positions = readOf(state, buffer).ring.positions;
  return isElsewhere(positions) && !(positions & 1);
}

std::optional<Fault> checkAtHome(const ProgramState &state, uint32_t buffer) {
  Value value = state.memory.operand(0).joined();
  if (!isElsewhere(value.ring.positions))
    return std::nullopt;
  return state.at.fail("values", text("moves ", state.steps.bufferName(buffer),
                                      ", of tokens that have passed on along ",
                                      state.namesOf(state.initial.contextAxes())));
}

std::optional<Fault> checkPassedOn(const ProgramState &state, const format::Transfer &op,
                                   const Value &value) {
  AxisSet crossed = state.groups.crossed(op.group(), op.shift(), state.steps.index);
  std::string name = state.steps.bufferName(op.buffer());
  if (AxisSet other = axesWithout(crossed, state.initial.contextAxes()))
    return state.at.fail("values", text("passes ", name, " on along ", state.namesOf(other),
                                        ", where ranks have no parts of the same sequences"));
  if (!state.groups.ascends(op.group()))
    return state.at.fail("values", text("passes ", name, " on over '",
                                        format::groupName(state.steps.manifest, op.group()),
                                        "', whose ranks are not in the order of their tokens"));
  if (!value.ring.positions || isOfSeveral(value.ring.positions))
    return state.at.fail("values", text("passes ", name,
                                        " on, which is not of the tokens of one "
                                        "rank"));
  return std::nullopt;
}

} // namespace dtc
