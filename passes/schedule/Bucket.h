// Merges several collectives into one.
#pragma once

#include "passes/schedule/BucketMember.h"

namespace dtc {

// Merges `members` into one collective, which stands in the place of the last member; copies that
// unpack a member follow it. The data of the members are side by side in one buffer of the bucket.
// The members must have one key and be in program order, and the first must be movable to the last.
// `name` ends the names of the bucket's buffers.
void buildBucket(exec::ProgramOp program, llvm::ArrayRef<BucketMember> members,
                 const llvm::Twine &name);

} // namespace dtc
