// Checks that moments come out as from a sorted list of all.
#include "compiler/search/pipeline/WakeQueue.h"

#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace dtc;

// There are few different moments, so that many are equal. Later ones are added while earlier ones
// are still there.
TEST(WakeQueue, IsInTheOrderOfMomentsThenStages) {
  std::mt19937 random(7);
  for (int stages : {1, 2, 3, 8, 13}) {
    WakeQueue queue(stages);
    std::multiset<std::pair<double, int>> all;
    EXPECT_TRUE(queue.empty());
    for (int round = 0; round < 2000; ++round) {
      bool pushes = all.empty() || random() % 2 == 0;
      if (pushes) {
        WakeQueue::Wake wake{static_cast<double>(random() % 16),
                             static_cast<int>(random() % static_cast<unsigned>(stages))};
        queue.push(wake);
        all.insert({wake.time, wake.stage});
      } else {
        WakeQueue::Wake wake = queue.pop();
        EXPECT_EQ(std::pair(wake.time, wake.stage), *all.begin()) << stages << " " << round;
        all.erase(all.begin());
      }
      ASSERT_EQ(queue.empty(), all.empty());
    }
  }
}
