// Checks each memory access of device code.
#include "runtime/simt/Engine.h"

#include <cstring>

namespace dtc::simt {

using abi::Site;
using abi::Space;
using format::text;

static std::string hex(const void *address) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%p", address);
  return digits;
}

static std::string describe(const Engine::Touch &touch) {
  const char *verb = !abi::writes(touch.access)  ? "reads "
                     : !abi::reads(touch.access) ? "writes "
                                                 : "changes ";
  return text(verb, touch.bytes, touch.bytes == 1 ? " byte" : " bytes", " at ", hex(touch.address));
}

// Handles an atomic access: with a seed, another block or thread may run first. If the thread has
// passed a fence, its earlier writes are published to threads that access `address` later.
void Engine::noteAtomic(const void *address) {
  if (options.seed && random() % 2) {
    setReady(*active);
    goOn();
  }
  if (active->hasFenced)
    clocks.release(address);
  clocks.acquire(address);
}

void Engine::access(const Touch &touch, const Site &site) {
  step(&site);
  if (touch.bytes == 0 || (!options.checks && !counting) || active->fiber.holds(touch.address))
    return; // local memory is not checked
  bool inShared = isShared(touch.address);
  auto number = reinterpret_cast<uint64_t>(touch.address);
  if (counting)
    counting->note(active->number, site,
                   inShared ? number - reinterpret_cast<uint64_t>(shared) : number, touch.bytes,
                   touch.align, inShared);
  if (!options.checks)
    return;
  if (touch.align > 1 && number % touch.align != 0) {
    report(&site, text(describe(touch), ", which is not a multiple of ", touch.align));
    abandon();
  }
  if (abi::isAtomic(touch.access))
    noteAtomic(touch.address);
  else if (abi::writes(touch.access))
    active->hasFenced = false;
  if (inShared)
    checkShared(touch, site);
  else
    checkGlobal(touch, site);
}

void Engine::checkWritten(const uint8_t *flags, const Touch &touch, const Site &site,
                          const char *space) {
  const void *found = std::memchr(flags, 0, touch.bytes);
  if (!found)
    return;
  report(&site, text(describe(touch), " of ", space, " memory, of which byte ",
                     static_cast<const uint8_t *>(found) - flags, " was never written"));
  abandon();
}

void Engine::checkRace(Races &races, uint64_t offset, uint64_t epoch, const Touch &touch,
                       const Site &site, const char *space) {
  Stamp other;
  if (races.note(offset, touch.bytes, touch.access, epoch, clocks, other))
    return;
  std::string ofBlock;
  if (other.block() != clocks.blockNumber())
    ofBlock = text(" of block ", other.block());
  report(&site,
         text(describe(touch), " of ", space, " memory, which thread ", other.threadOfBlock(),
              ofBlock, other.write ? " wrote" : " read", " without a barrier between: a race"));
}

void Engine::checkShared(const Touch &touch, const Site &site) {
  auto offset = static_cast<uint64_t>(static_cast<const uint8_t *>(touch.address) - shared);
  if (touch.space != Space::Generic && touch.space != Space::Shared) {
    report(&site, text(describe(touch), " of shared memory by an instruction for another space"));
    abandon();
  }
  if (offset + touch.bytes > sharedBytes) {
    report(&site, text(describe(touch), ", ", offset,
                       " bytes behind the start of shared memory, of which the block has ",
                       sharedBytes, " bytes"));
    abandon();
  }
  uint8_t *flags = own.sharedWritten.data() + offset;
  if (abi::reads(touch.access))
    checkWritten(flags, touch, site, "shared");
  if (abi::writes(touch.access))
    std::memset(flags, 1, touch.bytes);
  checkRace(own.sharedRaces, offset, own.blockEpoch, touch, site, "shared");
  if (!fault.empty())
    abandon();
}

void Engine::reportOutside(const Range *below, const Touch &touch, const Site &site) {
  std::string words = text(describe(touch), ", which is not memory of the kernel");
  if (below)
    words += text(": ", static_cast<const uint8_t *>(touch.address) - below->base,
                  " bytes behind the start of a range of ", below->bytes, " bytes");
  report(&site, words);
}

void Engine::checkGlobal(const Touch &touch, const Site &site) {
  auto *at = static_cast<const uint8_t *>(touch.address);
  if (!lastRange || !lastRange->contains(at, touch.bytes)) {
    const uint8_t *parameter = parameterCopy.get();
    if (!abi::writes(touch.access) && parameter && at >= parameter &&
        at + touch.bytes <= parameter + parameterBytes)
      return;
    Range *variable = kernel.module ? kernel.module->findRange(at) : nullptr;
    Range *range = variable ? variable : memory.findBefore(at);
    if (!range || !range->contains(at, touch.bytes)) {
      reportOutside(range, touch, site);
      abandon();
    }
    lastRange = range;
  }
  if (touch.space == Space::Shared) {
    report(&site, text(describe(touch), " of global memory by an instruction for shared memory"));
    abandon();
  }
  auto offset = static_cast<uint64_t>(at - lastRange->base);
  uint8_t *flags = lastRange->written + offset;
  if (abi::reads(touch.access))
    checkWritten(flags, touch, site, "global");
  if (abi::writes(touch.access))
    std::memset(flags, 1, touch.bytes);
  checkRace(lastRange->races, offset, launchNumber, touch, site, "global");
  if (!fault.empty())
    abandon();
}

} // namespace dtc::simt
