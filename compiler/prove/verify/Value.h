// The abstract value of bytes: along which mesh axes ranks differ, hold parts of a sum, and so on.
#pragma once

#include "compiler/prove/verify/AxisSet.h"
#include "compiler/prove/verify/RingTokens.h"
#include "compiler/prove/verify/RowOrders.h"

namespace dtc {

// The properties of a value over all ranks of a program. Values form a lattice: the join of two is
// the least that is true of whatever is made of both.
struct Value {
  AxisSet axes = 0;    // axes along which ranks may hold different values
  AxisSet partial = 0; // axes along which it is a part of a sum
  AxisSet samples = 0; // axes along which ranks have samples of their own, not summed over yet
  // Axes along which ranks have exchanged the samples for what only they have (experts): with it
  // the value is made of the samples of all.
  AxisSet exchanged = 0;
  RingTokens ring; // whose tokens it is made of where they pass round a ring
  // The order of rows of experts, or the number of integers that a routing has chosen.
  RowOrders::Number order = RowOrders::kNone;
  AxisSet reduced = 0;   // axes along which it was summed, or needs no sum
  uint32_t together = 0; // 1 + group of several programs that it was reduced over; 0: none
  bool isZero = false;

  bool operator==(const Value &) const = default;

  // Returns the value of no bytes, the neutral element of join().
  static Value ofNothing();
  // Becomes the value of bytes that depend on this value and on `other`, or that hold both side by
  // side. Zeros need no sum, so that they take nothing from `reduced`.
  void join(const Value &other);
  // Becomes the sum of this value and `before`, to which it is added in place.
  void addTo(const Value &before);
  // Becomes the value of bytes of which some keep `before`.
  void keep(const Value &before);

  // The sum over all ranks along `axes` was taken.
  void finishSum(AxisSet along);
  // The ranks along these axes, which split samples, have exchanged them for what only they have,
  // or back. Returns false if part of the value was exchanged and part was not.
  bool exchange(AxisSet along);
  // Returns the axes of `batch` along which the value, a gradient of a tensor with parts along
  // `shards`, has yet to be summed. Experts of a rank have met the samples of all ranks.
  AxisSet toBeSummed(AxisSet batch, AxisSet shards) const;
  // It went on by `shift` positions in a ring of `ranks`.
  void passOn(uint32_t shift, uint32_t ranks);
  // All ranks along these axes hold the same from now on.
  void equalise(AxisSet along);
};

} // namespace dtc
