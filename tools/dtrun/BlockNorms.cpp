#include "tools/dtrun/BlockNorms.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/comm/Agree.h"
#include "runtime/format/Operands.h"
#include "runtime/format/RankMesh.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace dtc::rt {
namespace {

bool isNumber(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// Orders names word by word. Numbers are compared as numbers, so "h.10" comes after "h.9".
bool comesBefore(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    std::string_view x = a.substr(0, a.find('.')), y = b.substr(0, b.find('.'));
    if (x != y)
      return isNumber(x) && isNumber(y) && x.size() != y.size() ? x.size() < y.size() : x < y;
    a.remove_prefix(std::min(x.size() + 1, a.size()));
    b.remove_prefix(std::min(y.size() + 1, b.size()));
  }
  return a.size() < b.size();
}

// Uses four sums, which a processor adds in parallel.
double squaresOf(std::span<const float> values) {
  double sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= values.size(); i += 4)
    for (size_t lane = 0; lane < 4; ++lane)
      sums[lane] += static_cast<double>(values[i + lane]) * static_cast<double>(values[i + lane]);
  for (; i < values.size(); ++i)
    sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sums[0] + sums[1] + sums[2] + sums[3];
}

} // namespace

std::string blockOf(std::string_view parameter) {
  for (size_t begin = 0; begin < parameter.size();) {
    size_t end = std::min(parameter.find('.', begin), parameter.size());
    if (isNumber(parameter.substr(begin, end - begin)))
      return std::string(parameter.substr(0, end));
    begin = end + 1;
  }
  return std::string(parameter.substr(0, parameter.rfind('.')));
}

Status BlockNorms::open(const Executable &executable, Control &control, const Executor &runs,
                        Device &on, std::optional<uint64_t> steps) {
  world = &control;
  executor = &runs;
  device = &on;
  every = steps;
  if (every && *every == 0)
    return {};
  tensors = tensorsOfJob(executable.manifest(), runs.program(), false);
  CheckpointLayout layout;
  DTC_RETURN_IF_ERROR(
      agree(control, layOut(tensors.all, format::RankMesh(executable.manifest()), layout)));
  for (CheckpointLayout::Shard &shard : layout.shards)
    if (shard.rank == control.rank())
      pieces = std::move(shard.pieces);
  for (const CheckpointSource &source : tensors.all)
    blocks.push_back(blockOf(source.spec.name));
  std::sort(blocks.begin(), blocks.end(), comesBefore);
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (const CheckpointSource &source : tensors.all)
    blockOfTensor.push_back(static_cast<size_t>(
        std::find(blocks.begin(), blocks.end(), blockOf(source.spec.name)) - blocks.begin()));
  return {};
}

bool BlockNorms::isDue(uint64_t step) const {
  return every ? *every > 0 && step % *every == 0 : step >= next;
}

// A piece is a box of the local part. Its runs ascend, and so do the parts that are read.
Status BlockNorms::addSquares(std::vector<double> &squares) const {
  std::vector<std::byte> bytes;
  std::vector<float> values;
  for (const OwnedPiece &piece : pieces) {
    const format::Tensor &tensor = *tensors.own[piece.source];
    const std::vector<uint64_t> &shape = tensors.all[piece.source].spec.localShape;
    uint64_t width = format::bytesOf(tensor.dtype());
    const char *address = executor->address(tensor.buffer());
    double &sum = squares[blockOfTensor[piece.source]];
    constexpr uint64_t kMost = 1 << 18; // elements at a time
    Status status;
    // A narrow box of a wide tensor has many short runs, so the bytes between them are read, too.
    uint64_t begin = 0, end = 0; // range of what is in `values`
    uint64_t all = elementCount(shape);
    auto read = [&](uint64_t from) {
      begin = from;
      end = std::min(all, from + kMost);
      bytes.resize((end - begin) * width);
      values.resize(end - begin);
      status = device->copyOut(bytes.data(), address + begin * width, bytes.size());
      if (status.ok())
        decode(tensor.dtype(), bytes, values);
    };
    forEachRun(piece.extent, {shape, piece.local},
               {piece.extent, std::vector<uint64_t>(piece.extent.size())},
               [&](uint64_t from, uint64_t, uint64_t length) {
                 while (length > 0 && status.ok()) {
                   if (from < begin || from >= end)
                     read(from);
                   if (!status.ok())
                     return;
                   uint64_t now = std::min(length, end - from);
                   sum += squaresOf(std::span<const float>(values).subspan(from - begin, now));
                   from += now;
                   length -= now;
                 }
               });
    DTC_RETURN_IF_ERROR(status);
  }
  return {};
}

Status BlockNorms::measure(uint64_t step, double stepSeconds, std::vector<BlockNorm> &norms) {
  norms.clear();
  if (!isDue(step))
    return {};
  auto begun = std::chrono::steady_clock::now();
  size_t ranks = static_cast<size_t>(world->size()), count = blocks.size();
  std::vector<double> mine(count), all(count * ranks);
  DTC_RETURN_IF_ERROR(agree(*world, addSquares(mine)));
  DTC_RETURN_IF_ERROR(
      world->allGather(mine.data(), all.data(), count * sizeof(double), DataType::U8));
  for (size_t block = 0; block < count; ++block) {
    double sum = 0;
    for (size_t rank = 0; rank < ranks; ++rank)
      sum += all[rank * count + block];
    norms.push_back({blocks[block], std::sqrt(sum)});
  }
  if (every)
    return {};
  constexpr double kShare = 0.0025;
  double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  int64_t nanos[2] = {static_cast<int64_t>(took * 1e9), static_cast<int64_t>(stepSeconds * 1e9)};
  DTC_RETURN_IF_ERROR(world->largest(nanos));
  double steps =
      static_cast<double>(nanos[0]) / kShare / static_cast<double>(std::max<int64_t>(nanos[1], 1));
  next = step + static_cast<uint64_t>(std::clamp(std::ceil(steps), 1.0, 1e9));
  return {};
}

} // namespace dtc::rt
