// Kernels for the emulated GPU in the form that passes/simt generates, written by hand, without
// checks of their accesses.
#include "runtime/simt/Abi.h"

#include <cstdint>

namespace {

using dtc::simt::abi::Import;
using dtc::simt::abi::KernelInfo;
using dtc::simt::abi::ModuleInfo;

void *threadSlot, *blockSlot;
uint32_t call(void *slot) { return reinterpret_cast<uint32_t (*)()>(slot)(); }

template <typename T> T parameter(void **parameters, int index) {
  return *static_cast<T *>(parameters[index]);
}

// y[unit] = 2 * x[unit] + k
void scale(void **parameters) {
  auto *x = parameter<const float *>(parameters, 0);
  auto *y = parameter<float *>(parameters, 1);
  auto k = parameter<int64_t>(parameters, 2);
  auto unit = call(blockSlot);
  if (call(threadSlot) == 0)
    y[unit] = 2 * x[unit] + static_cast<float>(k);
}

// y[unit] = x[unit] + y[unit]
void add(void **parameters) {
  auto *x = parameter<const float *>(parameters, 0);
  auto *y = parameter<float *>(parameters, 1);
  auto unit = call(blockSlot);
  if (call(threadSlot) == 0)
    y[unit] = x[unit] + y[unit];
}

// Runs several launches of add at once, with blocks of four units, as dtc::format::mergedUnits
// describes.
void addMerged(void **parameters) {
  auto *firsts = parameter<const uint64_t *>(parameters, 0);
  auto *records = parameter<const uint64_t *>(parameters, 1);
  auto count = parameter<uint64_t>(parameters, 2), block = uint64_t(call(blockSlot));
  uint64_t piece = 0;
  while (piece + 1 < count && firsts[piece + 1] <= block)
    ++piece;
  const uint64_t *record = records + 3 * piece;
  uint64_t unit = 4 * (block - firsts[piece]) + call(threadSlot);
  if (call(threadSlot) < 4 && 4 * unit < record[0])
    reinterpret_cast<float *>(record[2])[unit] += reinterpret_cast<const float *>(record[1])[unit];
}

const Import imports[] = {{"llvm.nvvm.read.ptx.sreg.tid.x", &threadSlot},
                          {"llvm.nvvm.read.ptx.sreg.ctaid.x", &blockSlot}};
const uint32_t pointers[] = {8, 8, 8, 8};
const KernelInfo kernels[] = {{"scale", scale, pointers, 4, 0, 0, 0},
                              {"add", add, pointers, 3, 0, 64, 64},
                              {"add_merged", addMerged, pointers, 3, 0, 256, 256}};

} // namespace

extern "C" __attribute__((visibility("default"))) const ModuleInfo dtc_simt_module;
const ModuleInfo dtc_simt_module = {dtc::simt::abi::version, 2, 3, 0, imports, kernels, nullptr, 0};
