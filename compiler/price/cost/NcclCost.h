// Seconds of one collective as NCCL does it. Internal to this folder.
#pragma once

#include "compiler/price/cost/UsedLevels.h"

namespace dtc {

// Bytes of the whole tensor, and what the device adds.
struct NcclCall {
  double bytes = 0;
  const CollectiveConstants *constants = nullptr;
};

// The bandwidth at which a ring over all ranks moves: a ring passes a level once, but NCCL's
// channels spread it over the links of all ranks inside.
double ringBandwidth(llvm::ArrayRef<UsedLevel> levels);

// The quickest algorithm and its seconds, without CollectiveConstants::start. `levels` is not
// empty.
CollectiveChoice ncclChoice(CollectiveKind kind, const NcclCall &call,
                            llvm::ArrayRef<UsedLevel> levels);

// Each rank has a message for every other rank; those to other groups of a level leave through the
// rank's own link. Seconds without latency.
double allToAllTransfer(double bytes, llvm::ArrayRef<UsedLevel> levels);

} // namespace dtc
