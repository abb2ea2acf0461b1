// The table of software stacks.
//
// Where a figure comes from stands beside it: [code] read off the stack's source; [doc] its
// documentation or paper; [fit] fitted on the fitting half of bench/planner's published rows, for
// all stacks that share the function; otherwise the default of Software.h, which is [assumed].
#include "compiler/estimate/Software.h"

#include <vector>

namespace dtc {
namespace {

// What every process holds besides tensors: the CUDA context and libraries' workspaces, and NCCL's
// buffers, 544 to 688 MB a communicator (NVIDIA/nccl issue 964). Of 80 GiB a driver shows programs
// 79.2.
SoftwareStack onGpu(llvm::StringRef name) {
  SoftwareStack s;
  s.name = name;
  s.reservedBytes = 2.9e9;
  s.communicatorBytes = 0.5e9;
  s.fragmentation = 1.05; // [assumed] of PyTorch's allocator
  s.castTraffic = 0.3;    // [fit] of Megatron-Core; others cast with its library, or as it does
  return s;
}

// [assumed] Some 50 launches of 10 us of a layer's forward in eager PyTorch; nanotron's is fitted.
constexpr double kEagerLayer = 5e-4;

// Megatron-LM before Transformer Engine: fused softmax, bias-gelu and bias-dropout-add.
SoftwareStack megatron(llvm::StringRef name) {
  SoftwareStack s = onGpu(name);
  s.blockedAttention = false;
  s.selectiveAttention = true; // [doc] Korthikanti et al. 2022
  s.dpHidden = 0;              // [code] gradients are reduced after the last backward pass
  // [code] schedules.py: without virtual stages each send and receive is waited for.
  s.p2pHidden = 0;
  s.hostSecondsPerLayer = kEagerLayer;
  // [code] vocab_parallel_cross_entropy moves 38 bytes a logit forward and 14 backward, of which
  // the graph's loss counts 6; logits in 16 bits, in f32, and their gradient.
  s.lossTraffic = 8.7;
  s.logitBytes = 8;
  s.accumulateBytes = 10; // [code] reads 16 and 32 bits, writes 32
  s.memoryTraffic = 0.65; // [fit]
  s.scoreTraffic = 3.75;  // [fit]
  return s;
}

SoftwareStack megatronDeepspeed() {
  SoftwareStack s = megatron("megatron-deepspeed");
  s.accumulateBytes = 6; // [code] in 16 bits
  return s;
}

// BigScience's fork of Megatron-DeepSpeed on Jean Zay.
SoftwareStack bigscience() {
  SoftwareStack s = megatronDeepspeed();
  s.name = "bigscience";
  s.productShare = 0.86; // [fit]
  s.memoryTraffic = 1.5; // [fit]
  s.scoreTraffic = 8.4;  // [fit] ALiBi is added to the scores
  return s;
}

// Forks of Megatron-LM with FlashAttention.
SoftwareStack megatronFlash() {
  SoftwareStack s = megatron("megatron-flash");
  s.blockedAttention = true;
  s.accumulateBytes = 8;   // [code] added by the product's epilogue: reads and writes 32 bits
  s.memoryTraffic = 1.95;  // [fit] dropout and its masks are moved too
  s.attentionShare = 0.65; // [fit]
  return s;
}

// Megatron-Core with Transformer Engine, as NeMo sets it.
SoftwareStack megatronCore() {
  SoftwareStack s = onGpu("megatron-core");
  s.selectiveAttention = true;
  s.p2pHidden = 0;     // [code] as Megatron's
  s.keptShare = 0.85;  // [code] bias_swiglu does not keep the activated gate: 3 of 4 inner tensors
  s.keptShare8 = 0.8;  // [code] Transformer Engine keeps inputs of 8-bit products in 8 bits
  s.gradientBytes = 2; // [doc] NeMo's recipes: grad_reduce_in_fp32 false
  s.reduceBytes = 2;
  s.lossTraffic = 4; // [assumed] one fused pass over logits in f32, each way
  // [code] token_dispatcher.py: tokens are ordered by expert, exchanged, and
  // ordered again by the receiver's experts. Benchmarks force balanced routing
  // or drop what is over the capacity.
  s.dispatchTraffic = 3;
  s.groupedShare = 0.9; // [assumed] a little below one product of as many rows
  // [assumed] GroupedLinear casts and multiplies expert by expert: some 20
  // launches of 10 us.
  s.hostSecondsPerExpert = 2e-4;
  // [fit] from here on
  s.accumulateBytes = 4.4;
  s.memoryTraffic = 1.03;
  s.attentionShare = 0.8;
  s.tpHidden = 1;
  s.cpHidden = 0.06;
  s.epHidden = 0;
  s.dpHidden = 0.4;
  s.overlapSlowdown = 1.13;
  s.hostSecondsPerLayer = 7e-5;
  return s;
}

// Without what NVIDIA's recipes add against the host's time.
SoftwareStack megatronCoreEager() {
  SoftwareStack s = megatronCore();
  s.name = "megatron-core-eager";
  s.hostSecondsPerLayer = kEagerLayer;
  return s;
}

// Its releases with DeepEP and HybridEP.
SoftwareStack megatronBridge() {
  SoftwareStack s = megatronCore();
  s.name = "megatron-bridge";
  s.sendsTokensOnce = true; // [doc] dispatch of deepseek-ai/DeepEP
  return s;
}

// With all-to-all exchanges, the default where neither is asked for.
SoftwareStack megatronBridgeAllToAll() {
  SoftwareStack s = megatronBridge();
  s.name = "megatron-bridge-alltoall";
  s.sendsTokensOnce = false;
  return s;
}

// The iteration is one CUDA graph: the host launches it once.
SoftwareStack captured(SoftwareStack s, llvm::StringRef name) {
  s.name = name;
  s.hostSecondsPerLayer = s.hostSecondsPerExpert = 0;
  return s;
}

// Exchanges of one micro-batch run beside another's products.
SoftwareStack overlapped(SoftwareStack s, llvm::StringRef name) {
  s.name = name;
  s.epHidden = 0.37; // [doc] Megatron-Bridge,
                     // skills/nemo-mbridge-perf-moe-comm-overlap: 36.55 %
  return s;
}

// What dtc is taken to do on GPUs until it has been measured there: kernels as
// Megatron-Core's, and no collective hidden better than in any documented
// stack; tensor-parallel ones, which it does not cut up, not at all.
SoftwareStack dtcOnGpu() {
  SoftwareStack s = megatronCore();
  s.name = "dtc-gpu";
  s.selectiveAttention = false;
  s.keptShare = s.keptShare8 = 1;
  s.gradientBytes = 4;
  s.reduceBytes = 4;
  s.accumulateBytes = 8;
  s.logitBytes = 8;
  s.tpHidden = 0;
  s.p2pHidden = 1;            // its transfers are their own tasks
  s.gatherHidden = 0.8;       // [assumed] less than what is fitted for FSDP
  s.expertImbalance = 1.2;    // [assumed] routing that a balance loss holds together
  s.hostSecondsPerExpert = 0; // its products of experts are one launch
  return s;
}

// Aleph Alpha's code of 2023 with kernels switched on one by one: a Megatron of plain PyTorch ops.
SoftwareStack hagemann(llvm::StringRef name, bool flash, bool rmsKernel) {
  SoftwareStack s = onGpu(name);
  s.joinsPointwise = rmsKernel;
  s.blockedAttention = flash;
  s.selectiveAttention = true;
  s.dpHidden = 0;
  s.p2pHidden = 0;
  s.hostSecondsPerLayer = kEagerLayer;
  // [code] F.cross_entropy on logits of the whole vocabulary: 16 bits, f32, their logarithms, two
  // gradients in f32 and one in 16 bits.
  s.lossTraffic = 6.7;
  s.logitBytes = 20;
  s.gathersLogits = true; // 13B with 8192 tokens in 4 samples runs out of memory on any mesh
  s.accumulateBytes = 6;
  // [fit] PyTorch's allocator: the least that lets no more than 2 of 100 runs in that ran out of
  // memory.
  s.fragmentation = 1.25;
  s.gradientBytes = 2;    // 65B fits tp 2 x pp 2
  s.memoryTraffic = 1.65; // [fit]
  if (!rmsKernel) {
    s.compositeTraffic = 8.5; // [code] passes of LlamaRMSNorm
    s.rmsNormKept = 3;        // [code] x and x / rms in f32, their product in 16 bits
  }
  return s;
}

// PyTorch's FSDP without torch.compile.
SoftwareStack fsdp(llvm::StringRef name) {
  SoftwareStack s = onGpu(name);
  s.joinsPointwise = false;
  s.lossTraffic =
      6.7; // [code] f32 logits, log-softmax, two gradients: 40 bytes where the graph has 6
  s.logitBytes = 20;
  s.hostSecondsPerLayer = kEagerLayer;
  s.accumulateBytes = 8;     // [code] copies into and out of the buckets
  s.memoryTraffic = 1.3;     // [fit]
  s.gatherHidden = 1;        // [fit]
  s.overlapSlowdown = 1.075; // [fit]
  return s;
}

SoftwareStack llmFoundry() {
  SoftwareStack s = fsdp("llm-foundry");
  s.lossTraffic = 1; // [code] FlashAttention's fused cross-entropy, which works in place
  s.logitBytes = 4;
  s.attentionShare = 0.5; // [fit] Triton's kernel with ALiBi
  return s;
}

// torchtitan: selective recomputation is of every second layer or of every second product.
SoftwareStack torchtitan(llvm::StringRef name, bool compiled) {
  SoftwareStack s = fsdp(name);
  s.selectiveShare = 0.5; // [doc] torchtitan's activation_checkpoint.selective_ac_option
  s.joinsPointwise = compiled;
  return s;
}

// DeepSpeed of 2021 and 2022.
SoftwareStack deepspeedZero3() {
  SoftwareStack s = fsdp("deepspeed-zero3");
  s.blockedAttention = false;
  // [code] stage3.py gathers for each module's call and releases after it, also
  // when it is called again to recompute.
  s.gathersAgain = true;
  // [fit] One parameter at a time, which the host waits for (DeepSpeed issues
  // 1069, 1170, 1174).
  s.gatherShare = 0.15;
  s.lossTraffic = 8.7;
  s.logitBytes = 8;
  return s;
}

SoftwareStack nanotron() {
  SoftwareStack s = onGpu("nanotron");
  s.joinsPointwise = false;
  s.lossTraffic = 8.7; // [code] sharded cross-entropy as Megatron's
  s.logitBytes = 8;
  s.accumulateBytes = 10;
  s.memoryTraffic = 1.1;        // [fit]
  s.hostSecondsPerLayer = 7e-4; // [fit]
  return s;
}

SoftwareStack oneflow() {
  SoftwareStack s = megatron("oneflow");
  s.selectiveAttention = false;
  s.hostSecondsPerLayer = 0; // a graph that its own runtime starts
  return s;
}

// XLA.
SoftwareStack maxtext(llvm::StringRef name) {
  SoftwareStack s = onGpu(name);
  s.lossTraffic = 2;
  s.attentionShare = 0.7; // [fit]
  s.keptShare = 0.25;     // [assumed] save_qkv_proj: 4 to 5 of a layer's 20 tensors
  return s;
}

// Before XLA called cuDNN's attention.
SoftwareStack paxml() {
  SoftwareStack s = maxtext("paxml");
  s.blockedAttention = false;
  // [doc] SAVE_QKV_OUT_PROJ and the like keep products with weights of
  // attention alone: the gate's products and attention are computed again, half
  // of a layer's forward.
  s.selectiveShare = 0.5;
  return s;
}

SoftwareStack neuron() {
  SoftwareStack s;
  s.name = "neuron";
  s.lossTraffic = 2;
  s.productShare = 1.3; // [fit] the device's constants are those of no known GPU
  return s;
}

// FlashAttention before its second version.
SoftwareStack withFlash1(SoftwareStack s) {
  s.attentionShare = 0.55; // [doc] Dao 2023: 25 to 40 % of the peak, version 2 50 to 73 %
  return s;
}

SoftwareStack withScores(SoftwareStack s, double traffic) {
  s.scoreTraffic = traffic;
  return s;
}

std::vector<SoftwareStack> makeTable() {
  return {SoftwareStack(),
          dtcOnGpu(),
          megatron("megatron-2021"),
          megatronDeepspeed(),
          bigscience(),
          megatronFlash(),
          megatronCore(),
          megatronCoreEager(),
          megatronBridge(),
          megatronBridgeAllToAll(),
          overlapped(megatronBridge(), "megatron-bridge-overlap"),
          overlapped(megatronBridgeAllToAll(), "megatron-bridge-alltoall-overlap"),
          captured(megatronBridge(), "megatron-bridge-graph"),
          captured(overlapped(megatronBridge(), ""), "megatron-bridge-graph-overlap"),
          withScores(hagemann("hagemann-torch", false, false), 15),
          withScores(hagemann("hagemann-fused", false, false), 6),
          withFlash1(hagemann("hagemann-flash1", true, false)),
          hagemann("hagemann-flash2", true, false),
          hagemann("hagemann-flash2-rms", true, true),
          llmFoundry(),
          torchtitan("fsdp-eager", false),
          torchtitan("fsdp-compiled", true),
          deepspeedZero3(),
          nanotron(),
          oneflow(),
          maxtext("maxtext"),
          paxml(),
          neuron()};
}

} // namespace

llvm::ArrayRef<SoftwareStack> softwareStacks() {
  static const std::vector<SoftwareStack> table = makeTable();
  return table;
}

const SoftwareStack *softwareNamed(llvm::StringRef name, const DeviceKind &device) {
  if (name == "dtc" && device.deviceClass == DeviceClass::Gpu)
    name = "dtc-gpu";
  for (const SoftwareStack &stack : softwareStacks())
    if (stack.name == name)
      return &stack;
  return nullptr;
}

} // namespace dtc
