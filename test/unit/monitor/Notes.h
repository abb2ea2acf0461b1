// A small program of four ranks in two groups, for tests of the monitor.
#pragma once

#include "runtime/monitor/ProgramNotes.h"

namespace dtc::test {

// Returns these instructions. Issue 0: a product; 1: an all_reduce over 'dp' of ranks 0, 2 and 1,
// 3; 2: a send from 0 to 1 and 2 to 3; 3: its receive; 4: a wait.
inline rt::ProgramNotes smallNotes() {
  rt::ProgramNotes notes;
  notes.groups = {{"dp", 2, 0, {0, 2, 1, 3}}, {"pp", 2, 1, {0, 1, 2, 3}}};
  auto add = [&](const char *words, rt::Meets meets, const char *kind, uint32_t group) {
    rt::NotedInstruction each;
    each.words = words;
    each.task = "forward";
    each.index = static_cast<uint32_t>(notes.instructions.size());
    each.meets = meets;
    each.kind = kind;
    each.group = group;
    each.dtype = "bf16";
    each.name = "grad \"wte\"";
    each.file = "m.mlir";
    each.line = 12;
    each.op = "h.0.mlp";
    each.inElements = each.outElements = 8;
    each.bytes = 16;
    notes.instructions.push_back(each);
    notes.issues[0].push_back({each.index, 3, 0});
  };
  add("gemm at m.mlir:12:3 (h.0.mlp)", rt::Meets::Nobody, "", 0);
  add("all_reduce of gradients over dp", rt::Meets::Collective, "all_reduce", 0);
  add("send of activations over pp", rt::Meets::Send, "send", 1);
  add("receive of activations over pp", rt::Meets::Receive, "receive", 1);
  add("wait", rt::Meets::Nobody, "wait", 0);
  return notes;
}

} // namespace dtc::test
