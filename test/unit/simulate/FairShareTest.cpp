// Shares of links against the definition of max-min fairness, as transfers come and go.
#include "compiler/show/simulate/FairShare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace dtc;

namespace {

// Max-min fair: every transfer has a link that is full and on which no other has more.
void expectFair(llvm::ArrayRef<SimLink> links, llvm::ArrayRef<SimTask> tasks,
                const std::vector<bool> &active, const FairShare &shares) {
  std::vector<double> load(links.size(), 0), most(links.size(), 0);
  for (size_t task = 0; task < tasks.size(); ++task)
    for (int link : tasks[task].route)
      if (active[task]) {
        load[link] += shares.bytesPerSecond(static_cast<int>(task));
        most[link] = std::max(most[link], shares.bytesPerSecond(static_cast<int>(task)));
      }
  for (size_t link = 0; link < links.size(); ++link)
    EXPECT_LE(load[link], links[link].bytesPerSecond * (1 + 1e-9));
  for (size_t task = 0; task < tasks.size(); ++task) {
    if (!active[task])
      continue;
    double rate = shares.bytesPerSecond(static_cast<int>(task));
    EXPECT_GT(rate, 0);
    EXPECT_TRUE(std::any_of(tasks[task].route.begin(), tasks[task].route.end(),
                            [&](int link) {
                              return load[link] >= links[link].bytesPerSecond * (1 - 1e-9) &&
                                     rate >= most[link] * (1 - 1e-9);
                            }))
        << "transfer " << task << " has no bottleneck";
  }
}

} // namespace

TEST(FairShare, IsFairWhateverComesAndGoes) {
  std::mt19937 random(11);
  auto pick = [&](int high) { return std::uniform_int_distribution<int>(0, high - 1)(random); };
  for (int round = 0; round < 60; ++round) {
    std::vector<SimLink> links(1 + pick(8));
    for (SimLink &link : links)
      link.bytesPerSecond = 1 + pick(10);
    std::vector<SimTask> tasks(1 + pick(15));
    for (SimTask &task : tasks)
      for (int hops = 1 + pick(3); hops > 0; --hops)
        if (int link = pick(static_cast<int>(links.size()));
            std::find(task.route.begin(), task.route.end(), link) == task.route.end())
          task.route.push_back(link);
    FairShare shares(links, tasks);
    std::vector<bool> active(tasks.size());
    for (int change = 0; change < 40; ++change) {
      for (int together = 1 + pick(3); together > 0; --together) {
        int task = pick(static_cast<int>(tasks.size()));
        if (active[task])
          shares.remove(task);
        else
          shares.add(task);
        active[task] = !active[task];
      }
      (void)shares.update();
      expectFair(links, tasks, active, shares);
    }
  }
}

// Transfers that share no link with a change keep their rate and are not reported.
TEST(FairShare, ReportsOnlyWhatChanges) {
  std::vector<SimLink> links{{"a", 10}, {"b", 6}};
  std::vector<SimTask> tasks(3);
  tasks[0].route = {0};
  tasks[1].route = {1};
  tasks[2].route = {1};
  FairShare shares(links, tasks);
  shares.add(0);
  shares.add(1);
  EXPECT_EQ(shares.update().vec(), (std::vector<int>{1, 0})); // the smaller share first
  shares.add(2);
  EXPECT_EQ(shares.update().vec(), (std::vector<int>{1, 2}));
  EXPECT_EQ(shares.bytesPerSecond(0), 10);
  EXPECT_EQ(shares.bytesPerSecond(1), 3);
  shares.remove(1);
  EXPECT_EQ(shares.update().vec(), (std::vector<int>{2}));
  EXPECT_EQ(shares.bytesPerSecond(2), 6);
  EXPECT_TRUE(shares.update().empty());
}

// A route that goes over a link there and back takes it twice.
TEST(FairShare, CountsALinkAsOftenAsTheRouteDoes) {
  std::vector<SimLink> links{{"a", 9}};
  std::vector<SimTask> tasks(2);
  tasks[0].route = {0, 0};
  tasks[1].route = {0};
  FairShare shares(links, tasks);
  shares.add(0);
  shares.add(1);
  (void)shares.update();
  EXPECT_EQ(shares.bytesPerSecond(0), 3);
  EXPECT_EQ(shares.bytesPerSecond(1), 3);
  shares.remove(0);
  (void)shares.update();
  EXPECT_EQ(shares.bytesPerSecond(1), 9);
}
