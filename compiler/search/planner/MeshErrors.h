// The errors of pins of a mesh, and of spaces without meshes. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"
#include "compiler/support/Error.h"

#include <optional>

namespace dtc {

// Returns an error for a pin that no mesh of the space has, with the nearest value that one has.
std::optional<UserError> checkMeshPins(const SpaceLimits &limits, const Pins &pins);

// Returns the error of a space in which pins and limits leave no mesh.
UserError noMeshLeft(const SpaceLimits &limits, const Pins &pins);

} // namespace dtc
