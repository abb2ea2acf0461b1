// Costs the stages of one set of decisions. Internal to this folder.
#pragma once

#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/SharedEstimates.h"
#include "compiler/price/estimate/StageSplit.h"
#include "compiler/price/estimate/StepEstimate.h"

namespace dtc {

// Costs the stages of one set of decisions: their seconds and bytes, lower bounds, and whether they
// fit.
class StageCoster {
public:
  StageCoster(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request);

  // Returns the cost of every stage, cut so that the slowest stage is as fast as possible. With
  // `mayMove` false the slowest chunk is as fast as possible, and the cut ignores what stages
  // recompute to fit.
  std::vector<StageEstimate> stages(bool mayMove = true);
  // Returns the cost of every stage of a given cut: `chunks` has the layers of each chunk, `ways`
  // what each layer recomputes and offloads, no less than the decisions' minimum.
  std::vector<StageEstimate> stagesOf(const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways);
  // Returns true if the cut depends on memory: always on heterogeneous devices, unless stages are
  // even; on homogeneous ones if stages() found some that do not fit as they are.
  bool cutsByMemory() const { return isCutByMemory || (devices.size() > 1 && !d.evenStages); }
  // Returns true if layers were moved between stages, for memory or for more equal stages. Valid
  // after stages().
  bool isMoved() const { return hasMoved; }
  // Returns a lower bound of the slowest stage's seconds per micro-batch, over all cuts; 0 on
  // heterogeneous devices. Valid after stages().
  double leastSlowestSeconds() const { return leastSlowest; }
  // Returns the same bound over cuts in which all stages fit; 0 on heterogeneous devices, and if
  // memory does not affect the cut.
  double leastSlowestThatFits() const { return slowestThatFits; }
  // Returns the bytes of host memory that a device of stage `index` may use; 0 if unknown.
  double hostLimitOf(size_t index, const StageEstimate &stage) const;

  // Returns the bucket size of gradients in bytes, or kStackBuckets for the stack's. Valid after
  // stages().
  int64_t bucketBytes() const { return sizes[exchange]; }

  // The exposed seconds of collectives inside the layers of a stage, for one micro-batch.
  struct Exposed {
    double tp = 0, cp = 0, ep = 0, gather = 0;
  };
  // Returns the exposed seconds of a stage. Valid after stages().
  Exposed exposedOf(size_t stage) const { return exposed[stage]; }

  // Returns a lower bound of the seconds of one micro-batch in all layers, embedding and head, with
  // the minimum recomputation.
  double leastSecondsOfModel() const;
  // Returns the same without gradients of weights: the critical path from a micro-batch's start to
  // its end, where these may wait.
  double leastSecondsOfPath() const;
  // Returns a lower bound of the slowest stage's seconds per micro-batch; 0 without layers.
  double leastSecondsOfSlowestStage() const;
  // Returns a lower bound of the seconds of all micro-batches on heterogeneous devices, over all
  // cuts; 0 on homogeneous ones.
  double leastSecondsOverDevices() const;
  // Returns a lower bound of the seconds that a micro-batch takes in the stages before `stage`: in
  // its forward pass if `isDownOnly`, else in both passes.
  double leastSecondsBefore(int64_t stage, bool isDownOnly) const;
  // Returns the mean of leastSecondsBefore over all stages.
  double meanLeastSecondsBefore(bool isDownOnly) const;
  // Returns the seconds of the embedding, forward and backward.
  double leastSecondsOfEmbedding() const { return kindOf(0).embedding.total(); }
  // Returns the smallest share of a layer's seconds that its forward pass takes.
  double leastForwardShare() const;
  // Returns a lower bound of the seconds after the last micro-batch: the update if it is on the
  // host, else 0.
  double leastSecondsOncePerStep() const;
  // Returns a lower bound of the seconds of an update on the host.
  double leastHostUpdateSeconds() const;
  // Returns false if no cut, with no recomputation that the decisions allow, makes all stages fit
  // and a step end within `seconds`.
  bool mayFitWithin(double seconds) const;
  // Returns the seconds that a vocabulary shared by all stages adds to a step on every stage:
  // passes S and T of each micro-batch, and, once, their collectives, while nothing hides them yet.
  // 0 if the vocabulary is on the first and the last stage.
  //
  // The passes take the same time on every stage, so that a pipeline with them is one of the layers
  // alone that stops for them everywhere: "the same bubbles" (Yeung et al. 2024, section 5).
  double vocabularySeconds() const;

private:
  // The seconds of one layer, of the embedding or of the head, for one micro-batch.
  struct PartTimes {
    double forward = 0, backwardInput = 0, backwardWeight = 0;
    Exposed exposed;
    double compute = 0;
    // Part of these: collectives of ZeRO-2 and 3, as waits and as the slowdown of compute beside
    // them.
    double gathers = 0;
    std::array<double, kNumRecomputes> recompute{}; // added, by recomputation
    // The seconds by which copies of the saved activations to the host and back outlast the layer's
    // passes, by recomputation.
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
  // The devices of a stage, and the costs of the model's parts on them.
  struct StageDevice {
    const ModelCost &model;
    const Topology &topology;
    size_t kind = 0; // index into StageDevices::kinds
    double memoryLimit = 0;
    Decisions d; // the decisions as stages on these devices have them
    ShardGroups shards{model.groups, d};
    // The number of ranks that shard dense and expert parameters.
    double dataRanks = static_cast<double>(d.zeroRanks() * d.cp),
           expertRanks = static_cast<double>(d.zeroRanksOfExpert());
    // Share: a stage's part of the vocabulary, if stages share it.
    PartTimes embedding{}, head{}, share{};
    std::vector<PartTimes> blocks{};

