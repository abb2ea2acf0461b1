// Changes inputs of outside-fuzz, most of the time behind hashes, lengths and parsers.
#include "test/fuzz/MutateJson.h"
#include "test/fuzz/MutateProgram.h"
#include "test/fuzz/Outside.h"

#include <algorithm>
#include <cstring>

// These names are prescribed by libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
// NOLINTEND(readability-identifier-naming)

namespace dtc::fuzz {
namespace {

using Changed = std::optional<std::string>;

// Changes the manifest of a checkpoint or the index of a folder, or the header of one of the files
// behind it.
Changed mutateFolder(std::string_view input, Random &random) {
  std::vector<std::string> parts;
  for (std::string_view part : splitParts(input, 3))
    parts.emplace_back(part);
  size_t which = random.below(4) % 3;
  Changed changed =
      which == 0 ? mutateJson(parts[0], random) : mutateSafetensors(parts[which], random);
  if (!changed || (which < 2 && changed->size() > UINT16_MAX))
    return std::nullopt;
  parts[which] = *changed;
  return joinParts(parts);
}

Changed mutateFile(std::string_view input, Random &random) {
  // Readers require this alignment.
  std::vector<uint8_t> file(input.begin(), input.end());
  std::optional<std::vector<uint8_t>> changed =
      random.below(2) ? mutateProgram(file, random) : mutateSigned(file, random);
  return changed ? std::optional(std::string(changed->begin(), changed->end())) : std::nullopt;
}

// Changes an input of readFrames up to three times: removes, repeats or swaps frames, or changes a
// frame's rank, time or one of its numbers.
Changed mutateFrames(std::string_view input, Random &random) {
  constexpr size_t kFront = 5;
  std::vector<std::string> frames;
  while (input.size() >= kFront) {
    size_t size = static_cast<uint8_t>(input[3]) | size_t(static_cast<uint8_t>(input[4])) << 8;
    frames.emplace_back(input.substr(0, kFront + size));
    input.remove_prefix(frames.back().size());
  }
  for (uint64_t changes = 1 + random.below(3); changes > 0 && !frames.empty(); --changes) {
    size_t which = random.below(frames.size()), other = random.below(frames.size());
    std::string &frame = frames[which];
    switch (random.below(6)) {
    case 0:
      frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(which));
      break;
    case 1:
      frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(other), std::string(frame));
      break;
    case 2:
      std::swap(frame, frames[other]);
      break;
    case 3: // another rank, or another time
      frame[random.below(2)] = static_cast<char>(random.next());
      break;
    default: { // a number of four bytes
      if (frame.size() < kFront + 4)
        break;
      size_t at = kFront + 4 * random.below((frame.size() - kFront) / 4);
      auto value = static_cast<uint32_t>(random.below(2) ? random.below(8) : random.next());
      std::memcpy(frame.data() + at, &value, sizeof(value));
    }
    }
  }
  std::string out;
  for (const std::string &frame : frames)
    out += frame;
  return out;
}

Changed mutateBehind(char kind, std::string_view input, Random &random) {
  switch (kind) {
  case 'k':
  case 'K':
  case 'w':
    return mutateFolder(input, random);
  case 's':
    return mutateSafetensors(input, random);
  case 'd':
    return mutateFile(input, random);
  case 'c':
  case 'e': {
    std::vector<uint8_t> code(input.begin(), input.end());
    mutateCode(code, random);
    return std::string(code.begin(), code.end());
  }
  case 'f':
    return mutateFrames(input, random);
  default:
    return std::nullopt;
  }
}

} // namespace
} // namespace dtc::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  if (size == 0)
    return LLVMFuzzerMutate(data, size, most);
  dtc::fuzz::Random random(seed);
  if (random.below(4) != 0) {
    std::string_view input(reinterpret_cast<const char *>(data) + 1, size - 1);
    std::optional<std::string> changed =
        dtc::fuzz::mutateBehind(static_cast<char>(data[0]), input, random);
    if (changed && changed->size() < most) {
      std::copy(changed->begin(), changed->end(), data + 1);
      return 1 + changed->size();
    }
  }
  return 1 + LLVMFuzzerMutate(data + 1, size - 1, most - 1);
}
