// Costs the stages of one set of decisions. Internal to this folder.
#pragma once

#include "compiler/estimate/SharedEstimates.h"
#include "compiler/estimate/StageSplit.h"
#include "compiler/estimate/StepEstimate.h"

namespace dtc {

class StageCoster {
public:
  StageCoster(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request);

  // `mayCutByMemory`: else the cut is that of equal seconds, whatever has to be recomputed.
  std::vector<StageEstimate> stages(bool mayCutByMemory = true);
  // The same where that is given: the layers of each chunk, and what each layer does, no less than
  // the decisions' least.
  std::vector<StageEstimate> stagesOf(const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways);
  // Whether the cut into stages depends on what memory holds: of unlike devices always; of alike
  // ones after stages() has found some that do not fit as they are.
  bool cutsByMemory() const { return isCutByMemory || (places.size() > 1 && !d.evenStages); }
  // After stages(): whether memory has moved layers.
  bool isMoved() const { return hasMoved; }
  // After stages(): of a micro-batch, no stage of any cut that there may be is the slowest with fewer seconds; 0 on
  // unlike devices.
  double leastSlowestSeconds() const { return leastSlowest; }
  // After stages(), of cuts in which all stages fit; 0 on unlike devices, and where memory has no say in the cut.
  double leastSlowestThatFits() const { return slowestThatFits; }
  // Bytes that the host of a stage has for what it keeps of it; 0 where it is not known.
  double hostLimitOf(size_t index, const StageEstimate &stage) const;

  // Of the stages: in buckets of which size gradients travel; kStackBuckets: as the stack does.
  int64_t bucketBytes() const { return sizes[exchange]; }

  // Waits for collectives inside the layers of a stage, seconds of one micro-batch.
  struct Exposed {
    double tp = 0, cp = 0, ep = 0, gather = 0;
  };
  Exposed exposedOf(size_t stage) const { return exposed[stage]; }

  // One micro-batch, with the recomputation that every layer has at least: all layers, embedding
  // and head; and the slowest stage.
  double leastSecondsOfModel() const;
  // Of these what stands between a micro-batch's start and its end where gradients of weights may
  // wait.
  double leastSecondsOfPath() const;
  double leastSecondsOfSlowestStage() const;
  // Of all micro-batches, on unlike devices: no cut evens them out better. 0 on alike ones.
  double leastSecondsOverPlaces() const;
  // The least that a micro-batch takes on its way down to a stage and from it up again, or only
  // down; and the mean over all stages.
  double leastSecondsBefore(int64_t stage, bool isDownOnly) const;
  double meanLeastSecondsBefore(bool isDownOnly) const;
  // Of these, what the embedding takes; and the least share that the forward pass has of a layer.
  double leastSecondsOfEmbedding() const { return placeOf(0).embedding.total(); }
  double leastForwardShare() const;
  // What follows the last micro-batch at the least: the update, where that is on the host.
  double leastSecondsOncePerStep() const;
  // The same if that is on the host.
  double leastHostUpdateSeconds() const;
  // Whether layers may be cut into stages, and recompute what they have to, so that all stages fit and a step takes no more than `seconds`. False only where no cut and no recomputation
  // of the decisions' two kinds does.
  bool mayFitWithin(double seconds) const;
  // Of a whole step, what sharing out the vocabulary takes on every stage beside its chunks: passes
  // S and T of each micro-batch, and, once, their collectives, while nothing hides them yet. 0 where
  // the vocabulary is on the first and the last stage.
  //
  // The passes take as long on every stage, so that a pipeline with them is one of the layers alone
  // that stops for them everywhere: "the same bubbles" (Yeung et al. 2024, section 5).
  double vocabularySeconds() const;

private:
  // One layer, or embedding or head, of one micro-batch.
  struct PartTimes {
    double forward = 0, backwardInput = 0, backwardWeight = 0;
    Exposed exposed;
    double compute = 0;
    double gathers =
        0; // of its seconds, what ZeRO-2 and 3 move for it: waits, and compute beside it slowed
    std::array<double, kNumRecomputes> recompute{}; // on top, by what runs again
    // What copies of what is then kept to the host and back take longer than the layer's passes.
    std::array<double, kNumRecomputes> toHost{}, fromHost{};
    double total() const { return forward + backwardInput + backwardWeight; }
    double recomputeOf(Recompute how) const { return recompute[static_cast<size_t>(how)]; }
    double toHostOf(LayerWay way) const {
      return way.isOnHost ? toHost[static_cast<size_t>(way.recompute)] : 0;
    }
    double fromHostOf(LayerWay way) const {
      return way.isOnHost ? fromHost[static_cast<size_t>(way.recompute)] : 0;
    }
    double againOf(LayerWay way) const {
      return recomputeOf(way.recompute) + toHostOf(way) + fromHostOf(way);
    }
  };
  // The devices of a stage: what the model's parts cost there.
  struct Place {
    const ModelCost &model;
    const Topology &topology;
    size_t kind = 0; // of ModelCost::places
    double memoryLimit = 0;
    Decisions d; // as its stages have them
    ShardGroups shards{model.groups, d};
    // That share dense and expert parameters.
    double dataRanks = static_cast<double>(d.zeroRanks() * d.cp),
           expertRanks = static_cast<double>(d.zeroRanksOfExpert());
    PartTimes embedding{}, head{}, share{}; // share: of the vocabulary, where stages share it out
    std::vector<PartTimes> blocks{};

