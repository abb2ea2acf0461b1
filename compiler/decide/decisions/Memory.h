// Changes of the decisions about memory.
#pragma once

#include "compiler/decide/decisions/Pins.h"

namespace dtc {

// Returns the decisions with other layers on the host. If all layers are there, all recompute the
// same.
Decisions withLayersOnHost(Decisions decisions, LayersOnHost layers);
// Returns the decisions of a finished plan, in which `onHost` of `layers` layers are on the host.
Decisions withOffloadedLayers(Decisions decisions, int64_t onHost, int64_t layers);
// Returns true if something is on the host that a plan for these pins may have on the devices: the
// optimizer, or the activations of all layers.
bool offloadsUnasked(const Decisions &decisions, const Pins &pins);

} // namespace dtc
