// Costs the stages of one set of decisions. Internal to this folder.
#pragma once

#include "compiler/estimate/SharedEstimates.h"
#include "compiler/estimate/StageSplit.h"
#include "compiler/estimate/StepEstimate.h"

namespace dtc {

// Estimates the stages of a pipeline: seconds, memory, cuts, and lower bounds.
class StageCoster {
public:
  StageCoster(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request);

  // `mayCutByMemory`: else the cut is that of equal seconds, whatever has to be recomputed.
  std::vector<StageEstimate> stages(bool mayCutByMemory = true);
  // The same where that is given: the layers of each chunk, and what each layer does, no less than
  // the decisions' least.
  std::vector<StageEstimate> stagesOf(const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways);
  // Returns true if the cut into stages depends on memory: always on heterogeneous devices, and on
  // homogeneous ones after stages() has found stages that do not fit as they are.
  bool cutsByMemory() const { return isCutByMemory || (places.size() > 1 && !d.evenStages); }
  // Returns true if memory has moved layers. Call after stages().
  bool isMoved() const { return hasMoved; }
  // Returns a lower bound of the slowest stage's seconds per micro-batch over all cuts; 0 on
  // heterogeneous devices. Call after stages().
  double leastSlowestSeconds() const { return leastSlowest; }
  // Returns the same bound over the cuts in which all stages fit; 0 on heterogeneous devices, and
  // if memory does not influence the cut. Call after stages().
  double leastSlowestThatFits() const { return slowestThatFits; }
  // Returns the bytes of host memory that a stage may use; 0 if not known.
  double hostLimitOf(size_t index, const StageEstimate &stage) const;

  // Returns the size of gradient buckets that stages use; kStackBuckets: the stack's default.
  int64_t bucketBytes() const { return sizes[exchange]; }

  // Waits for collectives inside the layers of a stage, seconds of one micro-batch.
  struct Exposed {
    double tp = 0, cp = 0, ep = 0, gather = 0;
  };
  // Returns the exposed seconds of a stage's collectives.
  Exposed exposedOf(size_t stage) const { return exposed[stage]; }

  // One micro-batch, with the recomputation that every layer has at least: all layers, embedding
  // and head; and the slowest stage.
  double leastSecondsOfModel() const;
  // Returns the part of leastSecondsOfModel() on the critical path of a micro-batch if gradients of
  // weights may wait.
  double leastSecondsOfPath() const;
  // Returns a lower bound of the slowest stage's seconds, for one micro-batch.
  double leastSecondsOfSlowestStage() const;
  // Returns a lower bound for all micro-batches on heterogeneous devices, as if the cut balanced
  // them perfectly; 0 on homogeneous devices.
  double leastSecondsOverPlaces() const;
  // The least that a micro-batch takes on its way down to a stage and from it up again, or only
  // down; and the mean over all stages.
  double leastSecondsBefore(int64_t stage, bool isDownOnly) const;
  // Returns the mean of leastSecondsBefore over all stages.
  double meanLeastSecondsBefore(bool isDownOnly) const;
  // Returns the embedding's part of leastSecondsBefore.
  double leastSecondsOfEmbedding() const { return placeOf(0).embedding.total(); }
  // Returns the smallest share of a layer's seconds in its forward pass.
  double leastForwardShare() const;
  // Returns a lower bound of the seconds after the last micro-batch: the update, if the host does
  // it.
  double leastSecondsOncePerStep() const;
  // The same if that is on the host.
  double leastHostUpdateSeconds() const;
  // Returns false only if no cut and no allowed recomputation lets all stages fit and a step take
  // at most `seconds`.
  bool mayFitWithin(double seconds) const;
  // Returns the seconds per step that sharing the vocabulary adds to every stage: passes S and T of
  // each micro-batch, and, once, their collectives before anything hides them. 0 if the vocabulary
  // is on the first and the last stage.
  // The passes take the same time on every stage, so the pipeline is that of the layers alone,
  // stopped everywhere for the passes: "the same bubbles" (Yeung et al. 2024, section 5).
  double vocabularySeconds() const;

private:
  // One layer, or embedding or head, of one micro-batch.
  struct PartTimes {
    double forward = 0, backwardInput = 0, backwardWeight = 0;
    Exposed exposed;
    double compute = 0;
    double gathers =
        0; // part of the seconds that ZeRO-2 and 3 add: waits, and slower compute beside transfers
    std::array<double, kNumRecomputes> recompute{}; // on top, by what runs again
    // Seconds by which host copies of the remaining saved activations exceed the layer's passes.
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
    size_t kind = 0; // index in ModelCost::places
    double memoryLimit = 0;
    Decisions d; // decisions with the values of its stages
    ShardGroups shards{model.groups, d};
    // Numbers of ranks that share dense and expert parameters.
    double dataRanks = static_cast<double>(d.zeroRanks() * d.cp),
           expertRanks = static_cast<double>(d.zeroRanksOfExpert());
    PartTimes embedding{}, head{}, share{}; // share: of the vocabulary, where stages share it out
    std::vector<PartTimes> blocks{};

