// The emulator's functions that device code calls, by the names in Intrinsics.def. A function that
// has an effect takes its site as the last argument. A function that finds a fault ends the launch
// and does not return.
#pragma once

#include "runtime/simt/Abi.h"

#include <cstdint>

namespace dtc::simt::device {

using abi::Site;

// Checks a load or store of the running thread. The site holds its size, alignment and kind.
void access(const void *address, const Site *site);
// Checks an access of `bytes` bytes, such as a copy, whose size only the launch knows.
void accessRange(const void *address, uint64_t bytes, const Site *site);
// Returns the start of the block's static shared memory.
void *sharedBase();
// Returns the start of the block's dynamic shared memory.
void *dynamicSharedBase();
// Counts one step of a loop. The launch ends with a fault if it makes too many.
void step(const Site *site);
// Orders the thread's earlier writes before its later atomic accesses.
void fence(const Site *site);
// Ends the launch with the fault that a trap was reached.
void trap(const Site *site);
// Ends the launch with the fault that the assertion `condition` at `file`:`line` does not hold.
void assertFail(const void *condition, const void *file, uint32_t line, const void *function,
                uint64_t bytes, const Site *site);
// Does nothing: a hint that the emulator ignores.
void nothing(const Site *site);
// Does nothing: a hint with a number, such as nanosleep.
void nothingOfWord(uint32_t word, const Site *site);
// Does nothing: a hint with an address, such as a prefetch.
void nothingOfAddress(const void *address, const Site *site);

// Returns 1 if the address is in shared memory of the block, else 0.
uint32_t isShared(const void *address);
// Returns 1 if the address is neither in shared memory nor on the stack of the thread, else 0.
uint32_t isGlobal(const void *address);

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

// The element type of the factors of a warp's matrix product D = A B + C. Sums are f32, or f16 for
// multiply16x8x16HalfSums.
enum class Element { F16, Bf16, Tf32 };
// D of 16 x 8 and A of 16 x 16, with f32 sums. `a0` and so on are the fragments that this lane
// holds, and `d` receives four words. It is a fault unless all 32 lanes take part; so also below.
template <Element element>
void multiply16x8x16(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                     uint32_t b1, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                     const Site *site);
// D of 16 x 8 and A of 16 x 8, with factors of 16 bits and f32 sums.
template <Element element>
void multiply16x8x8(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t c0, uint32_t c1,
                    uint32_t c2, uint32_t c3, const Site *site);
// Same as multiply16x8x16 of f16, with sums that are read and written as f16: `d` receives two
// words.
void multiply16x8x16HalfSums(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                             uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1, const Site *site);
// D of 16 x 8 and A of 16 x 8, with factors of tf32 (one per word) and f32 sums.
void multiply16x8x8Tf32(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                        uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1, uint32_t c2,
                        uint32_t c3, const Site *site);

// Loads one 8 x 8 matrix of 16-bit elements from shared memory. Lanes 0 to 7 give the addresses of
// the rows, multiples of 16. Returns the two elements that belong to this lane.
template <bool transposed> uint32_t loadMatrix(const void *row, const Site *site);
// Runs all blocks. Errors: InvalidArgument for a launch that hardware would refuse,
// ResourceExhausted without memory below 4 GiB, Internal for a fault of the kernel.
template <int matrices, bool transposed>
void loadMatrices(uint32_t *result, const void *row, const Site *site);
// Same as loadMatrix, with a 32-bit address of shared memory.
template <bool transposed> uint32_t loadMatrixAt(uint32_t row, const Site *site);
// Same as loadMatrices, with a 32-bit address of shared memory.
template <int matrices, bool transposed>
void loadMatricesAt(uint32_t *result, uint32_t row, const Site *site);

// Starts a copy of `bytes` bytes from global to shared memory. The copy is made when the thread
// waits for it, which is the latest time that hardware allows. Both addresses must be multiples of
// `bytes`.
template <uint32_t bytes> void copyAsync(void *target, const void *source, const Site *site);
// Same as copyAsync, but copies only the first `sourceBytes` bytes and fills the rest with zeros.
template <uint32_t bytes>
void copyAsyncPart(void *target, const void *source, uint32_t sourceBytes, const Site *site);
// Same as copyAsync, with a 32-bit address of shared memory.
void copyAsyncAt(uint32_t target, const void *source, uint32_t bytes, const Site *site);
// Same as copyAsyncPart, with a 32-bit address of shared memory.
void copyAsyncPartAt(uint32_t target, const void *source, uint32_t bytes, uint32_t sourceBytes,
                     const Site *site);
// Puts the thread's copies that were started since the last call into one group.
void commitCopies(const Site *site);
// Waits until at most `groupsLeft` groups of the thread's copies are left: makes the copies of
// older groups.
void waitForCopies(uint32_t groupsLeft, const Site *site);
// Waits for all copies of the thread, also those in no group.
void waitForAllCopies(const Site *site);

} // namespace dtc::simt::device
