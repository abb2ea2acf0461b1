// The reduction of gradients: beside the backward pass or after it, and in buckets.
#include "compiler/decide/decisions/Families.h"

namespace dtc::families {
namespace {

constexpr int64_t kBytesOfMebibyte = 1 << 20;

constexpr Decision kBucketsRows[] = {
    {.key = "overlap_gradients",
     .field = fieldOf<&Decisions::overlapGradients>(),
     .value = [](const Decisions &d) { return std::string(d.overlapGradients ? "yes" : "no"); },
     .plan = {.form = PlanForm::Flag, .mayMiss = true},
     .pin = {.name = "overlap",
             .meaning = "reductions of gradients overlap with the backward pass",
             .low = 0,
             .high = 1},
     .leftOut = kOfTheStep},
    {.key = "bucket_bytes",
     .field = fieldOf<&Decisions::bucketBytes>(),
     .plan = {.form = PlanForm::Number, .mayMiss = true, .least = 0},
     .pin = {.name = "bucket_mib",
             .meaning = "MiB of a gradient bucket",
             .low = 1,
             .high = kMostPinned,
             .storeNumber = [](int64_t value,
                               Decisions &d) { d.bucketBytes = value * kBytesOfMebibyte; },
             .write =
                 [](const Decisions &d) {
                   bool isWhole = d.bucketBytes > 0 && d.bucketBytes % kBytesOfMebibyte == 0;
                   return isWhole ? std::to_string(d.bucketBytes / kBytesOfMebibyte) : "";
                 }},
     .leftOut = kOfTheStep},
};

} // namespace

llvm::ArrayRef<Decision> buckets() { return kBucketsRows; }

} // namespace dtc::families