    bool isShared() const { return std::max(dataRanks, expertRanks) > 1; }
    // What of so many parameters a device updates.
    double ownOf(double dense, double expert) const {
      return d.zero >= 1 ? dense / dataRanks + expert / expertRanks : dense + expert;
    }
    const BlockCost &blockOf(int64_t layer) const { return model.blocks[blockIndex(layer)]; }
    const PartTimes &timesOfLayer(int64_t layer) const { return blocks[blockIndex(layer)]; }
    size_t blockIndex(int64_t layer) const {
      return static_cast<size_t>(model.cells->chain[static_cast<size_t>(layer)]);
    }
  };
  // Embedding and head of a model, as far as they are on its first and last chunk.
  const BlockCost &embeddingOf(const ModelCost &cost) const {
    return d.vocabOverPp > 0 ? cost.vocabulary->embedding : cost.embedding;
  }
  const BlockCost &headOf(const ModelCost &cost) const {
    return d.vocabOverPp > 0 ? cost.vocabulary->head : cost.head;
  }
  void addPlace(const ModelCost &cost, const Topology &topology, double memoryLimit,
                const Decisions &decisions);
  const Place &placeOf(size_t stage) const {
    return places[model.places.empty() ? 0 : model.places.kindOfStage[stage]];
  }
  PartTimes timesOf(const BlockCost &block, const Place &place) const;
  void addCopies(const BlockCost &block, const HostShare &host, PartTimes &times) const;
  // Seconds to gather a block's parameters, or to scatter their gradients, under ZeRO-3.
  double gatherSeconds(const BlockCost &block, double bytesPerParameter, CollectiveKind kind,
                       const Place &place) const;

