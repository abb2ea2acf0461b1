// Whether two ways to do an attention agree, as far as roundings of 16-bit numbers let them.
#pragma once

#include "runtime/cuda/AttentionGraph.h"
#include "runtime/cuda/Driver.h"

#include <string>
#include <vector>

namespace dtc::rt {

// What an attention, or a gradient of one, has written: bytes of each of its results, of the first batch, the middle one and the
// last, each from its first to its last element.
using AttentionResults = std::vector<std::vector<char>>;

// Copies them from the device, which has done what it was told.
Status readResults(const cu::Driver &driver, const AttentionCase &attention,
                   AttentionResults &results);
// Makes all of them no numbers, on `stream`, so that what is not written is seen.
Status spoilResults(const cu::Driver &driver, const AttentionCase &attention, cu::Stream stream);

// Whether they are the same bits, but for what lies between the elements of a result.
bool areSame(const AttentionCase &attention, const AttentionResults &x, const AttentionResults &y);

// Empty where `other` is what `ours` is but for roundings, else what differs: "row 3 of head 1 of batch 0 of 'dq' differs by 12 %
// of its norm".
//
// Each way rounds weights, or their gradients, once to 16 bits before a product in f32, and the result once: with u half the
// distance of 1 and the next number, 2^-8 for bf16, either is off by u of a row's norm twice at most, the two by 4 u
// together; random roundings make it a third of that. Rows are of one token and head, so that one wrong key shows. u / 16 of
// their mean norm is for errors of f32 sums. Of dq, the first rows of a causal attention are differences of equal numbers,
// which may have been rounded before: u of the largest row is allowed for it. The logarithm of the sum enters the gradient's
// weights as a factor: u / 4 is below their rounding.
std::string findDifference(const AttentionCase &attention, const AttentionResults &ours,
                           const AttentionResults &other);

} // namespace dtc::rt
