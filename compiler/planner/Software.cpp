// The table of software stacks.
//
// Where a figure comes from stands beside it: [code] read off the stack's source; [doc] its
// documentation or paper; [fit] fitted on the fitting half of bench/planner's published rows, for
// all stacks that share the function; otherwise the default of Software.h, which is [assumed].
#include "compiler/planner/Software.h"

#include <vector>

namespace dtc {
namespace {

// What every process holds besides tensors: the CUDA context and libraries' workspaces, and NCCL's
// buffers, 544 to 688 MB a communicator (NVIDIA/nccl issue 964).
SoftwareStack onGpu(llvm::StringRef name) {
  SoftwareStack s;
  s.name = name;
  s.reservedBytes = 2e9;
  s.communicatorBytes = 0.5e9;
  return s;
}

// Megatron-LM before Transformer Engine: fused softmax, bias-gelu and bias-dropout-add.
SoftwareStack megatron(llvm::StringRef name) {
  SoftwareStack s = onGpu(name);
  s.blockedAttention = false;
  s.selectiveAttention = true; // [doc] Korthikanti et al. 2022
  s.dpHidden = 0;              // [code] gradients are reduced after the last backward pass
  // [code] vocab_parallel_cross_entropy moves 38 bytes a logit forward and 14 backward, of which
  // the graph's loss counts 6; logits in 16 bits, in f32, and their gradient.
  s.lossTraffic = 8.7;
  s.logitBytes = 8;
  s.accumulateBytes = 10; // [code] reads 16 and 32 bits, writes 32
  s.memoryTraffic = 0.55; // [fit]
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
  s.productShare = 0.8375; // [fit]
  s.memoryTraffic = 1.06;  // [fit]
  s.scoreTraffic = 6.4;    // [fit] ALiBi is added to the scores
  return s;
}

// Forks of Megatron-LM with FlashAttention.
SoftwareStack megatronFlash() {
  SoftwareStack s = megatron("megatron-flash");
  s.blockedAttention = true;
  s.accumulateBytes = 8;   // [code] added by the product's epilogue: reads and writes 32 bits
  s.memoryTraffic = 1.75;  // [fit]
  s.attentionShare = 0.85; // [fit]
  return s;
}

// Megatron-Core with Transformer Engine, as NeMo sets it.
SoftwareStack megatronCore() {
  SoftwareStack s = onGpu("megatron-core");
  s.selectiveAttention = true;
  s.lossTraffic = 4;     // [assumed] one fused pass over logits in f32, each way
  s.accumulateBytes = 7; // [fit]
  s.memoryTraffic = 1.15;
  s.attentionShare = 0.8;
  s.castTraffic = 0.14;
  s.tpHidden = 0.9;
  s.cpHidden = 0.2;
  s.epHidden = 0;
  s.dpHidden = 0.8;
  s.expertImbalance = 1.5;
  s.overlapSlowdown = 1.14;
  s.hostSecondsPerLayer = 2.1e-4;
  return s;
}

// Its releases with DeepEP and HybridEP.
SoftwareStack megatronBridge() {
  SoftwareStack s = megatronCore();
  s.name = "megatron-bridge";
  s.sendsTokensOnce = true; // [doc] dispatch of deepseek-ai/DeepEP
  return s;
}

// Aleph Alpha's code of 2023 with kernels switched on one by one: a Megatron of plain PyTorch ops.
SoftwareStack hagemann(llvm::StringRef name, bool flash, bool rmsKernel) {
  SoftwareStack s = onGpu(name);
  s.joinsPointwise = rmsKernel;
  s.blockedAttention = flash;
  s.selectiveAttention = true;
  s.dpHidden = 0;
  s.lossTraffic = 8.7;
  // F.cross_entropy on logits of the whole vocabulary: 16 bits, f32, their logarithms, two
  // gradients in f32 and one in 16 bits.
  s.logitBytes = 20;
  s.gathersLogits = true; // 13B with 8192 tokens in 4 samples runs out of memory on any mesh
  s.accumulateBytes = 6;
  s.gradientBytes = 2;    // 65B fits tp 2 x pp 2
  s.memoryTraffic = 1.75; // [fit]
  if (!rmsKernel) {
    s.compositeTraffic = 8; // [fit] counting passes of LlamaRMSNorm gives 8.5
    s.rmsNormKept = 3;      // [code] x and x / rms in f32, their product in 16 bits
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
  s.accumulateBytes = 8; // [code] copies into and out of the buckets
  s.memoryTraffic = 0.9;
  s.gatherHidden = 0.95;
  return s;
}

SoftwareStack llmFoundry() {
  SoftwareStack s = fsdp("llm-foundry");
  s.lossTraffic = 1;      // [code] FlashAttention's fused cross-entropy, which works in place
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

SoftwareStack deepspeedZero3() {
  SoftwareStack s = fsdp("deepspeed-zero3");
  s.blockedAttention = false;
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
  return s;
}

SoftwareStack oneflow() {
  SoftwareStack s = megatron("oneflow");
  s.selectiveAttention = false;
  return s;
}

// XLA.
SoftwareStack maxtext(llvm::StringRef name) {
  SoftwareStack s = onGpu(name);
  s.lossTraffic = 2;
  s.attentionShare = 0.7; // [fit]
  return s;
}

// Before XLA called cuDNN's attention.
SoftwareStack paxml() {
  SoftwareStack s = maxtext("paxml");
  s.blockedAttention = false;
  return s;
}

SoftwareStack neuron() {
  SoftwareStack s;
  s.name = "neuron";
  s.lossTraffic = 2;
  s.productShare = 1.2; // [fit] the device's constants are those of no known GPU
  return s;
}

SoftwareStack withScores(SoftwareStack s, double traffic) {
  s.scoreTraffic = traffic;
  return s;
}

std::vector<SoftwareStack> makeTable() {
  SoftwareStack flash1 = hagemann("hagemann-flash1", true, false);
  flash1.attentionShare = 1.06; // [fit]
  return {SoftwareStack(),
          megatron("megatron-2021"),
          megatronDeepspeed(),
          bigscience(),
          megatronFlash(),
          megatronCore(),
          megatronBridge(),
          withScores(hagemann("hagemann-torch", false, false), 15),
          withScores(hagemann("hagemann-fused", false, false), 6),
          flash1,
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

const SoftwareStack *softwareNamed(llvm::StringRef name) {
  for (const SoftwareStack &stack : softwareStacks())
    if (stack.name == name)
      return &stack;
  return nullptr;
}

} // namespace dtc
