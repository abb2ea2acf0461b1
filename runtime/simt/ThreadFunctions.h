// The emulator's functions for threads, warps and blocks that device code calls, by the names in
// Intrinsics.def. A function that has an effect takes its site as the last argument. A function
// that finds a fault ends the launch and does not return.
#pragma once

#include "runtime/simt/Abi.h"

#include <cstdint>

namespace dtc::simt::device {

using abi::Site;

// Names a special register: the index of the thread or block, or the size of the block or
// grid.
enum class Index { Thread, BlockSize, Block, GridSize };
// Returns dimension `dim` (0, 1, 2 for x, y, z) of an index or size.
template <Index index, int dim> uint32_t readIndex();
// Returns the lane of the running thread in its warp, 0 to 31.
uint32_t readLane();
// Returns the number of the running thread's warp in its block.
uint32_t readWarp();
// Returns 32.
uint32_t readWarpSize();
// Names how the lanes of a mask compare with the running thread's lane.
enum class Order { Less, LessOrEqual, Equal, GreaterOrEqual, Greater };
// Returns a mask of all lanes that compare so with the running thread's lane.
template <Order order> uint32_t readLaneMask();
// Returns a mask of the lanes of the warp that have not ended. Lanes run one after another, so the
// emulator chooses which of them count as active.
uint32_t readActiveMask(const Site *site);

// Waits for all threads of the block. `barrier` is the number of the barrier: there is one, with
// the number 0.
void syncBlock(uint32_t barrier, const Site *site);
// Same as syncBlock, for a barrier that names its number of threads. It is a fault unless that is
// the whole block.
void syncBlockOf(uint32_t barrier, uint32_t threads, const Site *site);
// Waits for the block and returns 1 if the predicate is not 0 in all of its threads, else 0.
uint32_t syncBlockAll(uint32_t barrier, uint32_t predicate, const Site *site);
// Waits for the block and returns 1 if the predicate is not 0 in any of its threads, else 0.
uint32_t syncBlockAny(uint32_t barrier, uint32_t predicate, const Site *site);
// Waits for the block and returns the number of threads whose predicate is not 0.
uint32_t syncBlockCount(uint32_t barrier, uint32_t predicate, const Site *site);
// Waits for the lanes of the warp in `mask`.
void syncWarp(uint32_t mask, const Site *site);

// Names how a shuffle chooses the lane that it reads.
enum class Shuffle { Up, Down, Butterfly, Index };
// Returns `value` of another lane, as shfl.sync does. `lane` is the distance, mask or index, and
// `control` the bounds as in PTX. A lane that reads from one that takes no part is a fault.
template <Shuffle kind>
uint32_t shuffle(uint32_t mask, uint32_t value, uint32_t lane, uint32_t control, const Site *site);
// Same as shuffle, with the value in result[0]. result[1] tells whether the source lane was in
// range.
template <Shuffle kind>
void shuffleWithPredicate(uint32_t *result, uint32_t mask, uint32_t value, uint32_t lane,
                          uint32_t control, const Site *site);

// Returns 1 if the predicate is not 0 in all lanes of the mask, else 0.
uint32_t voteAll(uint32_t mask, uint32_t predicate, const Site *site);
// Returns 1 if the predicate is not 0 in any lane of the mask, else 0.
uint32_t voteAny(uint32_t mask, uint32_t predicate, const Site *site);
// Returns 1 if the predicate is the same in all lanes of the mask, else 0.
uint32_t voteUniform(uint32_t mask, uint32_t predicate, const Site *site);
// Returns a mask of the lanes whose predicate is not 0.
uint32_t voteBallot(uint32_t mask, uint32_t predicate, const Site *site);
// Returns a mask of the lanes that have the same value as the running thread.
uint32_t matchAny(uint32_t mask, uint32_t value, const Site *site);

// Names how a reduction over lanes combines two values. Min and Max take the words as signed
// numbers.
enum class Reduce { Add, And, Or, Xor, Min, Max, UnsignedMin, UnsignedMax };
// Returns the reduction of the values of all lanes in the mask.
template <Reduce kind> uint32_t reduce(uint32_t value, uint32_t mask, const Site *site);

} // namespace dtc::simt::device
