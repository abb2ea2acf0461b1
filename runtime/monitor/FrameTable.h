// Reads rows of .eh_frame, the table from which compilers let a function's frame be unwound.
// No input is trusted. Sources: the System V ABI's AMD64 supplement, 3.6.2 and 3.7, the DWARF 5
// standard, 6.4, and the Linux Standard Base's "Exception Frames" for the specifics of .eh_frame.
#pragma once

#include "runtime/monitor/ForeignMemory.h"

#include <array>
#include <span>

namespace dtc::rt {

// Registers by DWARF number: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip.
inline constexpr size_t kStackRegister = 7, kProgramCounter = 16, kRegisters = 17;
using Registers = std::array<uint64_t, kRegisters>;

// The rule that restores a register of the caller.
struct RegisterRule {
  // Selects the meaning of `value`, after DWARF's rules.
  enum Kind { Same, Undefined, At, Is, InRegister, AtExpression, IsExpression } kind = Same;
  int64_t value = 0; // offset from the frame's address, or a register
  std::span<const uint8_t> expression = {};
};

// The rules of all registers at one instruction.
struct FrameRow {
  // The frame's address, which is the caller's stack pointer: of a register, or where there is one,
  // of an expression.
  uint64_t base = kStackRegister;
  int64_t offset = 0;
  std::span<const uint8_t> expression = {};
  std::array<RegisterRule, kRegisters> rules = {};
  bool isSignal = false; // the frame returns from a signal handler
};

// Holds the bytes that rows refer to.
class FrameTable {
public:
  FrameTable(const ForeignMemory &memory, const Module &module) : memory(memory), module(module) {}
  // The row of the function at `address`; false where the module has none, or one that makes no
  // sense.
  bool find(uint64_t address, FrameRow &row);

private:
  bool findEntry(uint64_t address, uint64_t &entry) const;
  bool readEntry(uint64_t at, std::vector<uint8_t> &bytes) const;

  const ForeignMemory &memory;
  Module module;
  std::vector<uint8_t> common, own;
};

} // namespace dtc::rt
