// The emulator's functions for memory that device code calls, by the names in
// Intrinsics.def. A function that has an effect takes its site as the last argument. A function
// that finds a fault ends the launch and does not return.
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
