#include "runtime/simt/Memory.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace dtc::simt {

using format::text;
using rt::Status;

static constexpr uint64_t guardBytes = 4096;
static constexpr size_t mostFreed = 256; // ranges; a process may have about 65,000 mappings

Range::~Range() {
  if (mapping)
    ::munmap(mapping, mappedBytes);
  std::free(written);
}

std::unique_ptr<Range> Range::ofHost(void *address, uint64_t bytes) {
  auto range = std::make_unique<Range>();
  range->base = static_cast<uint8_t *>(address);
  range->bytes = bytes;
  range->written = static_cast<uint8_t *>(std::malloc(bytes));
  if (range->written)
    std::memset(range->written, 1, bytes);
  return range;
}

static std::string hex(const void *address) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%p", address);
  return digits;
}

Range *Memory::findBefore(const void *address) const {
  auto after = ranges.upper_bound(static_cast<const uint8_t *>(address));
  return after == ranges.begin() ? nullptr : std::prev(after)->second.get();
}

Status Memory::insert(std::unique_ptr<Range> range) {
  const uint8_t *end = range->base + range->bytes;
  Range *before = findBefore(end - 1);
  if (before && before->base + before->bytes > range->base)
    return Status::invalidArgument(text("memory of kernels: ", range->bytes, " bytes at ",
                                        hex(range->base), " overlap the range of ", before->bytes,
                                        " bytes at ", hex(before->base)));
  if (range->mapping)
    range->written = static_cast<uint8_t *>(std::calloc(range->bytes, 1));
  if (!range->written)
    return Status::resourceExhausted(
        text("memory of kernels: no memory for the flags of ", range->bytes, " bytes"));
  const uint8_t *base = range->base;
  ranges.emplace(base, std::move(range));
  return {};
}

Status Memory::allocate(uint64_t bytes, void *&address) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (bytes == 0)
    return Status::invalidArgument("memory of kernels: asked for 0 bytes");
  auto range = std::make_unique<Range>();
  uint64_t room = (bytes + guardBytes - 1) / guardBytes * guardBytes;
  range->mappedBytes = room + 2 * guardBytes;
  void *mapping =
      ::mmap(nullptr, range->mappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return Status::resourceExhausted(
        text("memory of kernels: mmap of ", bytes, " bytes: ", std::strerror(errno)));
  range->mapping = mapping;
  uint8_t *start = static_cast<uint8_t *>(mapping) + guardBytes;
  if (::mprotect(start, room, PROT_READ | PROT_WRITE) != 0)
    return Status::resourceExhausted(
        text("memory of kernels: mprotect of ", bytes, " bytes: ", std::strerror(errno)));
  range->base = start + (room - bytes) / 256 * 256; // the end is close to the page that faults
  range->bytes = bytes;
  std::memset(range->base, 0xff, bytes);
  address = range->base;
  return insert(std::move(range));
}

Status Memory::free(void *address) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto found = ranges.find(static_cast<const uint8_t *>(address));
  if (found == ranges.end() || !found->second->mapping)
    return Status::invalidArgument(text("memory of kernels: ", hex(address),
                                        ", which is to be freed, is not what an allocation gave"));
  // The addresses stay reserved, without memory. Other memory at these addresses, such as a fiber's
  // stack, would hide late accesses.
  Range &range = *found->second;
  if (::mmap(range.mapping, range.mappedBytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
    std::free(std::exchange(range.written, nullptr));
    freed.push_back(std::move(found->second));
    if (freed.size() > mostFreed)
      freed.pop_front();
  }
  ranges.erase(found);
  return {};
}

Status Memory::addHostRange(void *address, uint64_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (!address || bytes == 0)
    return Status::invalidArgument("memory of kernels: a range of the host without bytes");
  return insert(Range::ofHost(address, bytes));
}

Status Memory::removeHostRange(void *address) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto found = ranges.find(static_cast<const uint8_t *>(address));
  if (found == ranges.end() || found->second->mapping)
    return Status::invalidArgument(
        text("memory of kernels: ", hex(address), " is not the start of a range of the host"));
  ranges.erase(found);
  return {};
}

Status Memory::find(const void *address, uint64_t bytes, const std::string &user,
                    Range *&range) const {
  range = findBefore(address);
  if (range && range->contains(address, bytes))
    return {};
  std::string words =
      text(user, ": ", bytes, " bytes at ", hex(address), " are not within any range");
  if (range)
    words += text("; the nearest one below has ", range->bytes, " bytes at ", hex(range->base));
  return Status::invalidArgument(std::move(words));
}

Status Memory::markWritten(const void *address, uint64_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (bytes == 0)
    return {};
  Range *range;
  DTC_RETURN_IF_ERROR(find(address, bytes, "memory that was written", range));
  std::memset(range->written + (static_cast<const uint8_t *>(address) - range->base), 1, bytes);
  return {};
}

Status Memory::markUnwritten(void *address, uint64_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (bytes == 0)
    return {};
  Range *range;
  DTC_RETURN_IF_ERROR(find(address, bytes, "memory that means nothing any more", range));
  std::memset(range->written + (static_cast<uint8_t *>(address) - range->base), 0, bytes);
  std::memset(address, 0xff, bytes);
  return {};
}

Status Memory::markCopied(const void *target, const void *source, uint64_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (bytes == 0)
    return {};
  Range *to, *from;
  DTC_RETURN_IF_ERROR(find(target, bytes, "target of a copy", to));
  DTC_RETURN_IF_ERROR(find(source, bytes, "source of a copy", from));
  std::memmove(to->written + (static_cast<const uint8_t *>(target) - to->base),
               from->written + (static_cast<const uint8_t *>(source) - from->base), bytes);
  return {};
}

Status Memory::checkRead(const void *address, uint64_t bytes, const std::string &user) const {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (bytes == 0)
    return {};
  Range *range;
  DTC_RETURN_IF_ERROR(find(address, bytes, user, range));
  const uint8_t *flags = range->written + (static_cast<const uint8_t *>(address) - range->base);
  if (const void *found = std::memchr(flags, 0, bytes))
    return Status::invalidArgument(
        text(user, ": reads ", bytes, " bytes at ", hex(address), ", of which byte ",
             static_cast<const uint8_t *>(found) - flags, " was never written"));
  return {};
}

Status Memory::checkWrite(const void *address, uint64_t bytes, const std::string &user) const {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  Range *range;
  return bytes == 0 ? Status() : find(address, bytes, user, range);
}

} // namespace dtc::simt