  // Embedding and head, and each layer where that is least.
  double leastOfModel(llvm::function_ref<double(const PartTimes &)> ofPart,
                      llvm::function_ref<double(const PartTimes &)> ofLayer) const;
  double leastOf(const PartTimes &layer) const { return layer.total() + layer.againOf(leastWay()); }
  double leastForwardOf(const PartTimes &layer) const {
    return layer.forward + layer.toHostOf(leastWay());
  }
  // What is on the host is that of one chunk alone.
  bool recomputesEvenly() const { return d.evenRecompute && d.layersOnHost != LayersOnHost::Some; }
  // What every layer does at least.
  LayerWay leastWay() const { return {d.recompute, d.layersOnHost == LayersOnHost::All}; }
  // What the parts of a stage add up to, as far as its memory follows from it.
  struct PartSums {
    // Trained parameters; of these, summed over tensor ranks.
    double dense = 0, expert = 0, summed = 0;
    double frozenDense = 0, frozenExpert = 0; // those that are not trained
    double ends = 0;                          // of both, embedding's and head's
    double transient = 0, largestLayer = 0, largestTrained = 0;
    // Of the layer that is computed again, or copied, by what any layer does.
    std::array<double, kNumLayerWays> workspace{};
    std::bitset<kNumLayerWays> ways; // that layers do
    double largestWorkspace() const;
    double headKept = 0; // alive for one micro-batch: its backward follows at once
    double kept = 0;     // of layers that recompute nothing
    double sent = 0;     // of a micro-batch, that stays after it was sent on
    void add(const BlockCost &part, bool isLayer);
    void addLayer(const BlockCost &part, LayerWay way);
    // Takes off what embedding and head of one stage share.
    void takeTied(const ModelCost &cost);
  };
  // Bytes that the stage of a chunk, which ends with a layer, holds of what it sends on.
  bool isSent(size_t chunk) const; // what comes of it
  double sentAfter(size_t chunk, int64_t layer, const Place &place) const;
  LayerChunks cut() const;
  // Whether memory may have a say in the cut: of stages of one chunk, and of several where all layers are alike.
  bool mayCutByMemory() const;
  LayerChunks cutByMemory(llvm::ArrayRef<StageEstimate> stages) const;
  double slowestOfAnyCut(llvm::ArrayRef<StageEstimate> usual) const;
  LayerChunks chunksOf(llvm::ArrayRef<int64_t> layersOfStages) const;
  llvm::SmallVector<size_t, 8> chunksOn(size_t stage) const;
  class GrowingRun;
  LayerChunks cutOverPlaces(int64_t layers, int64_t chunks) const;
  int64_t mostLayersOf(size_t stage) const;
  bool mayBeginWithoutLayers() const {
    return mayBeginEmpty(static_cast<int64_t>(model.cells->chain.size()), d.pp * d.virtualStages);
  }
  bool holdsHead(size_t stage) const;
  // Layers that a stage has at least: one a chunk, but for chunks that may be embedding or head alone.
  int64_t leastLayersOf(size_t stage) const;
  // Layers that a stage may have at most if it is to fit, and to take so many seconds of a micro-batch.
  double mostLayersWithin(size_t stage, double seconds) const;
  // The update of the mean stage, wherever that is.
  double leastUpdateSeconds() const;
  // Parameters that a device of the mean stage updates: some stage has no fewer.
  double leastOwnOfMeanStage() const;
  llvm::SmallVector<double, 4> layersOfBlocks() const;
  // Bytes of parameters, gradients and states of so many elements.
  double statesOf(const BlockCost &block, const Place &place) const;
  size_t stageOf(size_t chunk) const;
  void addPart(StageEstimate &stage, Exposed &exposed, const BlockCost &block,
               const PartTimes &times, LayerWay way) const;
  void addVocabulary(StageEstimate &stage, Exposed &waits, const Place &place) const;
  std::vector<StageEstimate> costStages(const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways);
  bool holdAlike(llvm::ArrayRef<size_t> a, llvm::ArrayRef<size_t> b, const LayerChunks &chunks,
                 llvm::ArrayRef<LayerWay> ways) const;
  // All but memory, of which it returns what that follows from.
  PartSums costStage(size_t index, const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways,
                     llvm::ArrayRef<size_t> held, StageEstimate &stage);
  void addMemory(size_t index, const PartSums &sums, StageEstimate &stage) const;
  // Micro-batches that a stage keeps from F to the end of W, and those of them between B and W, with the one whose
  // B has just ended. These hold what
  // gradients of weights are made of, inputs of products and gradients of their results, which together are as
  // much as a layer keeps without recomputation: 32 of 34 s b h bytes, Qi et al. 2023, arXiv:2401.10241, section 3.
  struct Alive {
    double inFlight = 0, stashed = 0;
    double inputs = 0; // bytes of tokens and targets: a program has those of the whole step
  };
  Alive aliveOf(size_t index) const;
  double inputsOf(size_t index) const;
  // `recomputedPerMicroBatch`: bytes that recomputation and the host spare of what is kept until B. `workspace`: what
  // the layer that is computed again holds of it, and what is on its way to or from the host.
  MemoryParts memoryOf(const PartSums &sums, const Place &place, Alive alive,
                       double keptPerMicroBatch, double recomputedPerMicroBatch,
                       double workspace) const;
  std::vector<StageEstimate> recomputedStages(const LayerChunks &chunks);
  // What some layers of a stage do, the first ones, and what the others do: they recompute more, or are on the host.
  struct Mix {
    LayerWay low, high;
  };
  // Layers of one kind that follow each other.
  struct LayerRun {
    size_t block;
    int64_t layers;
  };
  // The fastest mix with which a stage is `over` bytes smaller than with what its layers do at least.
  struct Mixed {
    Mix mix;
    int64_t high = 0;   // layers
    double seconds = 0; // of a micro-batch, on top; infinite where nothing does
  };
  void findMixes();
  // Between the least and the most that layers recompute.
  bool isWithin(Recompute how) const;
  // What layers may recompute that are on the host where others of their stage are not, and recompute the same.
  std::bitset<kNumRecomputes> recomputesOnHost() const;
  // All that a layer may do more than the least.
  llvm::SmallVector<LayerWay, kNumLayerWays> waysToKeepLess() const;
  // A stage that is too large.
  struct Overfull {
    llvm::ArrayRef<LayerRun> runs;
    const Place &place;
    Alive alive;
    double hostRoom; // bytes of its host that layers may have
  };
  Mixed mixedToFit(const Overfull &stage, double over) const;
  double hostRoomOf(double statesOnHost, const Place &place) const;
  // Bytes that a layer keeps on its device.
  static double keptBy(const BlockCost &block, LayerWay way);
  // Bytes that a layer holds while it is computed again, beyond what it keeps; on the host also what is copied, of this
  // layer and of the one before it.
  static double workspaceOf(const BlockCost &block, LayerWay way);
  static double workspaceOf(llvm::ArrayRef<LayerRun> runs, const Place &place, LayerWay way);
  llvm::SmallVector<LayerRun, 4> runsOf(const StageEstimate &stage, const Place &place) const;
  bool keepLessUntilItFits(StageEstimate &stage, const Place &place) const;
  void recomputeEvenly(std::vector<StageEstimate> &stages) const;
  void keepLess(StageEstimate &stage, const Place &place, size_t chunk, int64_t layer,
                LayerWay way) const;
  void noteWithoutStates(StageEstimate &stage) const;
  void addOncePerStep(StageEstimate &stage, double dense, double expert, double summed,
                      const Place &place) const;
  const std::vector<GradientExchange> &exchangesOf(double dense, double expert,
                                                   const Place &place) const;
  void addExchange(StageEstimate &stage, const GradientExchange &exchange, double sums) const;
  double hiddenPasses() const;
  bool mayTravelIn(int64_t bucketBytes) const;
  void chooseExchange(std::vector<StageEstimate> &stages);

  const ModelCost &model;
  const Decisions &d;
  const EstimateRequest &request;
  const Overlap &overlap;
  const ProcessMemory &process;
  const std::vector<int64_t> &sizes; // of buckets
  SharedEstimates::Parts own;        // where the request shares none
  SharedEstimates::Parts &known;     // already
  std::vector<Place> places;         // one, or as ModelCost::places has them
  std::vector<Exposed> exposed;
  size_t exchange = 0; // of sizes
  bool isCutByMemory = false, hasMoved = false;
  double leastSlowest = 0, slowestThatFits = 0;
  std::vector<Mix> mixes; // that may be the fastest, where layers may keep less
};

} // namespace dtc
