// Checks which plans the software that runs them supports: the [space] of its stack. Internal to
// this folder.
#pragma once

#include "compiler/planner/Pins.h"
#include "compiler/stack/RecomputeMixes.h"
#include "compiler/topology/Topology.h"

namespace dtc {

// Returns true if the software supports the axes and their order.
bool isLegalMesh(const Decisions &decisions, const LegalSpace &space);

// A stage of ZeRO, its groups, and the optimizer on the host.
bool isLegalZero(const Decisions &decisions, const LegalSpace &space);

// Returns true if the software can train a model of `layers` layers with the decisions.
bool isLegal(const Decisions &decisions, const LegalSpace &space, int64_t layers);

// A pin that the software can't obey: names it, the software and what it has instead.
std::optional<UserError> checkLegal(const Pins &pins, const SoftwareStack &software);

// Returns an error for an optimizer or a reduction type that the software does not have; unknown
// names are checked elsewhere.
std::optional<UserError> checkTraining(llvm::StringRef optimizer, llvm::StringRef gradDtype,
                                       const SoftwareStack &software);

// A precision ("fp8") that the software or the device can't train in: names it and what there is
// instead.
std::optional<UserError> checkPrecision(llvm::StringRef precision, const SoftwareStack &software,
                                        const Topology &topology);

} // namespace dtc
