// Makes one collective of several.
#pragma once

#include "passes/schedule/BucketMember.h"

namespace dtc {

// The members' data lie side by side in one buffer of the bucket, and one collective stands where the last member stood;
// copies that unpack a member follow it. Members are of one key and in program order, and the first may be delayed to the
// last. `name` ends the names of the bucket's buffers.
void buildBucket(exec::ProgramOp program, llvm::ArrayRef<BucketMember> members,
                 const llvm::Twine &name);

} // namespace dtc
