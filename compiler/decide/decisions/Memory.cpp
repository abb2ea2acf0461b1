// Recomputation, and what is in the host's memory.
#include "compiler/decide/decisions/Memory.h"

#include "compiler/decide/decisions/Families.h"
#include "compiler/decide/decisions/LegalSpace.h"
#include "compiler/decide/decisions/RecomputeMixes.h"
#include "compiler/decide/decisions/Words.h"

namespace dtc::families {
namespace {

constexpr llvm::StringRef kInStages = "the stages beside the key list it for each layer";
constexpr LeftOut kOfLayers[] = {
    kOfTheStep[0], kOfTheStep[1], kOfTheStep[2], kOfTheStep[3], {KeptResult::Lowered, kInStages}};

// The least and the most are read together: "mixed" leaves them to the stages, which list the kind
// of each layer, and is any least that is above the most.
std::string readRecompute(llvm::StringRef word, Decisions &d) {
  if (std::optional<Recompute> all = recomputeFrom(word)) {
    d.recompute = d.recomputeMost = *all;
    return "";
  }
  d.recompute = Recompute::Full;
  d.recomputeMost = Recompute::None;
  return word == "mixed" ? ""
                         : "is '" + word.str() + "', wanted one of mixed, " + listOfRecomputes();
}

std::optional<UserError> readPinnedRecompute(const std::string &text, Decisions &d) {
  std::optional<Recompute> all = recomputeFrom(text);
  d.recompute = d.recomputeMost = all.value_or(d.recompute);
  if (all)
    return std::nullopt;
  return refusedWord("recompute", text, "there is no such recomputation",
                     "choices are " + listOfRecomputes());
}

std::string pinOfRecompute(const Decisions &d) {
  return d.mayRecomputeMore() ? "" : toString(d.recompute).str();
}

int pointsOfRecompute(const Decisions &d) {
  if (d.recompute == Recompute::None && !d.mayRecomputeMore())
    return 0;
  bool isUsual = d.recompute == Recompute::Selective || d.recompute == Recompute::Full;
  return isUsual && !d.mayRecomputeMore() ? 2 : 3;
}

std::string layersOf(const Decisions &d) { return toString(d.layersOnHost).str(); }

std::string phraseOfLayers(const Decisions &d) { return "activations of " + offloadText(d); }

std::string readLayers(llvm::StringRef word, Decisions &d) {
  for (LayersOnHost each : {LayersOnHost::None, LayersOnHost::Some, LayersOnHost::All})
    if (word == toString(each)) {
      d.layersOnHost = each;
      return "";
    }
  return "is '" + word.str() + "', wanted one of none, some, all";
}

constexpr StackRule kStacksOfRecompute[] = {
    {.keys = "recompute",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.mayRecomputeMore() ? mayMix(d.recompute, d.recomputeMost, space)
                                       : hasWordOf(space.recompute, d.recompute);
         },
     .mend = "recompute can be {recompute}"}};

constexpr StackRule kStacksOfOptimizer[] = {
    {.keys = "offload_optimizer",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return !d.offloadOptimizer || space.offload != 0; },
     .mend = "use offload=0",
     .part = StackRule::Part::Zero},
    {.keys = "zero,offload_optimizer",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return !d.offloadOptimizer || hasWordOf(space.offload, d.zero);
         },
     .mend = "with that, zero can be {offload}",
     .part = StackRule::Part::Zero}};

constexpr StackRule kStacksOfLayers[] = {
    {.keys = "offload_activations",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return !d.offloadsLayers() || space.offloadActivations != 0;
         },
     .mend = "use offload_activations=0"},
    {.keys = "offload_activations",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return !d.offloadsLayers() ||
                  (d.offloadsAllLayers() ? space.offloadAllLayers : space.offloadSomeLayers);
         },
     .mend = "there all layers but one are on the host at most; leave it out, and as few are as "
             "memory asks for"},
    {.keys = "offload_activations,recompute",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return !d.offloadsAllLayers() || hasWordOf(space.offloadActivations, d.recompute);
         },
     .mend = "with that on, recompute can be {offload_activations}"},
    {.keys = "offload_activations,pp",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return !d.offloadsLayers() || d.pp == 1 || space.offloadBesidePipeline;
         },
     .mend = "one of them has to go"}};

std::string phraseOfLossChunks(const Decisions &d) {
  return d.lossChunks == 1 ? "loss of all tokens at once"
                           : "loss in " + std::to_string(d.lossChunks) + " chunks";
}

// Passes S and T of stages that share the vocabulary compute the loss in their own way.
constexpr Rule kRulesOfLossChunks[] = {
    {.keys = "loss_chunks,vocab_over_pp",
     .holds = [](const Decisions &d) { return d.lossChunks == 1 || d.vocabOverPp == 0; },
     .why = "stages that share the vocabulary compute the loss of a micro-batch at once",
     .mend = "use loss_chunks=1 or vocab_over_pp=0"}};

constexpr StackRule kStacksOfLossChunks[] = {
    {.keys = "loss_chunks",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.lossChunks == 1 || space.lossInChunks; },
     .mend = "use loss_chunks=1"}};

