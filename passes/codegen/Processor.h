// The kinds of processors that kernels are compiled for.
#pragma once

namespace dtc {

// The kind of processor that runs the kernels.
enum class Processor { Cpu, Gpu };

} // namespace dtc
