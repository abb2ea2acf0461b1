// What device code calls of the emulator, by Intrinsics.def. The last argument of what has an effect is its site.
#pragma once

#include "runtime/simt/Abi.h"

#include <cstdint>

namespace dtc::simt::device {

using abi::Site;

// Memory, by retargeted loads and stores; `access` has all in its site.
void access(const void *address, const Site *site);
void accessRange(const void *address, uint64_t bytes, const Site *site);
void *sharedBase();
void *dynamicSharedBase();
void step(const Site *site);
void fence(const Site *site);
void trap(const Site *site);
void assertFail(const void *condition, const void *file, uint32_t line, const void *function,
                uint64_t bytes, const Site *site);
void nothing(const Site *site);
void nothingOfWord(uint32_t word, const Site *site);
void nothingOfAddress(const void *address, const Site *site);

uint32_t isShared(const void *address);
uint32_t isGlobal(const void *address);

enum class Index { Thread, BlockSize, Block, GridSize };
template <Index index, int dim> uint32_t readIndex();
uint32_t readLane();
uint32_t readWarp();
uint32_t readWarpSize();
enum class Order { Less, LessOrEqual, Equal, GreaterOrEqual, Greater };
template <Order order> uint32_t readLaneMask();
uint32_t readActiveMask(const Site *site);

// Barriers of the block: 0 is the number of the barrier, of which there is one.
void syncBlock(uint32_t barrier, const Site *site);
void syncBlockOf(uint32_t barrier, uint32_t threads, const Site *site);
uint32_t syncBlockAll(uint32_t barrier, uint32_t predicate, const Site *site);
uint32_t syncBlockAny(uint32_t barrier, uint32_t predicate, const Site *site);
uint32_t syncBlockCount(uint32_t barrier, uint32_t predicate, const Site *site);
void syncWarp(uint32_t mask, const Site *site);

enum class Shuffle { Up, Down, Butterfly, Index };
template <Shuffle kind>
uint32_t shuffle(uint32_t mask, uint32_t value, uint32_t lane, uint32_t control, const Site *site);
// result[1]: whether the source lane was in range.
template <Shuffle kind>
void shuffleWithPredicate(uint32_t *result, uint32_t mask, uint32_t value, uint32_t lane,
                          uint32_t control, const Site *site);

uint32_t voteAll(uint32_t mask, uint32_t predicate, const Site *site);
uint32_t voteAny(uint32_t mask, uint32_t predicate, const Site *site);
uint32_t voteUniform(uint32_t mask, uint32_t predicate, const Site *site);
uint32_t voteBallot(uint32_t mask, uint32_t predicate, const Site *site);
uint32_t matchAny(uint32_t mask, uint32_t value, const Site *site);

enum class Reduce { Add, And, Or, Xor, Min, Max, UnsignedMin, UnsignedMax };
template <Reduce kind> uint32_t reduce(uint32_t value, uint32_t mask, const Site *site);

// D = A B + C of a warp, f32 sums (or f16 for F16Sums) of products of f16, bf16 or tf32. The fragments of A, B and C.
enum class Element { F16, Bf16, Tf32 };
template <Element element>
void multiply16x8x16(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                     uint32_t b1, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                     const Site *site);
template <Element element>
void multiply16x8x8(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t c0, uint32_t c1,
                    uint32_t c2, uint32_t c3, const Site *site);
void multiply16x8x16HalfSums(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                             uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1, const Site *site);
void multiply16x8x8Tf32(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                        uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1, uint32_t c2,
                        uint32_t c3, const Site *site);

// 8 x 8 matrices of 16 bits from shared memory; one matrix comes back as a word, more as several.
template <bool transposed> uint32_t loadMatrix(const void *row, const Site *site);
template <int matrices, bool transposed>
void loadMatrices(uint32_t *result, const void *row, const Site *site);
template <bool transposed> uint32_t loadMatrixAt(uint32_t row, const Site *site);
template <int matrices, bool transposed>
void loadMatricesAt(uint32_t *result, uint32_t row, const Site *site);

// Copies from global to shared memory that land when they are waited for, as late as hardware may do them.
template <uint32_t bytes> void copyAsync(void *target, const void *source, const Site *site);
template <uint32_t bytes>
void copyAsyncPart(void *target, const void *source, uint32_t sourceBytes, const Site *site);
void copyAsyncAt(uint32_t target, const void *source, uint32_t bytes, const Site *site);
void copyAsyncPartAt(uint32_t target, const void *source, uint32_t bytes, uint32_t sourceBytes,
                     const Site *site);
void commitCopies(const Site *site);
void waitForCopies(uint32_t groupsLeft, const Site *site);
void waitForAllCopies(const Site *site);

} // namespace dtc::simt::device
