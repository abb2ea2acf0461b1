// Lists the keys of a stack file.
#include "compiler/describe/stack/StackFields.h"

#include "dialects/graph/OptimizerKind.h"
#include "dialects/graph/Precision.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>

namespace dtc {
namespace {

using Stack = SoftwareStack;

constexpr llvm::StringRef tables[] = {"planner", "kernels",       "traffic", "host",
                                      "kept",    "recomputation", "overlap", "collectives",
                                      "memory",  kSpaceTable};

// clang-format off
constexpr StackFlag flags[] = {
    {"planner", "searches_placements", &Stack::searchesPlacements,
     "the planner searches which loop of each op tensor parallelism splits; otherwise the splits are those of Megatron"},
    {"planner", "chooses_buckets", &Stack::choosesBuckets,
     "the planner searches the size of gradient buckets; otherwise the size is that of Megatron-Core: 40 M elements, or 1 M per rank where that is more"},
    {"planner", "runs_programs", &Stack::runsPrograms,
     "the stack runs what 'dtc compile' writes, whose memory is planned to the byte"},
    {"kernels", "joins_pointwise", &Stack::joinsPointwise, "chains of elementwise ops are one kernel"},
    {"kernels", "product_epilogues", &Stack::productEpilogues,
     "matrix products have epilogues in registers: they add biases and residuals, and apply GELU by tanh or its derivative"},
    {"kernels", "parts_in_place", &Stack::partsInPlace,
     "slices and concatenations are views of a tensor; otherwise they are copies"},
    {"kernels", "blocked_attention", &Stack::blockedAttention,
     "attention works block by block (FlashAttention), so its scores are never in memory"},
    {"kernels", "joins_products", &Stack::joinsProducts,
     "matrix products with the same input are one, with their weights side by side: those of queries, keys and values, of a gate and the value that it gates, and of their gradients"},
    {"kernels", "fuses_gates", &Stack::fusesGates,
     "a gate's activation and its multiplication with the gated value are one kernel, and so are their gradients, so the activated gate is never in memory; needs joins_pointwise"},
    {"kernels", "fuses_norm_gradients", &Stack::fusesNormGradients,
     "the gradients of a normalisation's parameters are computed with that of its input, from one read"},
    {"host", "replays_graphs", &Stack::replaysGraphs,
     "a step is recorded once and replayed (CUDA graphs): a launch takes the device's graph_latency"},
    {"kept", "gathers_logits", &Stack::gathersLogits,
     "the loss sees the logits of the whole vocabulary on each rank of a tensor-parallel group"},
    {"recomputation", "selective_attention", &Stack::selectiveAttention,
     "selective recomputation repeats attention alone; otherwise all ops but matrix products"},
    {"recomputation", "skips_unread", &Stack::skipsUnread,
     "full recomputation leaves out ops that the backward pass does not read, such as a layer's last matrix product; otherwise it repeats a layer's whole forward pass"},
    {"recomputation", "gathers_again", &Stack::gathersAgain,
     "ZeRO-3 with full recomputation: parameters are gathered once to recompute and once more for the backward pass"},
    {"memory", "casts_gathered", &Stack::castsGathered,
     "ZeRO-3 in 16 or 8 bits: between uses only the optimizer's f32 parameters are stored, split, and a layer is cast as it is gathered; otherwise a copy in 16 bits is stored beside them"},
    {"memory", "keeps_ends", &Stack::keepsEmbeddingAndHead,
     "ZeRO-3: embedding and head stay gathered through a step, and their gradients whole until its last backward pass"},
    {"memory", "keeps_sent", &Stack::keepsSent,
     "a pipeline stage holds the activations that it has sent until their gradient arrives"},
    {"collectives", "sends_tokens_once", &Stack::sendsTokensOnce,
     "dispatch to experts sends a token once to each rank, and over a network once to each node, however many of its experts are there"},
    {"collectives", "gathers_rows", &Stack::gathersRows,
     "experts that tensor parallelism splits, under sequence parallelism: each rank dispatches the tokens of its part of the sequence, and then the ranks gather what all of them have received; otherwise every rank dispatches the tokens of the whole sequence"},
};

constexpr StackFigure figures[] = {
    {"kernels", "sustained", &Stack::sustained, 0, 1,
     "share of the rate that compiler/price/cost gives matrix products and attention alone which steps of training sustain; 0: as the device's constants say, which are fitted on steps of other software"},
    {"kernels", "product_share", &Stack::productShare, 0.05, 4,
     "factor on the rate that compiler/price/cost gives matrix products"},
    {"kernels", "attention_share", &Stack::attentionShare, 0.05, 4,
     "factor on the rate that compiler/price/cost gives blocked attention"},
    {"kernels", "grouped_share", &Stack::groupedShare, 0.05, 4,
     "factor on product_share for the matrix products of several experts"},
    {"kernels", "expert_imbalance", &Stack::expertImbalance, 1, 64,
     "work of the fullest expert over the mean; all ranks wait for the fullest"},
    {"traffic", "memory_traffic", &Stack::memoryTraffic, 0.05, 64,
     "factor on the bytes that the graph counts for all ops but matrix products: casts, dropout masks and copies come on top"},
    {"traffic", "composite_traffic", &Stack::compositeTraffic, 0.05, 64,
     "factor on memory_traffic for RMS normalisation and rotary embedding: larger where they are composed of a library's ops"},
    {"traffic", "score_traffic", &Stack::scoreTraffic, 0, 256,
     "elements that attention without blocks moves for each score of a pass, besides those of its two matrix products"},
    {"traffic", "loss_traffic", &Stack::lossTraffic, 0.05, 64,
     "factor on the bytes of logits that the graph counts for the loss and its gradient, instead of memory_traffic"},
    {"traffic", "cast_traffic", &Stack::castTraffic, 0, 64,
     "8-bit training: factor on the bytes of a matrix product's operands and result, to cast and transpose them"},
    {"traffic", "dispatch_traffic", &Stack::dispatchTraffic, 0.05, 64,
     "factor on memory_traffic for ordering tokens by expert and back, which takes one pass each in the graph"},
    {"traffic", "accumulate_bytes", &Stack::accumulateBytes, 0, 64,
     "bytes moved for each parameter and micro-batch to add its gradient to that of the step"},
    {"host", "seconds_per_layer", &Stack::hostSecondsPerLayer, 0, 1,
     "seconds of the host to launch a layer's forward pass, which is never shorter; the backward pass takes twice as long", Quantity::Seconds},
    {"host", "seconds_per_expert", &Stack::hostSecondsPerExpert, 0, 1,
     "seconds of the host on top, for each expert of a rank", Quantity::Seconds},
    {"kept", "kept_share", &Stack::keptShare, 0.05, 8,
     "factor on the bytes that the graph saves from a layer's forward pass for its backward pass"},
    {"kept", "kept_share_8_bit", &Stack::keptShare8, 0.05, 8,
     "factor on kept_share in 8-bit training, which may save inputs of matrix products in 8 bits"},
    {"kept", "rms_norm_kept", &Stack::rmsNormKept, 0, 64,
     "bytes saved on top for the backward pass of an RMS normalisation, as a multiple of its input"},
    {"kept", "logit_bytes", &Stack::logitBytes, 0, 256,
     "training in 16 bits: bytes alive for each logit while the loss's gradient is computed (the logits, copies in f32, the gradient itself)"},
    {"recomputation", "selective_share", &Stack::selectiveShare, 0, 1,
     "share of a layer's forward pass that selective recomputation repeats, and of its saved activations that it frees; 0: as selective_attention says"},
    {"overlap", "tp_hidden", &Stack::tpHidden, 0, 1,
     "share of the seconds of tensor-parallel collectives that overlap with compute, under sequence parallelism and without a network in between"},
    {"overlap", "cp_hidden", &Stack::cpHidden, 0, 1, "the same share for context parallelism"},
    {"overlap", "ep_hidden", &Stack::epHidden, 0, 1, "the same share for expert parallelism"},
    {"overlap", "dp_hidden", &Stack::dpHidden, 0, 1,
     "share of the backward pass that reductions of gradients can hide behind, and of the forward pass that ZeRO's gathers once a step can hide behind"},
    {"overlap", "gather_hidden", &Stack::gatherHidden, 0, 1,
     "share of a layer's compute that the layer's collectives of ZeRO-2 and 3 can hide behind"},
    {"overlap", "p2p_hidden", &Stack::p2pHidden, 0, 1,
     "share of the seconds of transfers between stages that overlap with compute, without virtual stages"},
    {"overlap", "overlap_slowdown", &Stack::overlapSlowdown, 1, 4,
     "1 plus the seconds that compute loses to each second of a collective that overlaps with it"},
    {"collectives", "gather_share", &Stack::gatherShare, 0.01, 4,
     "factor on the rate that compiler/price/cost gives collectives, for those of a layer under ZeRO-2 and 3"},
    {"collectives", "reduce_bytes", &Stack::reduceBytes, 0.5, 8,
     "bytes of a gradient on the wire, in training in 16 or 8 bits"},
    {"memory", "reserved", &Stack::reservedBytes, 0, 1e12,
     "bytes of each device for its context and the workspaces of libraries", Quantity::Bytes},
    {"memory", "communicator", &Stack::communicatorBytes, 0, 1e12,
     "bytes of the collectives' library for each mesh axis of more than one rank", Quantity::Bytes},
    {"memory", "fragmentation", &Stack::fragmentation, 1, 8,
     "factor on activations and temporaries for what the allocator takes on top"},
    {"memory", "gradient_bytes", &Stack::gradientBytes, 0.5, 8,
     "bytes of an accumulated gradient, in training in 16 or 8 bits"},
    {"memory", "whole_layers", &Stack::wholeLayers, 1, 16,
     "ZeRO-3: layers whose parameters are gathered at a time; ZeRO-2 and 3: layers whose gradients are whole at a time"},
};
constexpr llvm::StringRef switches[] = {"off", "on"};
constexpr llvm::StringRef contextKinds[] = {"ring", "all-to-all", "both", "all-gather"};
constexpr llvm::StringRef zeroStages[] = {"0", "1", "2", "3"};
constexpr llvm::StringRef stagesInGroups[] = {"1", "2", "3"};
constexpr llvm::StringRef schedules[] = {"gpipe", "1f1b",  "interleaved", "zero-bubble",
                                         "zb-v",  "zb-2p", "v-half",      "v-min"};
constexpr llvm::StringRef vocabAlgorithms[] = {"1", "2"};  // Yeung et al. 2024, arXiv:2411.05288
constexpr llvm::StringRef recomputes[] = {"none", "selective", "selective+attention", "selective+linear",
                                          "selective+attention+linear", "selective+experts",
                                          "selective+attention+experts", "selective+linear+experts",
                                          // in the order of Recompute
                                          "selective+attention+linear+experts", "full"};
constexpr llvm::StringRef mixes[] = {"none-selective", "none-full", "selective-full"};
constexpr auto precisions = nameColumn(kPrecisions);
constexpr auto optimizers = nameColumn(kOptimizers);
constexpr llvm::StringRef orders[] = {"any", "tp-cp-dp-pp", "tp-cp-pp-dp"};

constexpr SpaceFlag spaces[] = {
    {"tensor_parallel", &LegalSpace::tensorParallel, "tp may be more than 1"},
    {"pipeline_parallel", &LegalSpace::pipelineParallel, "pp may be more than 1"},
    {"expert_parallel", &LegalSpace::expertParallel, "ep may be more than 1"},
    {"experts_beside_tensor", &LegalSpace::expertsBesideTensor,
     "tensor parallelism may split experts, with ep of 1 or more"},
    {"experts_want_sequence", &LegalSpace::expertsWantSequence,
     "mixtures of experts: tensor parallelism needs sequence parallelism"},
    {"experts_within_data", &LegalSpace::expertsWithinData,
     "ep divides the ranks of dp, or of a group of ZeRO; otherwise the ranks of dp x cp"},
    {"folded_experts", &LegalSpace::foldedExperts,
     "experts may be folded over tp: whole on their rank, with ep spread over the ranks of tp, too"},
    {"splits_kv_heads", &LegalSpace::splitsKvHeads, "ranks of tp may share a kv head where tp does not divide the kv heads"},
    {"uneven_heads", &LegalSpace::unevenHeads, "tp may be a number that does not divide the query heads"},
    {"uneven_inner", &LegalSpace::unevenInner,
     "tp may be a number that does not divide the inner width of feed-forward layers"},
    {"uneven_vocabulary", &LegalSpace::unevenVocabulary, "tp may be a number that does not divide the rows of the embedding"},
    {"slides_in_rings", &LegalSpace::slidesInRings, "attention with a sliding window may be ring attention"},
    {"context_beside_pipeline", &LegalSpace::contextBesidePipeline, "cp and pp may both be more than 1"},
    {"offload_some_layers", &LegalSpace::offloadSomeLayers,
     "activations of a stage's first layers may be on the host, as many layers as memory asks for; otherwise all layers or none"},
    {"offload_all_layers", &LegalSpace::offloadAllLayers,
     "activations of all layers of a stage may be on the host; otherwise of all but one"},
    {"offload_beside_pipeline", &LegalSpace::offloadBesidePipeline,
     "activations may be on the host where pp is more than 1"},
    {"loss_in_chunks", &LegalSpace::lossInChunks,
     "output layer, loss and their gradients may be computed for chunks of a micro-batch's tokens one after another"},
    {"uneven_stages", &LegalSpace::unevenStages,
     "stages may have different numbers of layers"},
    {"uneven_tensor", &LegalSpace::unevenTensor,
     "stages on heterogeneous devices may have different numbers of ranks of tensor and data parallelism"},
    {"even_recompute", &LegalSpace::evenRecompute,
     "where some layers recompute more than others, each chunk of a stage has equally many of them"},
    {"pipelines_reduce_last", &LegalSpace::pipelinesReduceLast,
     "where pp is more than 1, gradients are reduced as a whole after the backward pass"},
    {"half_reductions", &LegalSpace::halfReductions, "gradients may be reduced in 16 bits: --grad-dtype bf16"},
};

constexpr SpaceSet sets[] = {
    {"sequence_parallel", &LegalSpace::sequenceParallel, switches, "sequence parallelism between the regions that tp splits"},
    {"context_kinds", &LegalSpace::contextKinds, contextKinds, "kinds of context parallelism: ring attention, all-to-all of heads, both (all-to-all in groups, a ring over the groups), or all-gathered keys; none: cp is 1"},
    {"zero", &LegalSpace::zero, zeroStages, "stages of ZeRO"},
    {"zero_of_pipelines", &LegalSpace::zeroOfPipelines, zeroStages, "stages of ZeRO where pp is more than 1"},
    {"zero_groups", &LegalSpace::zeroGroups, stagesInGroups, "stages of ZeRO that may be within groups of ranks, which hold copies (HSDP)"},
    {"zero_of_contexts_and_experts", &LegalSpace::zeroOfContextsAndExperts, zeroStages, "stages of ZeRO where cp or ep is more than 1"},
    {"zero_that_reduces_last", &LegalSpace::zeroThatReducesLast, zeroStages, "stages of ZeRO without a pipeline whose gradients are reduced as a whole after the backward pass"},
    {"offload", &LegalSpace::offload, zeroStages, "stages of ZeRO with which the optimizer may be on the host; none: it never is"},
    {"schedules", &LegalSpace::schedules, schedules, "pipeline schedules"},
    {"fills_stages", &LegalSpace::fillsStages, schedules, "pipeline schedules that need a multiple of pp as the number of micro-batches"},
    {"vocab_over_pp", &LegalSpace::vocabOverPp, vocabAlgorithms,
     "algorithms of vocabulary parallelism over the stages of 1f1b and v-half, for models whose embedding and head are not tied; none: they are on the first and the last stage"},
    {"recompute", &LegalSpace::recompute, recomputes, "kinds of recomputation for all layers; groups of ops only where selective recomputation repeats all ops but matrix products, and attention is blocked"},
    {"recompute_mixes", &LegalSpace::recomputeMixes, mixes, "pairs of kinds of recomputation within a stage, of those that all layers may have; selective with groups of ops counts as selective, two such kinds as selective-full"},
    {"offload_activations", &LegalSpace::offloadActivations, recomputes, "kinds of recomputation of layers that keep their other activations on the host until their backward pass; the other layers of the stage recompute the same; none: activations stay on the device"},
    {"precisions", &LegalSpace::precisions, precisions, "precisions of training; fp8: matrix products of linear layers in 8 bits"},
    {"optimizers", &LegalSpace::optimizers, optimizers, "optimizers"},
    {"axis_orders", &LegalSpace::axisOrders, orders, "orders of the mesh axes on the links, innermost first"},
};
// clang-format on

} // namespace

llvm::ArrayRef<SpaceFlag> spaceFlags() { return spaces; }
llvm::ArrayRef<SpaceSet> spaceSets() { return sets; }

const SpaceSet &spaceSet(llvm::StringRef key) {
  return *llvm::find_if(sets, [&](const SpaceSet &set) { return set.key == key; });
}

std::string wordsOf(const SpaceSet &set, const LegalSpace &space) {
  std::string words;
  for (auto [index, word] : llvm::enumerate(set.words))
    if (space.*set.member >> index & 1)
      words += (words.empty() ? "" : ", ") + word.str();
  return words;
}

llvm::ArrayRef<llvm::StringRef> stackTables() { return tables; }
llvm::ArrayRef<StackFigure> stackFigures() { return figures; }
llvm::ArrayRef<StackFlag> stackFlags() { return flags; }

std::string exactText(double value) {
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

std::vector<llvm::StringRef> keysOf(llvm::StringRef table) {
  std::vector<llvm::StringRef> keys;
  for (const StackFlag &flag : flags)
    if (flag.table == table)
      keys.push_back(flag.key);
  for (const StackFigure &figure : figures)
    if (figure.table == table)
      keys.push_back(figure.key);
  if (table == kSpaceTable) {
    for (const SpaceFlag &flag : spaces)
      keys.push_back(flag.key);
    for (const SpaceSet &set : sets)
      keys.push_back(set.key);
  }
  return keys;
}

} // namespace dtc