    bool isShared() const { return std::max(dataRanks, expertRanks) > 1; }
    // Returns the number of parameters that a device updates, of so many in its stage.
    double ownOf(double dense, double expert) const {
      return d.zero >= 1 ? dense / dataRanks + expert / expertRanks : dense + expert;
    }
    const BlockCost &blockOf(int64_t layer) const { return model.blocks[blockIndex(layer)]; }
    const PartTimes &timesOfLayer(int64_t layer) const { return blocks[blockIndex(layer)]; }
    size_t blockIndex(int64_t layer) const {
      return static_cast<size_t>(model.cells->chain[static_cast<size_t>(layer)]);
    }
  };
  // Returns true if each stage has its share of the vocabulary.
  bool sharesVocabulary() const { return d.vocabOverPp > 0; }
  // Returns the cost of the embedding on the first chunk, without the part that stages share.
  const BlockCost &embeddingOf(const ModelCost &cost) const {
    return sharesVocabulary() ? cost.vocabulary->embedding : cost.embedding;
  }
  // Returns the cost of the head on the last chunk, without the part that stages share.
  const BlockCost &headOf(const ModelCost &cost) const {
    return sharesVocabulary() ? cost.vocabulary->head : cost.head;
  }
  void addPlace(const ModelCost &cost, const Topology &topology, double memoryLimit,
                const Decisions &decisions);
  const StageDevice &kindOf(size_t stage) const {
    return devices[model.devices.empty() ? 0 : model.devices.kindOfStage[stage]];
  }
  PartTimes timesOf(const BlockCost &block, const StageDevice &at) const;
  void addCopies(const BlockCost &block, const HostShare &host, PartTimes &times) const;
  // Returns the seconds to gather a block's parameters, or to scatter their gradients, under ZeRO-2
  // and 3.
  double gatherSeconds(const BlockCost &block, double bytesPerParameter, CollectiveKind kind,
                       const StageDevice &at) const;

