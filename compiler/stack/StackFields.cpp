// Lists the keys of a stack file.
#include "compiler/stack/StackFields.h"

#include "dialects/graph/OptimizerKind.h"
#include "dialects/graph/Precision.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

using Stack = SoftwareStack;

constexpr llvm::StringRef tables[] = {"planner", "kernels",       "traffic", "host",
                                      "kept",    "recomputation", "overlap", "collectives",
                                      "memory",  kSpaceTable};

// clang-format off
constexpr StackFlag flags[] = {
    {"planner", "searches_placements", &Stack::searchesPlacements,
     "which loop each op splits is searched; else it is Megatron's"},
    {"planner", "chooses_buckets", &Stack::choosesBuckets,
     "the size of gradient buckets is searched; else they are Megatron-Core's: 40 M elements, or 1 M a rank where that is more"},
    {"planner", "runs_programs", &Stack::runsPrograms,
     "it runs what 'dtc compile' writes, whose memory is planned to the byte"},
    {"kernels", "joins_pointwise", &Stack::joinsPointwise, "chains of elementwise ops are one kernel"},
    {"kernels", "product_epilogues", &Stack::productEpilogues,
     "products add biases and residuals, and take GELU by tanh or its derivative, of what they have in registers"},
    {"kernels", "parts_in_place", &Stack::partsInPlace,
     "slices and concatenations are places within a tensor; else they are copied"},
    {"kernels", "blocked_attention", &Stack::blockedAttention,
     "attention works block by block (FlashAttention): its scores are never in memory"},
    {"kernels", "joins_products", &Stack::joinsProducts,
     "products of one input are one, with their weights side by side: those of queries, keys and values, of a gate and what it gates, and of their gradients"},
    {"kernels", "fuses_gates", &Stack::fusesGates,
     "a gate's activation and what it is multiplied by are one kernel, and so are their gradients: the activated gate is never in memory; wants joins_pointwise"},
    {"kernels", "fuses_norm_gradients", &Stack::fusesNormGradients,
     "the gradients of a normalisation's parameters are made beside that of its input, of one reading"},
    {"host", "replays_graphs", &Stack::replaysGraphs,
     "what a step launches was recorded once and is replayed (CUDA graphs): a launch takes the device's graph_latency"},
    {"kept", "gathers_logits", &Stack::gathersLogits,
     "the loss sees the logits of all words on each rank of a tensor-parallel group"},
    {"recomputation", "selective_attention", &Stack::selectiveAttention,
     "selective recomputation is of attention alone; else of all that costs no product"},
    {"recomputation", "skips_unread", &Stack::skipsUnread,
     "full recomputation leaves out what the backward pass does not read, as a layer's last product; else a layer's forward pass is run again as it is"},
    {"recomputation", "gathers_again", &Stack::gathersAgain,
     "of ZeRO-3 with full recomputation: parameters are gathered once for recomputing and once more for the backward pass"},
    {"memory", "casts_gathered", &Stack::castsGathered,
     "of ZeRO-3 in 16 or 8 bits: what rests split are the optimizer's parameters in f32 alone, of which a layer is cast as it is gathered; else a copy in 16 bits rests beside them"},
    {"memory", "keeps_ends", &Stack::keepsEnds,
     "of ZeRO-3: embedding and head stay gathered through a step, and their gradients whole until its last backward pass"},
    {"memory", "keeps_sent", &Stack::keepsSent,
     "a pipeline stage holds the activations that it has sent on until their gradient comes back"},
    {"collectives", "sends_tokens_once", &Stack::sendsTokensOnce,
     "an expert-parallel exchange sends a token once to each rank, and over a network once to each node, however many of its experts are there"},
    {"collectives", "gathers_rows", &Stack::gathersRows,
     "of experts that tensor parallelism splits, with sequence parallelism: each rank exchanges the tokens of its part of the sequence, and then ranks gather what all of them have received; else every rank exchanges the tokens of the whole sequence"},
};

