// Decides which collectives are merged.
#include "passes/schedule/CollectiveBuckets.h"

#include "llvm/ADT/STLExtras.h"

using namespace dtc;

void CollectiveBuckets::add(unsigned collective, llvm::StringRef key, int64_t bytes) {
  Open &bucket = open[key.str()];
  if (!bucket.members.empty() && bucket.bytes + bytes > limitBytes) {
    closed.push_back(std::move(bucket.members));
    bucket = Open();
  }
  bucket.members.push_back(collective);
  bucket.bytes += bytes;
}

void CollectiveBuckets::closeIf(llvm::function_ref<bool(unsigned)> blocked) {
  for (auto &[key, bucket] : open)
    if (llvm::any_of(bucket.members, blocked)) {
      closed.push_back(std::move(bucket.members));
      bucket = Open();
    }
}

std::vector<std::vector<unsigned>> CollectiveBuckets::take() {
  closeIf([](unsigned) { return true; });
  return std::move(closed);
}
