// Sets the transfer times between chunks.
#include "compiler/search/pipeline/Transfers.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {

static double between(llvm::ArrayRef<double> byBoundary, size_t from, size_t to) {
  if (from == to)
    return 0;
  auto [first, last] = std::minmax(from, to);
  return *llvm::max_element(byBoundary.slice(first, last - first));
}

void setTransfers(PipelineProblem &problem, double seconds, llvm::ArrayRef<double> byBoundary) {
  auto stageOf = [&](size_t chunk) {
    return static_cast<size_t>(stageOfChunk(problem.kind, problem.stages, static_cast<int>(chunk)));
  };
  for (size_t chunk = 0; chunk < problem.chunks.size(); ++chunk) {
    ChunkTimes &times = problem.chunks[chunk];
    times.sendForward = times.sendBackward = seconds;
    if (byBoundary.empty() || chunk == 0)
      continue;
    // A chunk's gradient goes back the way its input came.
    times.sendBackward = between(byBoundary, stageOf(chunk - 1), stageOf(chunk));
    problem.chunks[chunk - 1].sendForward = times.sendBackward;
  }
}

} // namespace dtc
