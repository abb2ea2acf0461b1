// Data parallelism and micro-batches.
#include "compiler/decide/decisions/Families.h"

namespace dtc::families {
namespace {

constexpr int64_t kMostSamples = 1 << 30;
// An executable lists its runs: a few per micro-batch.
constexpr int64_t kMostMicroBatches = int64_t(1) << 16;

constexpr llvm::StringRef kOneMicroBatch = "all of a kind are of one micro-batch on one rank";

constexpr LeftOut kRanks[] = {{KeptResult::Work, kOneMicroBatch}};
constexpr LeftOut kSize[] = {{KeptResult::LeastMemory, "the smallest comes first and needs least"}};

constexpr Decision kDataRows[] = {
    {.key = "dp",
     .field = fieldOf<&Decisions::dp>(),
     .listing = Listing::Always,
     .plan = {.form = PlanForm::Number, .inMesh = true, .least = 1},
     .pin = {.name = "dp", .meaning = "ranks of data parallelism", .low = 1, .high = kMostPinned},
     .leftOut = kRanks},
    {.key = "micro_batch",
     .field = fieldOf<&Decisions::microBatch>(),
     .listing = Listing::Always,
     .plan = {.form = PlanForm::Number, .least = 1},
     .pin = {.name = "micro_batch",
             .meaning = "samples of a micro-batch on each data-parallel rank",
             .low = 1,
             .high = kMostSamples},
     .leftOut = kSize},
    {.key = "num_micro_batches",
     .field = fieldOf<&Decisions::numMicroBatches>(),
     .plan = {.form = PlanForm::Number, .least = 1},
     .program = {[](const Decisions &d) { return d.numMicroBatches <= kMostMicroBatches; },
                 "a larger micro_batch, or a smaller --global-batch"},
     .leftOut = kOfTheStep},
};

} // namespace

llvm::ArrayRef<Decision> data() { return kDataRows; }

} // namespace dtc::families