constexpr StackFigure figures[] = {
    {"kernels", "sustained", &Stack::sustained, 0, 1,
     "of the rate that compute/cost gives products and attention by themselves, what steps of training keep; 0: as the device's constants say, which are fitted on steps of other software"},
    {"kernels", "product_share", &Stack::productShare, 0.05, 4,
     "times the rate that compute/cost gives matrix products"},
    {"kernels", "attention_share", &Stack::attentionShare, 0.05, 4,
     "times the rate that compute/cost gives blocked attention"},
    {"kernels", "grouped_share", &Stack::groupedShare, 0.05, 4,
     "times product_share, of products of several experts"},
    {"kernels", "expert_imbalance", &Stack::expertImbalance, 1, 64,
     "work of the fullest expert over the mean, for which all wait"},
    {"traffic", "memory_traffic", &Stack::memoryTraffic, 0.05, 64,
     "times the bytes that the graph counts for ops without products: casts, dropout masks and copies come on top"},
    {"traffic", "composite_traffic", &Stack::compositeTraffic, 0.05, 64,
     "times memory_traffic, of RMS normalisation and rotary embedding: more where they are composed of a library's ops"},
    {"traffic", "score_traffic", &Stack::scoreTraffic, 0, 256,
     "of attention that is not blocked: elements moved for each score of a pass, besides those of its two products"},
    {"traffic", "loss_traffic", &Stack::lossTraffic, 0.05, 64,
     "times the bytes of logits that the graph counts for the loss and its gradient, in place of memory_traffic"},
    {"traffic", "cast_traffic", &Stack::castTraffic, 0, 64,
     "of 8-bit training: times the bytes of a product's operands and result, to cast and transpose them"},
    {"traffic", "dispatch_traffic", &Stack::dispatchTraffic, 0.05, 64,
     "times memory_traffic, of ordering tokens by expert and back, which the graph does in one pass each"},
    {"traffic", "accumulate_bytes", &Stack::accumulateBytes, 0, 64,
     "bytes moved for each parameter and micro-batch to add its gradient to the step's"},
    {"host", "seconds_per_layer", &Stack::hostSecondsPerLayer, 0, 1,
     "that the host takes to launch a layer's forward, which is never shorter; its backward takes twice that", Quantity::Seconds},
    {"host", "seconds_per_expert", &Stack::hostSecondsPerExpert, 0, 1,
     "the same on top, for each expert of a rank", Quantity::Seconds},
    {"kept", "kept_share", &Stack::keptShare, 0.05, 8,
     "times the bytes that the graph keeps from a layer's forward for its backward"},
    {"kept", "kept_share_8_bit", &Stack::keptShare8, 0.05, 8,
     "times kept_share, of 8-bit training, which may keep inputs of products in 8 bits"},
    {"kept", "rms_norm_kept", &Stack::rmsNormKept, 0, 64,
     "times the input of an RMS normalisation, kept on top for its backward"},
    {"kept", "logit_bytes", &Stack::logitBytes, 0, 256,
     "of training in 16 bits: bytes alive for each logit while the loss's gradient is computed: the logits, copies in f32, the gradient itself"},
    {"recomputation", "selective_share", &Stack::selectiveShare, 0, 1,
     "of a layer's forward, where selective recomputation is of so much of it and frees as much of what is kept; 0: as selective_attention says"},
    {"overlap", "tp_hidden", &Stack::tpHidden, 0, 1,
     "share of the seconds of tensor-parallel collectives that run beside compute, with sequence parallelism and without a network between"},
    {"overlap", "cp_hidden", &Stack::cpHidden, 0, 1, "the same of context parallelism"},
    {"overlap", "ep_hidden", &Stack::epHidden, 0, 1, "the same of expert parallelism"},
    {"overlap", "dp_hidden", &Stack::dpHidden, 0, 1,
     "share of the backward pass that reductions of gradients can hide behind, and of the forward pass that ZeRO's gathers once a step can"},
    {"overlap", "gather_hidden", &Stack::gatherHidden, 0, 1,
     "share of a layer's compute that what ZeRO-2 and 3 move for the layer can hide behind"},
    {"overlap", "p2p_hidden", &Stack::p2pHidden, 0, 1,
     "share of the seconds of transfers between stages that run beside compute, without virtual stages"},
    {"overlap", "overlap_slowdown", &Stack::overlapSlowdown, 1, 4,
     "1 and the seconds that compute loses to each second of a collective beside it"},
    {"collectives", "gather_share", &Stack::gatherShare, 0.01, 4,
     "times the rate that compute/cost gives collectives, of what ZeRO-2 and 3 move for a layer"},
    {"collectives", "reduce_bytes", &Stack::reduceBytes, 0.5, 8,
     "bytes of a gradient on the wire, of training in 16 or 8 bits"},
    {"memory", "reserved", &Stack::reservedBytes, 0, 1e12,
     "of each device: context, workspaces of libraries", Quantity::Bytes},
    {"memory", "communicator", &Stack::communicatorBytes, 0, 1e12,
     "for each mesh axis of more than one rank: buffers of the collectives' library", Quantity::Bytes},
    {"memory", "fragmentation", &Stack::fragmentation, 1, 8,
     "times activations and temporaries: what the allocator takes over what is alive"},
    {"memory", "gradient_bytes", &Stack::gradientBytes, 0.5, 8,
     "bytes of an accumulated gradient, of training in 16 or 8 bits"},
    {"memory", "whole_layers", &Stack::wholeLayers, 1, 16,
     "of ZeRO-3: layers whose parameters are gathered at a time; of ZeRO-2 and 3: those whose gradients are whole"},
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
     "of a mixture of experts tensor parallelism comes with sequence parallelism"},
    {"experts_within_data", &LegalSpace::expertsWithinData,
     "ep divides the ranks of dp, or of those that share what ZeRO splits; otherwise those of dp x cp"},
    {"folded_experts", &LegalSpace::foldedExperts,
     "experts may be whole on ranks of tensor parallelism, and ep spread them over tp, too"},
    {"splits_kv_heads", &LegalSpace::splitsKvHeads, "ranks of tp that do not divide the kv heads may share one"},
    {"uneven_heads", &LegalSpace::unevenHeads, "tp may be a number that does not divide the query heads"},
    {"uneven_inner", &LegalSpace::unevenInner,
     "tp may be a number that does not divide the inner width of feed-forward layers"},
    {"uneven_vocabulary", &LegalSpace::unevenVocabulary, "tp may be a number that does not divide the rows of the embedding"},
    {"slides_in_rings", &LegalSpace::slidesInRings, "sliding windows may be of attention whose keys go around a ring"},
    {"context_beside_pipeline", &LegalSpace::contextBesidePipeline, "cp and pp may both be more than 1"},
    {"offload_some_layers", &LegalSpace::offloadSomeLayers,
     "activations of a stage's first layers may be on the host, of as many as memory asks for; otherwise of all layers or of none"},
    {"offload_all_layers", &LegalSpace::offloadAllLayers,
     "where activations may be on the host, those of all of a stage's layers may; otherwise of all but one"},
    {"offload_beside_pipeline", &LegalSpace::offloadBesidePipeline,
     "activations may be on the host where pp is more than 1"},
    {"uneven_stages", &LegalSpace::unevenStages,
     "stages may have unlike numbers of layers"},
    {"uneven_tensor", &LegalSpace::unevenTensor,
     "stages on unlike devices may have unlike ranks of tensor and data parallelism"},
    {"even_recompute", &LegalSpace::evenRecompute,
     "where some layers recompute more than others, as many of each stage's every part do"},
    {"pipelines_reduce_last", &LegalSpace::pipelinesReduceLast,
     "where pp is more than 1, gradients travel as a whole after the backward pass"},
    {"half_reductions", &LegalSpace::halfReductions, "gradients may be reduced in 16 bits: --grad-dtype bf16"},
};

