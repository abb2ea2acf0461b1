// Runs CUDA kernels on the CPU, one fiber per thread, and checks each of their steps. The code
// comes from passes/simt: the LLVM IR that also becomes PTX, compiled to a shared object for
// x86-64.
//
// Example:
//   std::unique_ptr<Module> module;
//   DTC_RETURN_IF_ERROR(loadModule(object, module));
//   Memory memory;                       // runtime/simt/Memory.h
//   void *x; uint64_t n = 1000;
//   DTC_RETURN_IF_ERROR(memory.allocate(4 * n, x));
//   void *parameters[] = {&x, &n};       // as cuLaunchKernel's kernelParams
//   Status status = launch(*module->find("fill"), {8}, {128}, 0, parameters, memory);
#pragma once

#include "runtime/base/Status.h"
#include "runtime/simt/AccessCount.h"
#include "runtime/simt/LaunchOptions.h"
#include "runtime/simt/Memory.h"
#include "runtime/simt/Module.h"

#include <cstdint>

namespace dtc::simt {

// Runs `kernel` to its end on `grid` blocks of `block` threads. `parameters` holds the address of
// each parameter, and `dynamicShared` is a size in bytes.
// InvalidArgument tells what is wrong with the launch itself (limits of the hardware, .reqntid).
// Internal is the first fault of the kernel, with kernel, block, thread, source line if it is
// known, and address. Faults are: an access outside of any range or of its space, misaligned, of
// bytes that were never written, or in a race with another thread; a barrier that some threads do
// not reach; an operation of a warp that lanes do not meet at; a kernel that does not end. The
// launch ends at the fault.
// Launches on different memories may run at the same time in different threads.
rt::Status launch(const Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared,
                  void **parameters, Memory &memory, const Options &options = {},
                  Counters *counters = nullptr);

} // namespace dtc::simt
