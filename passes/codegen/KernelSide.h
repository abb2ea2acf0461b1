// The processors that kernels run on.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// The processor that a kernel runs on: the host for kernels marked graph.host, else the device.
enum class KernelSide { Any, Device, Host };
// True if the kernel runs on `side`.
bool isAt(graph::FuncOp kernel, KernelSide side);

} // namespace dtc
