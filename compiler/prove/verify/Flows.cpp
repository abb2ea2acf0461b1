#include "compiler/prove/verify/Flows.h"

#include "compiler/prove/verify/CollectiveFlow.h"
#include "compiler/prove/verify/CopyFlow.h"
#include "compiler/prove/verify/FunctionFlow.h"
#include "compiler/prove/verify/TransferFlow.h"

namespace dtc {
namespace {

FlowResult followRecord(ProgramState &state) {
  const format::Record &op = *state.at.source->source->op_as_Record();
  state.clocks.record(state.at.stream,
                      format::eventOf(op, state.at.layer, state.at.current->micro_batch()));
  return {};
}

FlowResult followWait(ProgramState &state) {
  const format::Wait &op = *state.at.source->source->op_as_Wait();
  state.clocks.wait(state.at.stream,
                    format::eventOf(op, state.at.layer, state.at.current->micro_batch()));
  return {};
}

FlowResult followKind(ProgramState &state) {
  switch (state.at.source->flow) {
  case Flow::Function:
  case Flow::Zero:
    return followFunction(state);
  case Flow::Copy:
    return followCopy(state);
  case Flow::Collective:
    return followCollective(state);
  case Flow::Send:
  case Flow::Receive:
    return followTransfer(state);
  case Flow::Record:
    return followRecord(state);
  case Flow::Wait:
    return followWait(state);
  }
  return {};
}

} // namespace

FlowResult followInstruction(ProgramState &state) {
  if (!state.isBlocked) {
    Flow flow = state.at.source->flow;
    state.clocks.tick(state.at.stream);
    state.memory.beginInstruction(flow == Flow::Collective || flow == Flow::Receive);
  }
  FlowResult result = followKind(state);
  state.isBlocked = result.waits;
  return result;
}

} // namespace dtc