constexpr Decision kMemoryRows[] = {
    {.key = "recompute",
     .field = fieldOf<&Decisions::recompute>(),
     .value = recomputeText,
     .listing = Listing::IfUnusual,
     .phrase = [](const Decisions &d) { return "recompute " + recomputeText(d); },
     .plan = {.form = PlanForm::Word, .readWord = readRecompute},
     .pin = {.name = "recompute",
             .meaning = "what all layers recompute in the backward pass",
             .words = "none, selective, selective+attention, selective+linear, "
                      "selective+attention+linear, selective+experts, "
                      "selective+attention+experts, selective+linear+experts, "
                      "selective+attention+linear+experts or full",
             .readWord = readPinnedRecompute,
             .write = pinOfRecompute,
             .settle = [](Decisions &d, bool isPinned) { d.recomputeMost = d.recompute; }},
     .mechanism = {"recomputation", pointsOfRecompute},
     .stackRules = kStacksOfRecompute,
     .leftOut = kOfLayers},
    {.key = "recompute_most", .field = fieldOf<&Decisions::recomputeMost>(), .leftOut = kOfLayers},
    {.key = "even_recompute", .field = fieldOf<&Decisions::evenRecompute>(), .leftOut = kOfTheStep},
    {.key = "loss_chunks",
     .field = fieldOf<&Decisions::lossChunks>(),
     .listing = Listing::IfUnusual,
     .phrase = phraseOfLossChunks,
     .plan = {.form = PlanForm::Number, .mayMiss = true, .onlyUnusual = true, .least = 1},
     .pin = {.name = "loss_chunks",
             .meaning = "chunks of tokens for which output layer, loss and their gradients are "
                        "computed one after another; 1: all logits exist at once",
             .low = 1,
             .high = kMostPinned},
     .launchers = {.holds = [](const Decisions &d) { return d.lossChunks == 1; },
                   .have = "the loss of all tokens of a micro-batch at once",
                   .fix = "loss_chunks=1"},
     .mechanism = {"loss in chunks", [](const Decisions &d) { return d.lossChunks > 1 ? 1 : 0; }},
     .rules = kRulesOfLossChunks,
     .stackRules = kStacksOfLossChunks,
     .leftOut = kOfTheStep},
    {.key = "offload_optimizer",
     .field = fieldOf<&Decisions::offloadOptimizer>(),
     .value = [](const Decisions &d) { return std::string(d.offloadOptimizer ? "yes" : "no"); },
     .listing = Listing::IfUnusual,
     .phrase =
         [](const Decisions &d) {
           return std::string(d.offloadOptimizer ? "optimizer on the host"
                                                 : "optimizer on the device");
         },
     .plan = {.form = PlanForm::Flag, .mayMiss = true},
     .pin = {.name = "offload",
             .meaning = "optimizer states in the host's memory",
             .low = 0,
             .high = 1},
     .mechanism = {"optimizer on the host",
                   [](const Decisions &d) { return d.offloadOptimizer ? 3 : 0; }},
     .stackRules = kStacksOfOptimizer,
     .leftOut = kOfTheStep},
    {.key = "offload_activations",
     .field = fieldOf<&Decisions::layersOnHost>(),
     .value = layersOf,
     .listing = Listing::IfUnusual,
     .phrase = phraseOfLayers,
     .plan = {.form = PlanForm::Word, .mayMiss = true, .onlyUnusual = true, .readWord = readLayers},
     .pin = {
         .name = "offload_activations",
         .meaning = "saved activations wait in the host's memory for the backward pass: of all "
                    "layers, or of none",
         .low = 0,
         .high = 1,
         .storeNumber =
             [](int64_t value, Decisions &d) {
               d.layersOnHost = value > 0 ? LayersOnHost::All : LayersOnHost::None;
             },
         .write =
             [](const Decisions &d) {
               return std::string(d.offloadsSomeLayers() ? "" : d.offloadsAllLayers() ? "1" : "0");
             }},
     .program = {[](const Decisions &d) { return !d.offloadsLayers(); },
                 "--fix offload_activations=0"},
     .mechanism = {"activations on the host",
                   [](const Decisions &d) { return d.offloadsLayers() ? 3 : 0; }},
     .stackRules = kStacksOfLayers,
     .leftOut = kOfTheStep},
};

} // namespace

llvm::ArrayRef<Decision> memory() { return kMemoryRows; }

} // namespace dtc::families

namespace dtc {

using D = Decisions;

Decisions withLayersOnHost(Decisions d, LayersOnHost layers) {
  d.layersOnHost = layers;
  if (layers == LayersOnHost::All)
    d.recomputeMost = d.recompute;
  return d;
}

Decisions withOffloadedLayers(Decisions d, int64_t onHost, int64_t layers) {
  d.layersOnHost = onHost == 0       ? LayersOnHost::None
                   : onHost < layers ? LayersOnHost::Some
                                     : LayersOnHost::All;
  return d;
}

bool offloadsUnasked(const Decisions &d, const Pins &pins) {
  return (d.offloadOptimizer && !pins.has(&D::offloadOptimizer)) ||
         (d.offloadsAllLayers() && !pins.has(&D::layersOnHost));
}

} // namespace dtc
