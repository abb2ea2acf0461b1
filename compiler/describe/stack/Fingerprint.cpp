#include "compiler/describe/stack/Fingerprint.h"

#include "compiler/describe/stack/StackFields.h"

namespace dtc {

std::string fingerprintOf(const SoftwareStack &stack) {
  std::string text = stack.name;
  for (const StackFlag &flag : stackFlags())
    text += stack.*flag.member ? " 1" : " 0";
  for (const StackFigure &figure : stackFigures())
    text += " " + exactText(stack.*figure.member);
  for (const SpaceFlag &flag : spaceFlags())
    text += stack.space.*flag.member ? " 1" : " 0";
  for (const SpaceSet &set : spaceSets())
    text += " " + std::to_string(stack.space.*set.member);
  return text;
}

} // namespace dtc
