// What the software around the kernels does with a plan: what it joins, hides and materialises.
#pragma once

#include "compiler/topology/Topology.h"

namespace dtc {

// One row per software stack; dtc's own is the default. The others exist to check the cost model
// against published measurements and to answer what a plan would cost elsewhere. Constants are
// fitted or read off the stack's documentation; Software.cpp says which, one by one.
struct SoftwareStack {
  llvm::StringRef name = "dtc";
  bool joinsPointwise = true;   // chains of elementwise ops are one kernel
  bool blockedAttention = true; // scores are never in memory
  // Selective recomputation is of attention alone (Korthikanti et al. 2022), not of all that costs
  // no product.
  bool selectiveAttention = false;
  double productShare = 1; // of the rate that compute/cost gives products, as the stack calls them
  double attentionShare = 1; // the same of attention
  double memoryTraffic = 1;  // times the bytes of memory-bound ops (casts, dropout masks, copies)
  double castTraffic = 0; // of 8-bit training: times the bytes of a product's operands and result,
                          // to cast and transpose them
  // The same of RMS normalisation and rotary embedding: more where they are composed of ops of a
  // library.
  double compositeTraffic = 1;
  double rmsNormKept = 0; // times the input of an RMS normalisation, kept on top for its backward
  // Of attention that is not blocked: 16-bit elements moved for each score of a pass, besides those
  // of its two products.
  double scoreTraffic = 6;
  // Of a layer's forward, where selective recomputation is of so much of it; 0: of what
  // selectiveOps or selectiveAttention say.
  double selectiveShare = 0;
  // An expert-parallel exchange sends a token once to each rank, and once to each node over the
  // network, however many of its experts are there.
  bool sendsTokensOnce = false;
  double lossTraffic = 1; // times the bytes that the loss and its gradient read and write of logits
  // Moved for each parameter of a micro-batch to add its gradient to the step's.
  double accumulateBytes = 0;
  // Alive for each logit while the loss's gradient is computed: copies in f32, the gradient itself.
  double logitBytes = 4;
  bool gathersLogits = false; // the loss sees all words on each rank of a tensor group
  double keptShare8 =
      1; // the same again of 8-bit training, which keeps inputs of products in 8 bits
  double keptShare = 1;      // times the bytes kept for the backward pass
  double tpHidden = 0;       // share of tensor-parallel collectives that runs beside compute
  double cpHidden = 0.8;     // the same of context parallelism
  double epHidden = 0;       // the same of expert parallelism
  double dpHidden = 0.9;     // share of the backward pass that gradients can hide in
  double gatherHidden = 0.9; // share of a layer's compute that ZeRO-3's gathers can hide in
  // Of the rate of a collective, that gathers and reductions of ZeRO-3 reach.
  double gatherShare = 1;
  bool gathersAgain = false; // recomputation releases what it gathered before the backward pass
  double p2pHidden = 1;      // share of transfers between stages that runs beside compute
  double interleavedP2pHidden = 1; // the same with virtual stages
  double overlapSlowdown = 1.05;   // of compute beside communication
  double expertImbalance = 1;      // work of the fullest expert over the mean
  double groupedShare = 1;         // of productShare, that products of many experts reach
  // Times the bytes that are moved to order tokens by expert and back, which the graph does in one
  // pass each.
  double dispatchTraffic = 1;
  double hostSecondsPerStep = 0;
  // A layer's forward is not shorter than the host takes to launch it, its backward than twice
  // that.
  double hostSecondsPerLayer = 0;
  double hostSecondsPerExpert = 0; // on top, for each expert of a rank
  double reservedBytes = 0;        // context, libraries' workspaces
  double communicatorBytes = 0;    // per axis of more than one rank
  double fragmentation = 1;        // times all memory of the allocator
  double gradientBytes = 4;        // per parameter, of 16-bit training
  double reduceBytes = 4;          // per gradient on the wire
};

// All rows of the table, "dtc" first.
llvm::ArrayRef<SoftwareStack> softwareStacks();

// "dtc", or a stack of the table; null where there is none of that name. On GPUs "dtc" is the row
// "dtc-gpu".
const SoftwareStack *softwareNamed(llvm::StringRef name, const DeviceKind &device);

} // namespace dtc
