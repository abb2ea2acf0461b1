#include "compiler/prove/verify/Value.h"

#include <utility>

namespace dtc {

Value Value::ofNothing() {
  Value value;
  value.reduced = kAllAxes;
  value.isZero = true;
  return value;
}

void Value::join(const Value &other) {
  addTo(other);
  if (other.together)
    together = other.together;
}

void Value::addTo(const Value &before) {
  axes |= before.axes;
  partial |= before.partial;
  samples |= before.samples;
  exchanged |= before.exchanged;
  ring |= before.ring;
  order = RowOrders::joined(order, before.order);
  if (!before.isZero)
    reduced &= before.reduced;
  isZero = isZero && before.isZero;
}

void Value::keep(const Value &before) {
  axes |= before.axes;
  partial |= before.partial;
  samples |= before.samples;
  exchanged |= before.exchanged;
  ring |= before.ring;
  order = RowOrders::joined(order, before.order);
  reduced &= before.reduced;
}

void Value::finishSum(AxisSet along) {
  partial = axesWithout(partial, along);
  samples = axesWithout(samples, along);
  exchanged = axesWithout(exchanged, along);
}

bool Value::exchange(AxisSet along) {
  if ((samples & along) == along && !(exchanged & along)) {
    samples = axesWithout(samples, along);
    exchanged |= along;
    return true;
  }
  if ((exchanged & along) != along || (samples & along))
    return false;
  exchanged = axesWithout(exchanged, along);
  samples |= along;
  return true;
}

AxisSet Value::toBeSummed(AxisSet batch, AxisSet shards) const {
  AxisSet own = axesWithout(exchanged & shards, samples);
  return axesWithout(batch, reduced | own);
}

void Value::passOn(uint32_t shift, uint32_t ranks) {
  uint64_t before = std::exchange(ring.positions, 0);
  for (uint32_t position = 0; position < RingTokens::kMostPositions; ++position)
    if (before >> position & 1)
      ring.positions |= uint64_t(1) << (position + shift) % ranks % RingTokens::kMostPositions;
}

void Value::equalise(AxisSet along) { axes = axesWithout(axes, along); }

} // namespace dtc
