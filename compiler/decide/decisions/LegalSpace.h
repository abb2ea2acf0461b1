// The [space] of a software stack: the choices that plans for it may make.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtc {

// The choices that plans for a stack may make. Each set has a bit for each word of its key, in the
// order of spaceSets() (stack/StackFields.h), which is the order of the enumerators that the words
// name.
struct LegalSpace {
  bool tensorParallel = false, pipelineParallel = false, expertParallel = false,
       expertsBesideTensor = false, expertsWantSequence = false, expertsWithinData = false,
       foldedExperts = false, offloadSomeLayers = false, offloadAllLayers = false,
       offloadBesidePipeline = false, lossInChunks = false, unevenStages = false,
       unevenTensor = false, evenRecompute = false, splitsKvHeads = false, unevenHeads = false,
       unevenInner = false, unevenVocabulary = false, slidesInRings = false,
       contextBesidePipeline = false, pipelinesReduceLast = false, halfReductions = false;
  // Returns true if gradients are reduced as a whole after the backward pass: of a pipeline, or
  // without one, for a stage of ZeRO.
  bool reducesLast(bool isPipelined, int64_t stage) const {
    return isPipelined ? pipelinesReduceLast : (zeroThatReducesLast >> stage & 1) != 0;
  }
  uint32_t sequenceParallel = 0, contextKinds = 0, zero = 0, zeroOfPipelines = 0, zeroGroups = 0,
           zeroOfContextsAndExperts = 0, zeroThatReducesLast = 0, offload = 0, schedules = 0,
           fillsStages = 0, vocabOverPp = 0, recompute = 0, recomputeMixes = 0,
           offloadActivations = 0, precisions = 0, optimizers = 0, axisOrders = 0;
};

// Returns true if a set of words has the one at the index.
constexpr bool hasWord(uint32_t words, size_t index) { return (words >> index & 1) != 0; }
// Returns true if a set of words has that of the enumerator.
template <typename Enum> constexpr bool hasWordOf(uint32_t words, Enum value) {
  return hasWord(words, static_cast<size_t>(value));
}

} // namespace dtc
