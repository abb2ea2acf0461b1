#include "compiler/prove/verify/Value.h"

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
  if (!before.isZero)
    reduced &= before.reduced;
  isZero = isZero && before.isZero;
}

void Value::keep(const Value &before) {
  axes |= before.axes;
  partial |= before.partial;
  samples |= before.samples;
  reduced &= before.reduced;
}

void Value::finishSum(AxisSet along) {
  partial = axesWithout(partial, along);
  samples = axesWithout(samples, along);
}

void Value::equalise(AxisSet along) { axes = axesWithout(axes, along); }

} // namespace dtc
