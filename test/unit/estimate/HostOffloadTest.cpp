// What an optimizer on the host costs, by hand.
#include "compiler/estimate/HostOffload.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

HostShare share() { return {int64_t(256) << 30, 76.8e9, 31.5e9}; }

// 16-bit training keeps a master copy and two moments there: 12 bytes, besides the gradient and
// the parameter on their way.
TEST(HostOffload, HoldsStatesGradientsAndParameters) {
  CellPrecision p;
  p.parameterBytes = 2;
  p.gradientBytes = 4;
  p.optimizerBytes = 12;
  HostUpdate update = updateOnHost(1e9, p, share());
  EXPECT_DOUBLE_EQ(update.bytes, 18e9);
  EXPECT_NEAR(update.toHostSeconds, 4e9 / (0.8 * 31.5e9), 1e-3);
  // 36 bytes of traffic a parameter.
  EXPECT_NEAR(update.updateSeconds, 36e9 / (0.31 * 76.8e9), 1e-3);
}

// Without a master copy the host has the parameter itself.
TEST(HostOffload, HoldsParametersOfFullPrecision) {
  CellPrecision p;
  p.optimizerBytes = 8;
  EXPECT_DOUBLE_EQ(updateOnHost(1e9, p, share()).bytes, 16e9);
}

// Where the link is slower than the update, it is what takes the time.
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
