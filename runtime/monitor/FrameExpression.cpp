#include "runtime/monitor/FrameExpression.h"

#include "runtime/monitor/DwarfReader.h"

#include <vector>

namespace dtc::rt {
namespace {

class Evaluation {
public:
  Evaluation(std::span<const uint8_t> bytes, const ForeignMemory &memory,
             const Registers &registers)
      : in(bytes, 0), memory(memory), registers(registers) {}
  bool run(const uint64_t *first, uint64_t &value);

private:
  bool step(uint8_t code);
  bool unary(uint8_t code);
  bool binary(uint8_t code);
  bool push(uint64_t value) {
    stack.push_back(value);
    return true;
  }

  DwarfReader in;
  const ForeignMemory &memory;
  const Registers &registers;
  std::vector<uint64_t> stack;
};

bool Evaluation::run(const uint64_t *first, uint64_t &value) {
  if (first)
    stack.push_back(*first);
  while (!in.isAtEnd()) // no jumps are supported, so the loop ends
    if (!step(static_cast<uint8_t>(in.number(1))) || in.failed)
      return false;
  if (stack.empty())
    return false;
  value = stack.back();
  return true;
}

bool Evaluation::step(uint8_t code) {
  if (code >= 0x30 && code <= 0x4f) // lit0 to lit31
    return push(code - 0x30u);
  if (code >= 0x70 && code <= 0x8f) { // breg0 to breg31
    size_t number = code - 0x70u;
    uint64_t offset = in.leb(true);
    return number < kRegisters && push(registers[number] + offset);
  }
  if (code >= 0x08 && code <= 0x0f) { // const1u, const1s, const2u ... const8s
    size_t bytes = size_t(1) << ((code - 0x08u) / 2);
    return push(code % 2 ? static_cast<uint64_t>(in.signedNumber(bytes)) : in.number(bytes));
  }
  if (code == 0x10 || code == 0x11) // constu, consts
    return push(in.leb(code == 0x11));
  return !stack.empty() && (unary(code) || binary(code));
}

bool Evaluation::unary(uint8_t code) {
  switch (code) {
  case 0x06: // deref
    return memory.read(stack.back(), stack.back());
  case 0x12: // dup
    return push(stack.back());
  case 0x23: // plus_uconst
    stack.back() += in.leb();
    return true;
  default:
    return false;
  }
}

bool Evaluation::binary(uint8_t code) {
  if (stack.size() < 2)
    return false;
  uint64_t right = stack.back();
  stack.pop_back();
  uint64_t &left = stack.back();
  auto a = static_cast<int64_t>(left), b = static_cast<int64_t>(right);
  switch (code) {
  case 0x1a: // and
    left &= right;
    return true;
  case 0x1c: // minus
    left -= right;
    return true;
  case 0x1e: // mul
    left *= right;
    return true;
  case 0x21: // or
    left |= right;
    return true;
  case 0x22: // plus
    left += right;
    return true;
  case 0x24: // shl
    left = right < 64 ? left << right : 0;
    return true;
  case 0x29: // eq, and so on
    left = a == b;
    return true;
  case 0x2a:
    left = a >= b;
    return true;
  case 0x2b:
    left = a > b;
    return true;
  case 0x2c:
    left = a <= b;
    return true;
  case 0x2d:
    left = a < b;
    return true;
  case 0x2e:
    left = a != b;
    return true;
  default:
    return false;
  }
}

} // namespace

bool evaluate(std::span<const uint8_t> bytes, const ForeignMemory &memory,
              const Registers &registers, const uint64_t *first, uint64_t &value) {
  return Evaluation(bytes, memory, registers).run(first, value);
}

} // namespace dtc::rt
