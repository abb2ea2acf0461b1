#include "runtime/monitor/Unwind.h"

#include "runtime/monitor/FrameExpression.h"

#include <cstdio>

namespace dtc::rt {

std::string frameLine(pid_t process, const std::vector<Mapping> &mappings, uint64_t address) {
  const Mapping *mapping = codeAt(mappings, address);
  char words[64];
  Module module;
  if (!mapping || !findModule(ForeignMemory(process), mappings, *mapping, module)) {
    std::snprintf(words, sizeof(words), "[0x%llx]", static_cast<unsigned long long>(address));
    return words;
  }
  std::snprintf(words, sizeof(words), "(+0x%llx) [0x%llx]",
                static_cast<unsigned long long>(address - module.bias),
                static_cast<unsigned long long>(address));
  return mapping->path + words;
}

namespace {

// The registers of the caller; false where they can't be told.
bool undo(const ForeignMemory &memory, const FrameRow &row, Registers &registers) {
  uint64_t frame = registers[row.base] + static_cast<uint64_t>(row.offset);
  if (!row.expression.empty() && !evaluate(row.expression, memory, registers, nullptr, frame))
    return false;
  Registers caller = registers;
  caller[kStackRegister] = frame;
  for (size_t i = 0; i < kRegisters; ++i) {
    const RegisterRule &rule = row.rules[i];
    uint64_t at = frame + static_cast<uint64_t>(rule.value);
    switch (rule.kind) {
    case RegisterRule::Same:
      break;
    case RegisterRule::Undefined:
      if (i == kProgramCounter)
        return false; // a thread's first function
      break;
    case RegisterRule::Is:
      caller[i] = at;
      break;
    case RegisterRule::InRegister:
      if (rule.value < 0 || rule.value >= static_cast<int64_t>(kRegisters))
        return false;
      caller[i] = registers[static_cast<size_t>(rule.value)];
      break;
    case RegisterRule::AtExpression:
    case RegisterRule::IsExpression:
      if (!evaluate(rule.expression, memory, registers, &frame, at))
        return false;
      caller[i] = at;
      if (rule.kind == RegisterRule::IsExpression)
        break;
      [[fallthrough]];
    case RegisterRule::At:
      if (!memory.read(at, caller[i]))
        return false;
    }
  }
  // Stacks grow downwards: what goes another way than up goes round for ever.
  bool isUp = row.isSignal || frame > registers[kStackRegister];
  registers = caller;
  return isUp && row.rules[kProgramCounter].kind != RegisterRule::Same;
}

} // namespace

std::vector<uint64_t> unwind(pid_t process, const std::vector<Mapping> &mappings,
                             const Registers &registers, size_t most) {
  ForeignMemory memory(process);
  Registers at = registers;
  std::vector<uint64_t> out;
  bool isExact = true; // else the address follows a call, and may belong to another function
  while (out.size() < most && at[kProgramCounter] != 0) {
    uint64_t address = at[kProgramCounter];
    out.push_back(address);
    if (!isExact)
      --address;
    const Mapping *mapping = codeAt(mappings, address);
    Module module;
    FrameRow row;
    if (!mapping || !findModule(memory, mappings, *mapping, module))
      break;
    FrameTable table(memory, module);
    if (!table.find(address, row) || !undo(memory, row, at))
      break;
    isExact = row.isSignal;
  }
  return out;
}

} // namespace dtc::rt
