// The costs of an optimizer on the host, computed by hand.
#include "compiler/price/estimate/HostOffload.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

HostShare share() { return {int64_t(256) << 30, 76.8e9, 31.5e9}; }

// The host has a master copy and two moments in 16-bit training: 12 bytes, besides the gradient and
// the parameter in transfer.
TEST(HostOffload, HoldsStatesGradientsAndParameters) {
  CellPrecision p;
  p.parameterBytes = 2;
  p.gradientBytes = 4;
  p.optimizerBytes = 12;
  HostUpdate update = updateOnHost(1e9, p, share());
  EXPECT_DOUBLE_EQ(update.bytes, 18e9);
  EXPECT_NEAR(update.toHostSeconds, 4e9 / (0.8 * 31.5e9), 1e-3);
  // The update moves 36 bytes a parameter.
  EXPECT_NEAR(update.updateSeconds, 36e9 / (0.31 * 76.8e9), 1e-3);
}

// The host has the parameter itself if there is no master copy.
TEST(HostOffload, HoldsParametersOfFullPrecision) {
  CellPrecision p;
  p.optimizerBytes = 8;
  EXPECT_DOUBLE_EQ(updateOnHost(1e9, p, share()).bytes, 16e9);
}

// If the link is slower than the update, the copies take the time.
TEST(HostOffload, WaitsForTheSlowerOfUpdateAndCopy) {
  CellPrecision p;
  p.optimizerBytes = 8;
  HostShare slow = share();
  slow.linkBandwidth = 1e9;
  EXPECT_NEAR(updateOnHost(1e9, p, slow).updateSeconds, 4e9 / 0.8e9, 1e-3);
}

TEST(HostOffload, IsNothingWhereNobodySaidWhatHostsHave) {
  EXPECT_EQ(updateOnHost(1e9, CellPrecision(), HostShare()).bytes, 0);
  EXPECT_EQ(hostMemoryFor(HostShare()), 0);
}

} // namespace
} // namespace dtc
