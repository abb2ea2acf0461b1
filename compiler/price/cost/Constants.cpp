// The table of constants. Each figure has its source; "assumed" marks those without a measurement.
#include "compiler/price/cost/Constants.h"

namespace dtc {
namespace {

// Sources
// [fit]    fitted on the fitting half of bench/planner's published rows; H200 as H100.
// [mamf]   stas00/ml-engineering, compute/accelerator, maximum achievable matmul FLOPS: A100 271.2,
// H100 794.5 (bf16),
//          1402.6 (fp8) TFLOP/s.
// [fa]     Dao-AILab/flash-attention, assets/: forward and backward TFLOP/s against the sequence
// length, causal. The
//          curves share x peak x T / (T + halfLength) fit the charts from 512 to 16384 within 5
//          percent.
// [vtrain] VIA-Research/vTrain, trace/a100: NCCL all-reduce, 8 GPUs, 1 to 1024 MB: 77 us + 227.3
// GB/s bus bandwidth. [dgxc]   NVIDIA/dgxc-benchmarking, nccl/README.md: all-reduce on 8 H100, 1
// MiB to 16 GiB: 31 us + 440 GB/s. [ring]   stas00/ml-engineering, network/benchmarks: ring
// all-reduce on 8 H200: 363 to 367 GB/s of 450. [simai]  aliyun/SimAI, calbusbw.cc: 48.5 GB/s of a
// 50 GB/s adapter. [cal]    calculon-ai/calculon, systems/: 0.90 of the memory bandwidth for large
// tensors. [cpu]    one core of Zen 3 (peak 102.7 GFLOP/s): oneDNN 2.6.3 f32 products of training
// shapes 85 to 92 percent,
//          1024 x 1024 x k 64 69.9 GFLOP/s, 1024 x 64 x k 1024 92.8 GFLOP/s.

// Returns the constants that GPUs of this generation share; assumed.
constexpr DeviceConstants blackwell(llvm::StringRef prefix,
                                    std::array<double, numComputeTypes> productShare,
                                    double sustained) {
  return {.prefix = prefix,
          .productShare = productShare,
          .sustained = sustained,
          .pointwiseShare = 0.5,
          .memoryShare = 0.90,
          .halfK = 64,
          .splitK = 512,
          .tiles = {{{256, 256, 1.0}, {128, 256, 0.95}, {128, 128, 0.8}}},
          .attention64 = {0.3, 500},
          .attention128 = {0.5, 480}};
}

constexpr DeviceConstants gpuTable[] = {
    {.prefix = "A100",
     .productShare = {0.87, 0.87, 0.869, 0.869,
                      0},   // [mamf] for bf16; f16 the same; f32 and tf32 assumed
     .sustained = 0.885,    // [fit]
     .pointwiseShare = 0.5, // an addition is half of a fused multiply-add
     .memoryShare = 0.90,   // [cal]
     .halfK = 64,           // assumed: one k block of filling and draining the pipeline
     .splitK = 512,         // assumed
     .tiles = {{{256, 128, 1.0},
                {128, 128, 0.95},
                {64, 64, 0.7}}},    // CUTLASS's default shapes; relative rates assumed
     .attention64 = {0.561, 500},   // [fa] FlashAttention-2, 171 TFLOP/s at 16384
     .attention128 = {0.625, 480}}, // [fa] FlashAttention-2, 189 TFLOP/s at 16384
    {.prefix = "H100",
     .productShare = {0.80, 0.80, 0.803, 0.803, 0.709}, // [mamf]; f32 and tf32 assumed
     .sustained = 0.8125,                               // [fit]
     .pointwiseShare = 0.5,
     .memoryShare = 0.90, // [cal]; a copy on an H200 runs at 4.3 of 4.8 TB/s
     .halfK = 64,
     .splitK = 512,
     .tiles = {{{128, 256, 1.0}, {128, 128, 0.95}, {64, 64, 0.6}}},
     .attention64 = {0.356, 395},   // [fa] cuDNN forward, times 0.88 for the backward as
                                    // FlashAttention-2 has it there
     .attention128 = {0.509, 380}}, // [fa] the same, times 0.90
    {.prefix = "H200",
     .productShare = {0.80, 0.80, 0.80, 0.80, 0.734}, // [mamf] 1453.4 in 8 bits; others as H100
     .sustained = 0.8125,                             // [fit]
     .pointwiseShare = 0.5,
     .memoryShare = 0.90,
     .halfK = 64,
     .splitK = 512,
     .tiles = {{{128, 256, 1.0}, {128, 128, 0.95}, {64, 64, 0.6}}},
     .attention64 = {0.356, 395},
     .attention128 = {0.509, 380}},
    {.prefix = "V100",
     .productShare = {0.85, 0, 0, 0.80, 0}, // assumed
     .sustained = 0.8125,                   // [fit]
     .pointwiseShare = 0.5,
     .memoryShare = 0.85,
     .halfK = 64,
     .splitK = 512,
     .tiles = {{{256, 128, 1.0}, {128, 128, 0.95}, {64, 64, 0.7}}},
     .attention64 = {0.3, 500},
     .attention128 = {0.35, 480}},
    blackwell("B200", {0.80, 0.78, 0.776, 0.776, 0.763}, 0.7), // [mamf]; [fit]
    blackwell("B300", {0.80, 0.78, 0.786, 0.786, 0.763},
              0.7), // [mamf] in 16 bits; 8 bits as B200; [fit]
    blackwell("GB200", {0.80, 0.73, 0.729, 0.729, 0.723}, 0.725), // [mamf] of GB200; [fit]
    blackwell("GB300", {0.80, 0.73, 0.729, 0.729, 0.723}, 0.94),  // [mamf] of GB200; [fit]
    {.prefix = "MI3",                                             // MI300X and MI355X
     .productShare = {0.6, 0.5, 0.511, 0.511, 0.45}, // [mamf] of MI300X in 16 bits; others assumed
     .sustained = 0.82, // assumed: about the mean of those that are fitted
     .pointwiseShare = 0.5,
     .memoryShare = 0.80,
     .halfK = 64,
     .splitK = 512,
     .tiles = {{{256, 256, 1.0}, {128, 128, 0.9}, {64, 64, 0.6}}},
     .attention64 = {0.25, 500},
     .attention128 = {0.35, 480}},
    {.prefix = "TPU",
     .productShare = {0.95, 0.95, 0.95, 0.95, 0.95}, // assumed: the compiler keeps the array fed
     .sustained = 0.88,                              // [fit]
     .pointwiseShare = 0.5,
     .memoryShare = 0.85,
     .halfK = 64,
     .splitK = 0,
     .tiles = {{{128, 128, 1.0}, {8, 128, 0.8}, {8, 128, 0.8}}},
     .attention64 = {0.4, 500}, // assumed
     .attention128 = {0.5, 480}},
    {.prefix = "", // a GPU without figures of its own: like an A100
     .productShare = {0.80, 0.80, 0.80, 0.80, 0.70},
     .sustained = 0.82, // assumed: about the mean of those that are fitted
     .pointwiseShare = 0.5,
     .memoryShare = 0.85,
     .halfK = 64,
     .splitK = 512,
     .tiles = {{{256, 128, 1.0}, {128, 128, 0.95}, {64, 64, 0.7}}},
     .attention64 = {0.4, 500},
     .attention128 = {0.5, 480}},
};

constexpr DeviceConstants cpuTable = {
    .prefix = "",
    .productShare = {0.87, 0.87, 0.87, 0.87, 0}, // [cpu]
    .pointwiseShare = 0.5,
    .memoryShare = 1.0, // the discovered bandwidth is already on the safe side
    .halfK = 16,        // [cpu] k 64 reaches 0.68 of the peak, 0.87 x 64 / (64 + 16) = 0.70
    .splitK = 0,
    .tiles = {{{64, 64, 1.0},
               {32, 32, 0.95},
               {8, 16, 0.8}}}, // register tiles are small; relative rates assumed
    .attention64 =
        {0.5,
         32}, // [cpu] the products of its blocks alone reach 0.77; the exponentials are assumed
    .attention128 = {0.6, 32}};

} // namespace

const DeviceConstants &constantsOf(const DeviceKind &device) {
  if (device.deviceClass == DeviceClass::Cpu)
    return cpuTable;
  for (const DeviceConstants &entry : gpuTable)
    if (llvm::StringRef(device.name).starts_with(entry.prefix))
      return entry;
  return gpuTable[std::size(gpuTable) - 1];
}

} // namespace dtc