  // Returns the sum of `ofPart` of embedding and head, and of the smallest `ofLayer` of each layer
  // over all kinds of devices.
  double leastOfModel(llvm::function_ref<double(const PartTimes &)> ofPart,
                      llvm::function_ref<double(const PartTimes &)> ofLayer) const;
  double leastOf(const PartTimes &layer) const { return layer.total() + layer.againOf(leastWay()); }
  double leastForwardOf(const PartTimes &layer) const {
    return layer.forward + layer.toHostOf(leastWay());
  }
  // Returns true if every chunk recomputes the same number of layers. If some layers are offloaded,
  // they are those of the first chunks.
  bool recomputesEvenly() const { return d.evenRecompute && d.layersOnHost != LayersOnHost::Some; }
  // Returns what every layer recomputes and offloads at least.
  LayerWay leastWay() const { return {d.recompute, d.layersOnHost == LayersOnHost::All}; }
  // Sums over the parts of a stage that determine its memory.
  struct PartSums {
    // Trained parameters; summed: those with gradients summed over tensor-parallel ranks.
    double dense = 0, expert = 0, summed = 0;
    double frozenDense = 0, frozenExpert = 0; // frozen parameters
    double embeddingAndHead = 0;              // all parameters of embedding and head
    double transient = 0, largestLayer = 0, largestTrained = 0;
    // The bytes of the largest layer that is recomputed or copied, by way.
    std::array<double, kNumLayerWays> workspace{};
    std::bitset<kNumLayerWays> ways; // ways that layers of the stage use
    double largestWorkspace() const;
    // Activations of the head, alive for one micro-batch: its backward follows at once.
    double headKept = 0;
    double kept = 0; // saved by layers that recompute nothing
    double sent = 0; // bytes of a micro-batch that stay allocated after they were sent
    void add(const BlockCost &part, bool isLayer);
    void addLayer(const BlockCost &part, LayerWay way);
    // Takes off what embedding and head of one stage share.
    void takeTied(const ModelCost &cost);
  };
  // Returns true if the output of a chunk is sent to another stage.
  bool isSent(size_t chunk) const;
  // Returns the bytes that a stage keeps of the output of a chunk, which ends with `layer`, after
  // sending it.
  double sentAfter(size_t chunk, int64_t layer, const StageDevice &at) const;
  LayerChunks cut() const;
  // Returns true if memory may affect the cut: with one chunk per stage, or with several chunks of
  // equal layers.
  bool mayCutByMemory() const;
  bool mayBalance(llvm::ArrayRef<StageEstimate> stages) const;
  LayerChunks cutByStages(llvm::ArrayRef<StageEstimate> stages);
  // Returns the seconds of a micro-batch on a stage with so many of equal layers, which save all
  // that they may.
  double leastSecondsOf(size_t stage, int64_t layers) const;
  std::vector<int64_t> leastLayersOfStages() const;
  double slowestOfAnyCut(llvm::ArrayRef<StageEstimate> usual) const;
  LayerChunks chunksOf(llvm::ArrayRef<int64_t> layersOfStages) const;
  llvm::SmallVector<size_t, 8> chunksOn(size_t stage) const;
  class GrowingRun;
  LayerChunks cutOverDevices(int64_t layers, int64_t chunks) const;
  int64_t mostLayersOf(size_t stage) const;
  bool mayBeginWithoutLayers() const {
    return mayBeginEmpty(static_cast<int64_t>(model.cells->chain.size()), d.pp * d.virtualStages);
  }
  bool holdsHead(size_t stage) const;
  // Returns the fewest layers that a stage may have: one a chunk, but for chunks that may be
  // embedding or head alone.
  int64_t leastLayersOf(size_t stage) const;
  // Returns an upper bound of the layers of a stage that fits and takes at most so many seconds of
  // a micro-batch.
  double mostLayersWithin(size_t stage, double seconds) const;
  // Returns a lower bound of the update's seconds, from the mean stage; on the device or on the
  // host.
  double leastUpdateSeconds() const;
  // Returns the parameters that a device of the mean stage updates; some stage has no fewer.
  double leastOwnOfMeanStage() const;
  llvm::SmallVector<double, 4> layersOfBlocks() const;
  // Returns the bytes of parameters, gradients and states of a part.
  double statesOf(const BlockCost &block, const StageDevice &at) const;
  size_t stageOf(size_t chunk) const;
  void addPart(StageEstimate &stage, Exposed &exposed, const BlockCost &block,
               const PartTimes &times, LayerWay way) const;
  void addVocabulary(StageEstimate &stage, Exposed &waits, const StageDevice &at) const;
  std::vector<StageEstimate> costStages(const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways);
  bool holdEqually(llvm::ArrayRef<size_t> a, llvm::ArrayRef<size_t> b, const LayerChunks &chunks,
                   llvm::ArrayRef<LayerWay> ways) const;
  // Fills in all of `stage` but its memory; returns the sums that the memory follows from.
  PartSums costStage(size_t index, const LayerChunks &chunks, llvm::ArrayRef<LayerWay> ways,
                     llvm::ArrayRef<size_t> held, StageEstimate &stage);
  void addMemory(size_t index, const PartSums &sums, StageEstimate &stage) const;
  // The micro-batches alive on a stage. `inFlight` counts from F to the end of W; `stashed` those
  // of them between B and W, with the one whose B has just ended. A stashed micro-batch holds the
  // operands of gradients of weights, inputs of matrix products and gradients of their results,
  // which together are as much as a layer saves without recomputation: 32 of 34 s b h bytes, Qi et
  // al. 2023, arXiv:2401.10241, section 3.
  struct Alive {
    double inFlight = 0, stashed = 0;
    double inputs = 0; // bytes of tokens and targets: a program has those of the whole step
  };
  Alive aliveOf(size_t index) const;
  double inputsOf(size_t index) const;
  // Returns the memory of a stage. `keptPerMicroBatch`: bytes of saved activations.
  // `recomputedPerMicroBatch`: bytes that recomputation and offloading avoid saving until B.
  // `workspace`: bytes that a layer holds while it is recomputed, and those on their way to or from
  // the host.
  MemoryParts memoryOf(const PartSums &sums, const StageDevice &at, Alive alive,
                       double keptPerMicroBatch, double recomputedPerMicroBatch,
                       double workspace) const;
  std::vector<StageEstimate> recomputedStages(const LayerChunks &chunks);
  // A mix of two ways in a stage: its first layers use `high`, which recomputes more or offloads,
  // the others `low`.
  struct Mix {
    LayerWay low, high;
  };
  // Layers of one kind that follow each other.
  struct LayerRun {
    size_t block;
    int64_t layers;
  };
  // The fastest mix that frees the bytes by which a stage exceeds its limit.
  struct Mixed {
    Mix mix;
    int64_t high = 0;   // layers that use mix.high
    double seconds = 0; // added to a micro-batch; infinite if no mix fits
  };
  void findMixes();
  // Returns true if `how` is between the decisions' minimum and maximum recomputation.
  bool isWithin(Recompute how) const;
  // Returns the recomputations of offloaded layers in stages that offload only some; the other
  // layers of the stage recompute the same.
  std::bitset<kNumRecomputes> recomputesOnHost() const;
  // Returns all ways that a layer may use beyond the minimum.
  llvm::SmallVector<LayerWay, kNumLayerWays> waysToKeepLess() const;
  // A stage that exceeds its memory limit.
  struct Overfull {
    llvm::ArrayRef<LayerRun> runs;
    const StageDevice &at;
    Alive alive;
    double hostRoom; // bytes of host memory that its layers may use
  };
  Mixed mixedToFit(const Overfull &stage, double over) const;
  double hostRoomOf(double statesOnHost, const StageDevice &at) const;
  // Returns the bytes of activations that a layer saves on its device.
  static double keptBy(const BlockCost &block, LayerWay way);
  // Returns the bytes that a layer holds while it is recomputed, beyond its saved activations; if
  // offloaded also the copies of this layer and of the one before it.
  static double workspaceOf(const BlockCost &block, LayerWay way);
  static double workspaceOf(llvm::ArrayRef<LayerRun> runs, const StageDevice &at, LayerWay way);
  llvm::SmallVector<LayerRun, 4> runsOf(const StageEstimate &stage, const StageDevice &at) const;
  bool keepLessUntilItFits(StageEstimate &stage, const StageDevice &at) const;
  void recomputeEvenly(std::vector<StageEstimate> &stages) const;
  void keepLess(StageEstimate &stage, const StageDevice &at, size_t chunk, int64_t layer,
                LayerWay way) const;
  void noteWithoutStates(StageEstimate &stage) const;
  void addOncePerStep(StageEstimate &stage, double dense, double expert, double summed,
                      const StageDevice &at) const;
  const std::vector<GradientExchange> &exchangesOf(double dense, double expert,
                                                   const StageDevice &at) const;
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
  SharedEstimates::Parts &known;     // results that are known already
  std::vector<StageDevice> devices;  // one, or one per kind of ModelCost::devices
  std::vector<Exposed> exposed;
  size_t exchange = 0; // index into sizes
  bool isCutByMemory = false, hasMoved = false;
  double leastSlowest = 0, slowestThatFits = 0;
  std::vector<Mix> mixes; // mixes that may be the fastest, if layers may save less
};

} // namespace dtc
