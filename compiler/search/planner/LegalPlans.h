// Checks which plans the software that runs them supports: the [space] of its stack. Internal to
// this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/describe/topology/Topology.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/StateType.h"

namespace dtc {

// Returns true if the software supports the axes and their order.
bool isLegalMesh(const Decisions &decisions, const LegalSpace &space);

// Returns true if the software supports the ZeRO stage, its groups, and the optimizer on the host.
bool isLegalZero(const Decisions &decisions, const LegalSpace &space);

// Returns true if the software can train a model of `layers` layers with the decisions.
bool isLegal(const Decisions &decisions, const LegalSpace &space, int64_t layers);

// Returns an error for a pin that the software does not support. It names the pin, the software and
// the supported values.
std::optional<UserError> checkLegal(const Pins &pins, const SoftwareStack &software);

// Returns an error for a pin of gradient buckets, or of whether gradients are reduced beside the
// backward pass, that the software does not leave to the planner.
std::optional<UserError> checkBuckets(const Pins &pins, const SoftwareStack &software);

// Returns an error for an optimizer or a reduction type that the software does not have. Without
// `gradDtype` the software reduces in its own type.
std::optional<UserError> checkTraining(Optimizer optimizer, std::optional<GradientType> gradDtype,
                                       const SoftwareStack &software);

// Returns an error for a precision that the software or the device cannot train in. It names the
// precision and the supported ones.
std::optional<UserError> checkPrecision(Precision precision, const SoftwareStack &software,
                                        const Topology &topology);

// Returns a phrase on what a pin of `sp` or `tp` asks of placements, which the software may search
// otherwise: "sp=1 asks for Megatron's placements". Returns "" if no pin asks for any.
std::string impliedBy(const Pins &pins, const SoftwareStack &software);

} // namespace dtc
