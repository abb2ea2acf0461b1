// Collectives and transfers of a program in host memory.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/device/Device.h"

namespace dtc::rt {

// Runs the collective or transfer `command` in the calling thread, over `group`.
Status runCollective(const Command &command, Comm &group);

} // namespace dtc::rt
