// The emulator's functions for matrix products of warps that device code calls, by the names in
// Intrinsics.def. A function that has an effect takes its site as the last argument. A function
// that finds a fault ends the launch and does not return.
#pragma once

#include "runtime/simt/Abi.h"

#include <cstdint>

namespace dtc::simt::device {

using abi::Site;

// The element type of the factors of a warp's matrix product D = A B + C. Sums are f32, or f16 for
// multiply16x8x16HalfSums.
enum class Element { F16, Bf16, Tf32 };
// D of 16 x 8 and A of 16 x 16, with f32 sums. `a0` and so on are the fragments that this lane
// holds, and `d` receives four words. It is a fault unless all 32 lanes take part; so also below.
template <Element element>
void multiply16x8x16(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                     uint32_t b1, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                     const Site *site);
// D of 16 x 8 and A of 16 x 8, with factors of 16 bits and f32 sums.
template <Element element>
void multiply16x8x8(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t c0, uint32_t c1,
                    uint32_t c2, uint32_t c3, const Site *site);
// Same as multiply16x8x16 of f16, with sums that are read and written as f16: `d` receives two
// words.
void multiply16x8x16HalfSums(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                             uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1, const Site *site);
// D of 16 x 8 and A of 16 x 8, with factors of tf32 (one per word) and f32 sums.
void multiply16x8x8Tf32(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                        uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1, uint32_t c2,
                        uint32_t c3, const Site *site);

} // namespace dtc::simt::device
