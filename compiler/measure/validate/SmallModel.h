// A model of the user's family and traits that trains in seconds.
#pragma once

#include "compiler/measure/validate/SmallPlan.h"
#include "compiler/support/Error.h"

namespace dtc {

// A model shrunk so that it trains in seconds.
struct SmallModel {
  std::string config; // config.json
  int64_t sequence = 0;
};

// The config.json `text` of `path` with fewer layers, heads, columns and words. What a plan may
// stumble over stays: whether kv heads are fewer than tensor-parallel ranks and how many query
// heads share one, whether columns of the MLP and words divide by them, whether layers divide by
// the chunks of the pipeline; dropout, biases and tied embeddings are the model's own. `whole` is
// the user's plan, `small` that of the small model. Errors: text that is no config.json.
Result<SmallModel> shrinkModel(const std::string &path, const std::string &text,
                               const Decisions &whole, const Decisions &small);

} // namespace dtc
