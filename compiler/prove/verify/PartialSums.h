// Values that are partial sums: which instructions make them, and which may read them.
#pragma once

#include "compiler/prove/verify/ProgramState.h"

#include <optional>

namespace dtc {

// An instruction leaves partial sums if a dimension that it reduces is sharded. A generated kernel
// declares this itself (Launch.shares). For other instructions the operands tell, along each axis:
// - matmul: if both operands are sharded along the axis, the contracted dimension is sharded, since
//   any other dimension of the result belongs to one operand only;
// - gradient of a convolution's weight: if both operands are sharded along an axis of the batch;
//   along others groups of channels may be, each of which has weights of its own;
// - gradient of an embedding: if the ids are sharded, each rank adds up its own tokens;
// - attention: if the queries are sharded but not the keys, several ranks add to the gradients of
//   the same keys;
// - embedding lookup: if the table's first row depends on the rank, each rank finds some of the
//   vocabulary entries.
// It does not matter how operands came about: parameters at rest, gathered, converted, or
// activations.
// Partial sums may be copied, sent, and reduced by collectives. A kernel that reads one has to
// declare its result as partial, too; a matmul, attention, norm or any other function of a partial
// sum is an error.

// Returns the axes along which the instruction takes parts of sums for each rank's own: it reads
// what the rank has not sent of them before.
AxisSet ownOf(const ProgramState &state);
// Returns the axes along which the instruction of the runtime writes parts of sums to a buffer.
AxisSet unfinishedOf(const ProgramState &state, uint32_t buffer);
// Returns the axes along which a kernel declares that a result is a part of a sum.
AxisSet shareOf(const ProgramState &state, uint32_t result);
// Checks that a touch read no parts of sums, but along axes that are `allowed`; `why` says for
// what it was read.
std::optional<Fault> checkFinished(const ProgramState &state, size_t touch, const char *why,
                                   AxisSet allowed);
// Checks that the instruction may read the parts of sums that it has read.
std::optional<Fault> checkParts(const ProgramState &state);
// Checks an embedding lookup. Rows of a table are looked up where they are: ranks that begin with
// another row hold other rows, and words of a rank's own are in a table that is the same where they
// differ.
std::optional<Fault> checkLookup(const ProgramState &state);
// Checks attention of a part of the queries. Where ranks that share a sequence see as many of its
// first keys as a length says that each has of its own, they hold the same keys.
std::optional<Fault> checkKeys(const ProgramState &state);

} // namespace dtc
