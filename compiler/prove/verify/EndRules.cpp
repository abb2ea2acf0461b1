#include "compiler/prove/verify/EndRules.h"

#include "runtime/format/Description.h"

namespace dtc {
namespace {

using format::text;

bool trains(const ProgramState &state) {
  return state.steps.entry.kind() == format::EntryKind::train;
}

// Returns true if a segment holds what was written for a buffer.
bool isThere(const ProgramState &state, const Content &content, uint32_t buffer) {
  return content.origin.isWritten &&
         content.origin.storage == state.steps.storageOf(buffer, format::Run(), 0);
}

// Returns a fault of the whole entry, which no instruction alone has.
Fault faultOfEntry(const ProgramState &state, const Content &content, std::string message) {
  Fault fault;
  fault.check = "values";
  fault.entry = EnumNameEntryKind(state.steps.entry.kind());
  fault.program = state.steps.index;
  fault.rank = state.steps.rank;
  fault.message = std::move(message);
  fault.note = describeWriter(state.steps, content.origin);
  return fault;
}

// Everything that had to be read was read. Outputs count as read.
std::optional<Fault> checkRead(ProgramState &state) {
  for (const format::Output *output : *state.steps.program.outputs()) {
    SegmentSpan span = state.initial.spanOf(output->buffer());
    for (uint32_t i = span.first; i < span.last; ++i)
      state.memory.markReported(i);
  }
  if (!trains(state))
    return std::nullopt;
  for (uint32_t i = 0; i < state.memory.contents.size(); ++i) {
    const Content &content = state.memory.content(i);
    if (content.liveness.isGradient && !content.liveness.isRead && !content.value.isZero)
      return state.memory.unread(i);
  }
  const Communications::Origin *communication = state.memory.brought().findUnread();
  if (!communication)
    return std::nullopt;
  const format::Run &run = *state.steps.entry.order()->Get(communication->run);
  return state.steps.fault(
      run, state.steps.executed(run.task())[communication->step], "values",
      "brings what nothing reads: it was done twice, or what should read it reads "
      "something else");
}

// Memory of parameters and state holds these when the step is over.
std::optional<Fault> checkKept(const ProgramState &state) {
  for (uint32_t i = 0; i < state.memory.contents.size(); ++i) {
    const InitialTensor *tensor = state.memory.tensorAt(i);
    if (!tensor)
      continue;
    const Provenance &origin = state.memory.content(i).origin;
    if (origin.storage == state.steps.storageOf(tensor->buffer, format::Run(0, 0), 0) &&
        ColumnSets::isAll(origin.columns))
      continue;
    const format::Run &writer = *state.steps.entry.order()->Get(origin.run);
    return state.steps.fault(writer, state.steps.executed(writer.task())[origin.step], "memory",
                             text("overwrites ", describeBytes(state.steps, i), ", part of '",
                                  tensor->name, "', which the next step wants"));
  }
  return std::nullopt;
}

// Returns the reason why a segment is not a complete gradient in these shards; "" if it is.
std::string whyIncomplete(const ProgramState &state, const format::Tensor &gradient, AxisSet shards,
                          const Content &content) {
  const Value &value = content.value;
  if (!isThere(state, content, gradient.buffer()))
    return "is not there";
  if (!ColumnSets::isAll(content.origin.columns))
    return "is written in part only";
  AxisSet lacking = value.toBeSummed(state.initial.batchAxes(), shards);
  if (value.partial || (lacking && !value.isZero))
    return "is not summed along " + state.namesOf(value.partial | lacking);
  if (AxisSet wrong = axesWithout(value.axes, shards))
    return "differs along " + state.namesOf(wrong);
  return "";
}

// Checks the purpose of entry 'gradients': each parameter's gradient is complete, in the shards
// that the file declares.
std::optional<Fault> checkGradients(const ProgramState &state) {
  for (uint32_t t = 0; t < format::sizeOf(state.steps.program.gradients()); ++t) {
    const format::Tensor &tensor = *state.steps.program.gradients()->Get(t);
    AxisSet shards = state.initial.shardsOf(tensor.shards());
    SegmentSpan span = state.initial.spanOf(tensor.buffer());
    for (uint32_t i = span.first; i < span.last; ++i)
      if (std::string why = whyIncomplete(state, tensor, shards, state.memory.content(i));
          !why.empty())
        return faultOfEntry(state, state.memory.content(i),
                            text("the gradient of '", tensor.name()->string_view(), "' ", why,
                                 " at the end of entry 'gradients'"));
  }
  return std::nullopt;
}

// Returns true if the entry has to report an output.
bool isReported(const ProgramState &state, format::OutputRole role) {
  bool isOfGradients = role == format::OutputRole::gradient_scale &&
                       state.steps.entry.kind() == format::EntryKind::gradients;
  bool isOfLoss = role == format::OutputRole::loss || role == format::OutputRole::loss_weight ||
                  role == format::OutputRole::loss_beside;
  return trains(state) || isOfLoss || isOfGradients;
}

// Returns the reason why a segment of an output is not what all ranks report; "" if it is.
std::string whyUnknown(const ProgramState &state, const format::Output &output,
                       const Content &content) {
  if (!isThere(state, content, output.buffer()))
    return "is not written, or overwritten by something else";
  if (content.value.partial)
    return "is still a partial sum along " + state.namesOf(content.value.partial);
  if (content.value.axes)
    return "differs along " + state.namesOf(content.value.axes) +
           ", as if a reduction were missing";
  return "";
}

std::optional<Fault> checkOutputs(const ProgramState &state) {
  for (const format::Output *output : *state.steps.program.outputs()) {
    if (!isReported(state, output->role()))
      continue;
    SegmentSpan span = state.initial.spanOf(output->buffer());
    for (uint32_t i = span.first; i < span.last; ++i)
      if (std::string why = whyUnknown(state, *output, state.memory.content(i)); !why.empty())
        return faultOfEntry(state, state.memory.content(i),
                            text("output '", EnumNameOutputRole(output->role()), "' ", why));
  }
  return std::nullopt;
}

} // namespace

std::optional<Fault> checkEnd(ProgramState &state) {
  if (std::optional<Fault> found = checkRead(state))
    return found;
  if (std::optional<Fault> found = checkKept(state))
    return found;
  if (state.steps.entry.kind() == format::EntryKind::gradients)
    if (std::optional<Fault> found = checkGradients(state))
      return found;
  return checkOutputs(state);
}

} // namespace dtc