    bool isShared() const { return std::max(dataRanks, expertRanks) > 1; }
    // Returns the parameters of these that one device updates.
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
  // Activations on the host are those of one chunk only.
  bool recomputesEvenly() const { return d.evenRecompute && d.layersOnHost != LayersOnHost::Some; }
  // Returns the least memory saving that every layer applies.
  LayerWay leastWay() const { return {d.recompute, d.layersOnHost == LayersOnHost::All}; }
  // Sums over the parts of a stage from which its memory follows.
  struct PartSums {
    double dense = 0, expert = 0, summed = 0; // parameters; of these, summed over tensor ranks
    double ends = 0;                          // part of the parameters in embedding and head
    double transient = 0, largestLayer = 0;
    // Workspace of a layer that is recomputed or copied, by the layer's way.
    std::array<double, kNumLayerWays> workspace{};
    std::bitset<kNumLayerWays> ways; // ways that occur among the layers
    double largestWorkspace() const;
    double headKept = 0; // alive for one micro-batch: its backward follows at once
    double kept = 0;     // bytes per micro-batch of layers that recompute nothing
    double sent = 0;     // bytes per micro-batch that remain after they were sent on
    void add(const BlockCost &part, bool isLayer);
    void addLayer(const BlockCost &part, LayerWay way);
  };
  // Bytes that the stage of a chunk, which ends with a layer, holds of what it sends on.
  bool isSent(size_t chunk) const; // true if the chunk's output is sent on
  double sentAfter(size_t chunk, int64_t layer, const Place &place) const;
  LayerChunks cut() const;
  // Returns true if memory may influence the cut: for stages of one chunk, and for several chunks
  // if all layers are equal.
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
  // Layers that a stage has at least: one a chunk, but for chunks that may be embedding or head
  // alone.
  int64_t leastLayersOf(size_t stage) const;
  // Layers that a stage may have at most if it is to fit, and to take so many seconds of a
  // micro-batch.
  double mostLayersWithin(size_t stage, double seconds) const;
  // The update of the mean stage, wherever that is.
  double leastUpdateSeconds() const;
  // Parameters that a device of the mean stage updates: some stage has no fewer.
  double leastOwnOfMeanStage() const;
  llvm::SmallVector<double, 4> layersOfBlocks() const;
  // Bytes of parameters, gradients and states of so many elements.
  double statesOf(double dense, double expert, const Place &place) const;
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
  // Micro-batches that a stage keeps from F to the end of W, and those of them between B and W,
  // with the one whose B has just ended. These hold what gradients of weights are made of, inputs
  // of products and gradients of their results, which together are as much as a layer keeps without
  // recomputation: 32 of 34 s b h bytes, Qi et al. 2023, arXiv:2401.10241, section 3.
  struct Alive {
    double inFlight = 0, stashed = 0;
    double inputs = 0; // bytes of tokens and targets: a program has those of the whole step
  };
  Alive aliveOf(size_t index) const;
  double inputsOf(size_t index) const;
  // Returns the memory of a stage. `recomputedPerMicroBatch`: bytes of saved activations that
  // recomputation and offload save until B. `workspace`: bytes of these that the layer being
  // recomputed holds, and bytes on their way to or from the host.
  MemoryParts memoryOf(const PartSums &sums, const Place &place, Alive alive,
                       double keptPerMicroBatch, double recomputedPerMicroBatch,
                       double workspace) const;
  std::vector<StageEstimate> recomputedStages(const LayerChunks &chunks);
  // The ways of a stage's first layers (`low`) and of the others (`high`), which recompute more or
  // are on the host.
  struct Mix {
    LayerWay low, high;
  };
  // Layers of one kind that follow each other.
  struct LayerRun {
    size_t block;
    int64_t layers;
  };
  // The fastest mix with which a stage is `over` bytes smaller than with what its layers do at
  // least.
  struct Mixed {
    Mix mix;
    int64_t high = 0;   // layers
    double seconds = 0; // additional seconds per micro-batch; infinite if no mix suffices
  };
  void findMixes();
  // Returns true if the mode is between the least and the most that layers recompute.
  bool isWithin(Recompute how) const;
  // Returns the modes of layers on the host if other layers of their stage stay on the device with
  // the same mode.
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
  // Bytes that a layer holds while it is computed again, beyond what it keeps; on the host also
  // what is copied, of this layer and of the one before it.
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
  const std::vector<int64_t> &sizes; // bucket sizes
  SharedEstimates::Parts own;        // used if the request shares none
  SharedEstimates::Parts &known;     // already
  std::vector<Place> places;         // one, or as ModelCost::places has them
  std::vector<Exposed> exposed;
  size_t exchange = 0; // index in `sizes`
  bool isCutByMemory = false, hasMoved = false;
  double leastSlowest = 0, slowestThatFits = 0;
  std::vector<Mix> mixes; // candidates for the fastest mix, if layers may save memory
};

} // namespace dtc
