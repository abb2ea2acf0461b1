// Collectives that others have measured, beside the model's seconds.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

// A published measurement of a collective, with the seconds that the model gives for it.
struct MeasuredCollective {
  bool isFitted = false;      // its figure was looked at when constants were set
  std::string source, system; // system: from the catalogue, or a TOML file beside the CSV
  int64_t nodes = 1, ranks = 1;
  CollectiveKind kind = CollectiveKind::AllReduce;
  double bytes = 0, seconds = 0;
  double model = 0; // seconds of collectiveSeconds
};

// Reads a CSV with the columns of bench/collectives/measured.csv and computes the model's seconds
// for each row. Errors: a row that does not have its columns, a system or collective that does not
// exist.
Result<std::vector<MeasuredCollective>> readMeasured(const std::string &path);

} // namespace dtc
