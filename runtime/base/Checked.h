// Arithmetic that detects overflow, for sizes that come from a file.
#pragma once

#include <cstdint>

namespace dtc::format {

// Computes result = a + b; returns false if the true value does not fit, and then result is
// unspecified.
template <typename T> [[nodiscard]] bool checkedAdd(T a, T b, T &result) {
  return !__builtin_add_overflow(a, b, &result);
}
// Computes result = a * b; returns false if the true value does not fit, and then result is
// unspecified.
template <typename T> [[nodiscard]] bool checkedMul(T a, T b, T &result) {
  return !__builtin_mul_overflow(a, b, &result);
}

// A count that remembers overflow, so that a formula can be written as one: (Checked(rows) - 1) *
// ld + columns. Subtraction below zero overflows too. Example: (Checked(~0ull) + 1).ok() is false.
class Checked {
public:
  Checked(uint64_t value) : number(value) {}

  bool ok() const { return fits; }
  // Returns the value; only valid if ok().
  uint64_t value() const { return number; }
  // Returns true if the value is known and at most `limit`.
  bool atMost(uint64_t limit) const { return fits && number <= limit; }

  friend Checked operator+(Checked a, Checked b) {
    return Checked(a, b, [](auto x, auto y, auto &r) { return checkedAdd(x, y, r); });
  }
  friend Checked operator*(Checked a, Checked b) {
    return Checked(a, b, [](auto x, auto y, auto &r) { return checkedMul(x, y, r); });
  }
  friend Checked operator-(Checked a, Checked b) {
    return Checked(a, b, [](auto x, auto y, auto &r) { return !__builtin_sub_overflow(x, y, &r); });
  }

private:
  template <typename F> Checked(Checked a, Checked b, F f) : number(0) {
    fits = f(a.number, b.number, number) && a.fits && b.fits;
  }
  uint64_t number;
  bool fits = true;
};

} // namespace dtc::format