constexpr SpaceSet sets[] = {
    {"sequence_parallel", &LegalSpace::sequenceParallel, switches, "between the parts that tp splits"},
    {"context_kinds", &LegalSpace::contextKinds, contextKinds, "how ranks of context parallelism meet all keys of a sequence: they go around a ring, ranks swap parts of it for heads, groups swap and a ring goes over them, or all are gathered; none: cp is 1"},
    {"zero", &LegalSpace::zero, zeroStages, "stages of ZeRO"},
    {"zero_of_pipelines", &LegalSpace::zeroOfPipelines, zeroStages, "the same where pp is more than 1"},
    {"zero_groups", &LegalSpace::zeroGroups, stagesInGroups, "stages of ZeRO that may be within groups of ranks, which hold copies (HSDP)"},
    {"zero_of_contexts_and_experts", &LegalSpace::zeroOfContextsAndExperts, zeroStages, "stages of ZeRO where cp or ep is more than 1"},
    {"zero_that_reduces_last", &LegalSpace::zeroThatReducesLast, zeroStages, "stages of ZeRO without a pipeline whose gradients travel as a whole after the backward pass"},
    {"offload", &LegalSpace::offload, zeroStages, "stages of ZeRO with which the optimizer may be on the host; none: it never is"},
    {"schedules", &LegalSpace::schedules, schedules, "of pipelines"},
    {"fills_stages", &LegalSpace::fillsStages, schedules, "those that want a number of micro-batches that pp divides"},
    {"vocab_over_pp", &LegalSpace::vocabOverPp, vocabAlgorithms,
     "algorithms by which the stages of 1f1b and v-half share out embedding and output layer, of models that do not tie them; none: they are on the first and the last"},
    {"recompute", &LegalSpace::recompute, recomputes, "what all layers may recompute; groups of ops only where selective is of all that costs no product, and attention blocked"},
    {"recompute_mixes", &LegalSpace::recomputeMixes, mixes, "what some layers of a stage may recompute, and the others, of what all may; selective with groups of ops counts as selective, two such as selective-full"},
    {"offload_activations", &LegalSpace::offloadActivations, recomputes, "what layers may recompute that keep the rest on the host until their backward pass; others of their stage recompute the same. None: activations stay on the device"},
    {"precisions", &LegalSpace::precisions, precisions, "of training; fp8: products of linear layers in 8 bits"},
    {"optimizers", &LegalSpace::optimizers, optimizers, "that it has"},
    {"axis_orders", &LegalSpace::axisOrders, orders, "orders of the axes on the links, the innermost first"},
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
