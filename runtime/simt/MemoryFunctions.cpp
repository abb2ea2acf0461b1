// Memory accesses of device code: loads and stores, matrices from shared memory, asynchronous
// copies.
#include "runtime/simt/MemoryFunctions.h"

#include "runtime/simt/Engine.h"

#include <cstring>

namespace dtc::simt::device {

using abi::Access;
using abi::Space;
using format::text;

void access(const void *address, const Site *site) {
  Engine::current().access({address, site->bytes, site->align, site->access, site->space}, *site);
}
void accessRange(const void *address, uint64_t bytes, const Site *site) {
  Engine::current().access({address, bytes, site->align, site->access, site->space}, *site);
}
void *sharedBase() { return Engine::current().sharedBase(); }
void *dynamicSharedBase() { return Engine::current().dynamicSharedBase(); }
void step(const Site *site) { Engine::current().step(site); }
void fence(const Site *site) { Engine::current().fence(); }

void trap(const Site *site) {
  Engine::current().report(site, "reached a trap");
  Engine::current().abandon();
}
void assertFail(const void *condition, const void *file, uint32_t line, const void *, uint64_t,
                const Site *site) {
  Engine::current().report(site,
                           text("assertion '", static_cast<const char *>(condition), "' of ",
                                static_cast<const char *>(file), ":", line, " does not hold"));
  Engine::current().abandon();
}
void nothing(const Site *) {}
void nothingOfWord(uint32_t, const Site *) {}
void nothingOfAddress(const void *, const Site *) {}

uint32_t isShared(const void *address) { return Engine::current().isShared(address); }
uint32_t isGlobal(const void *address) {
  Engine &engine = Engine::current();
  return !engine.isShared(address) && !engine.thread().fiber.holds(address);
}

static const void *atShared(uint32_t address) {
  return reinterpret_cast<const void *>(static_cast<uintptr_t>(address));
}

// Distributes the elements of the matrices. Lane 8 m + r gives the address of row r of matrix m.
// Lane l gets elements 2 (l % 4) and the next one of row l / 4 of each matrix, or of that column if
// transposed.
template <int matrices, bool transposed> static void combineMatrices(Engine &, const Lanes &lanes) {
  for (uint32_t lane = 0; lane < warpThreads; ++lane)
    for (uint32_t m = 0; m < matrices; ++m) {
      auto element = [&](uint32_t row, uint32_t column) {
        const void *start;
        std::memcpy(&start, lanes.at[8 * m + row]->given, sizeof(start));
        uint16_t value;
        std::memcpy(&value, static_cast<const char *>(start) + 2 * column, sizeof(value));
        return uint32_t{value};
      };
      uint32_t major = lane / 4, minor = lane % 4 * 2;
      uint32_t low = transposed ? element(minor, major) : element(major, minor);
      uint32_t high = transposed ? element(minor + 1, major) : element(major, minor + 1);
      lanes.at[lane]->result[m] = high << 16 | low;
    }
}

template <int matrices, bool transposed>
void loadMatrices(uint32_t *result, const void *row, const Site *site) {
  Engine &engine = Engine::current();
  if (engine.thread().lane() < 8 * matrices)
    engine.access({row, 16, 16, Access::Read, Space::Shared}, *site);
  uint32_t given[2];
  std::memcpy(given, &row, sizeof(row));
  engine.meet(~0u, given, result, combineMatrices<matrices, transposed>, site, /*whole=*/true);
}
template <bool transposed> uint32_t loadMatrix(const void *row, const Site *site) {
  uint32_t result;
  loadMatrices<1, transposed>(&result, row, site);
  return result;
}
template <bool transposed> uint32_t loadMatrixAt(uint32_t row, const Site *site) {
  return loadMatrix<transposed>(atShared(row), site);
}
template <int matrices, bool transposed>
void loadMatricesAt(uint32_t *result, uint32_t row, const Site *site) {
  loadMatrices<matrices, transposed>(result, atShared(row), site);
}
#define DTC_MATRICES(transposed)                                                                   \
  template uint32_t loadMatrix<transposed>(const void *, const Site *);                            \
  template uint32_t loadMatrixAt<transposed>(uint32_t, const Site *);                              \
  template void loadMatrices<2, transposed>(uint32_t *, const void *, const Site *);               \
  template void loadMatrices<4, transposed>(uint32_t *, const void *, const Site *);               \
  template void loadMatricesAt<2, transposed>(uint32_t *, uint32_t, const Site *);                 \
  template void loadMatricesAt<4, transposed>(uint32_t *, uint32_t, const Site *);
DTC_MATRICES(false)
DTC_MATRICES(true)
#undef DTC_MATRICES

static void startCopy(void *target, const void *source, uint32_t bytes, uint32_t sourceBytes,
                      const Site *site) {
  Engine &engine = Engine::current();
  sourceBytes = sourceBytes < bytes ? sourceBytes : bytes;
  bool aligned = reinterpret_cast<uintptr_t>(target) % bytes == 0 &&
                 reinterpret_cast<uintptr_t>(source) % bytes == 0;
  if (!aligned) {
    engine.report(site,
                  text("copies ", bytes, " bytes at addresses that are not multiples of ", bytes));
    engine.abandon();
  }
  engine.access({source, sourceBytes, 1, Access::Read, Space::Global}, *site);
  Thread &thread = engine.thread();
  thread.copies.push_back({static_cast<uint8_t *>(target), static_cast<const uint8_t *>(source),
                           bytes, sourceBytes, thread.copyGroup, site});
}

template <uint32_t bytes> void copyAsync(void *target, const void *source, const Site *site) {
  startCopy(target, source, bytes, bytes, site);
}
template <uint32_t bytes>
void copyAsyncPart(void *target, const void *source, uint32_t sourceBytes, const Site *site) {
  startCopy(target, source, bytes, sourceBytes, site);
}
#define DTC_COPY(bytes)                                                                            \
  template void copyAsync<bytes>(void *, const void *, const Site *);                              \
  template void copyAsyncPart<bytes>(void *, const void *, uint32_t, const Site *);
DTC_COPY(4)
DTC_COPY(8)
DTC_COPY(16)
#undef DTC_COPY

void copyAsyncAt(uint32_t target, const void *source, uint32_t bytes, const Site *site) {
  startCopy(const_cast<void *>(atShared(target)), source, bytes, bytes, site);
}
void copyAsyncPartAt(uint32_t target, const void *source, uint32_t bytes, uint32_t sourceBytes,
                     const Site *site) {
  startCopy(const_cast<void *>(atShared(target)), source, bytes, sourceBytes, site);
}

void commitCopies(const Site *site) {
  Engine::current().step(site);
  ++Engine::current().thread().copyGroup;
}

void waitForCopies(uint32_t groupsLeft, const Site *site) {
  Engine &engine = Engine::current();
  engine.step(site);
  Thread &thread = engine.thread();
  size_t done = 0;
  while (done < thread.copies.size() && thread.copies[done].group + groupsLeft < thread.copyGroup) {
    const Thread::Copy &copy = thread.copies[done++];
    engine.access({copy.target, copy.bytes, copy.bytes, Access::Write, Space::Shared}, *copy.site);
    std::memcpy(copy.target, copy.source, copy.sourceBytes);
    std::memset(copy.target + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
  }
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<ptrdiff_t>(done));
}

void waitForAllCopies(const Site *site) {
  ++Engine::current().thread().copyGroup;
  waitForCopies(0, site);
}

} // namespace dtc::simt::device
