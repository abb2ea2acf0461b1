// Compares blocks with their hashes before anything of them is used.
#include "runtime/data/CheckedTokens.h"

#include "runtime/base/Text.h"
#include "runtime/data/Megatron.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>

namespace dtc::rt {
using format::text;

static_assert(std::endian::native == std::endian::little, "hashes are little endian");

static uint64_t blocksOf(const InputFile &file, uint64_t blockBytes) {
  return (file.size() + blockBytes - 1) / blockBytes;
}

CheckedTokens::CheckedTokens(Files files, std::string format, uint64_t count, TokenType type,
                             uint64_t vocabulary)
    : TokenSource({format, {files.ids.path()}, {}}), blocks(std::move(files.blocks)),
      hashes(std::move(files.hashes)), width(bytesOf(type)), blockBytes(files.blockBytes),
      tokens(std::move(files.ids), std::move(format), 0, count, type, vocabulary),
      checked(std::make_unique<std::atomic<uint8_t>[]>(blocksOf(blocks, blockBytes))) {}

Status CheckedTokens::checkBlock(uint64_t block) const {
  uint64_t begin = block * blockBytes, bytes = std::min(blockBytes, blocks.size() - begin);
  std::vector<uint8_t> content(bytes);
  uint32_t wanted = 0;
  DTC_RETURN_IF_ERROR(blocks.read(begin, content));
  DTC_RETURN_IF_ERROR(
      hashes.read(block * sizeof(wanted), {reinterpret_cast<uint8_t *>(&wanted), sizeof(wanted)}));
  if (::crc32_z(0, content.data(), content.size()) != wanted)
    return Status::dataLoss(text("reading '", name(), "': its bytes ", begin, " to ", begin + bytes,
                                 " are damaged: their hash is another than '", hashes.path(),
                                 "' says; 'dtc data verify' reads the whole folder"));
  checked[block].store(1, std::memory_order_release);
  return {};
}

Status CheckedTokens::read(uint64_t begin, std::span<int32_t> out) const {
  DTC_RETURN_IF_ERROR(checkRange(begin, out.size(), size(), name()));
  if (out.empty())
    return {};
  uint64_t last = ((begin + out.size()) * width - 1) / blockBytes;
  for (uint64_t block = begin * width / blockBytes; block <= last; ++block)
    if (!checked[block].load(std::memory_order_acquire))
      DTC_RETURN_IF_ERROR(checkBlock(block));
  return tokens.read(begin, out);
}

Status CheckedTokens::documentEnds(std::vector<uint64_t> &ends) const {
  std::string stem = name().substr(0, name().size() - std::string(".bin").size());
  return megatronDocumentEnds(stem, size(), ends);
}

Status crcOfFile(const InputFile &file, uint32_t &crc) {
  std::vector<uint8_t> piece(std::min<uint64_t>(file.size(), 1 << 20));
  unsigned long sum = 0;
  for (uint64_t at = 0; at < file.size(); at += piece.size()) {
    std::span<uint8_t> part =
        std::span(piece).first(std::min<uint64_t>(piece.size(), file.size() - at));
    DTC_RETURN_IF_ERROR(file.read(at, part));
    sum = ::crc32_z(sum, part.data(), part.size());
  }
  crc = static_cast<uint32_t>(sum);
  return {};
}

} // namespace dtc::rt
