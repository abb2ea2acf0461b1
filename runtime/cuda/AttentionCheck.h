// Compares two implementations of an attention up to the rounding of 16-bit numbers.
#pragma once

#include "runtime/cuda/AttentionGraph.h"
#include "runtime/cuda/CudnnOperation.h"

#include <string>
#include <vector>

namespace dtc::rt {

// Copies the results from the device, whose work must be complete: of each the first batch, the
// middle one and the last, each from its first to its last element.
Status readResults(const cu::Driver &driver, const AttentionCase &attention, CudnnResults &results);
// Fills all results with NaN, on `stream`, so that a missing write is detected.
Status spoilResults(const cu::Driver &driver, const AttentionCase &attention, cu::Stream stream);

// True if both have the same bits, ignoring gaps between the elements of a result.
bool areSame(const AttentionCase &attention, const CudnnResults &x, const CudnnResults &y);

// Returns "" if `other` equals `ours` except for roundings, else a description such as "row 3 of
// head 1 of batch 0 of 'dq' differs by 12 % of its norm".
//
// The tolerance: each implementation rounds weights, or their gradients, once to 16 bits before a
// matrix product in f32, and the result once. With u half the distance of 1 and the next number,
// 2^-8 for bf16, each one is off by at most u of a row's norm twice, both together by 4 u; random
// roundings make it a third of that. Rows are of one token and head, so that a single wrong key
// shows. u / 16 of their mean norm is added for errors of f32 sums. In dq, the first rows of a
// causal attention are differences of equal numbers, which may have been rounded before: u of the
// largest row is allowed for it. The logarithm of the sum enters the gradient's weights as a
// factor: its tolerance u / 4 is below their rounding.
std::string findDifference(const AttentionCase &attention, const CudnnResults &ours,
                           const CudnnResults &other);

} // namespace dtc::rt
