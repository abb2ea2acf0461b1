// What the software that runs a plan can do of it: the [space] of its stack. Internal to this
// folder.
#pragma once

#include "compiler/planner/Pins.h"
#include "compiler/stack/RecomputeMixes.h"
#include "compiler/topology/Topology.h"

namespace dtc {

// What is decided of axes and their order alone.
bool isLegalMesh(const Decisions &decisions, const LegalSpace &space);

// A stage of ZeRO, its groups, and the optimizer on the host.
bool isLegalZero(const Decisions &decisions, const LegalSpace &space);

// Whether the software can train that way, of a model with so many layers.
bool isLegal(const Decisions &decisions, const LegalSpace &space, int64_t layers);

// A pin that the software can't obey: names it, the software and what it has instead.
std::optional<UserError> checkLegal(const Pins &pins, const SoftwareStack &software);

// Of an optimizer or a type of reductions that the software does not have; names that no one knows are for others to refuse.
std::optional<UserError> checkTraining(llvm::StringRef optimizer, llvm::StringRef gradDtype,
                                       const SoftwareStack &software);

// A precision ("fp8") that the software or the device can't train in: names it and what there is instead.
std::optional<UserError> checkPrecision(llvm::StringRef precision, const SoftwareStack &software,
                                        const Topology &topology);

} // namespace dtc
