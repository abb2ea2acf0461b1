#include "runtime/checkpoint/Background.h"

#include <gtest/gtest.h>

#include <future>

namespace dtc::rt {
namespace {

TEST(Background, GivesItsResultOnce) {
  Background background;
  EXPECT_TRUE(background.isDone());
  EXPECT_TRUE(background.finish().ok());
  background.start([] { return Status::notFound("nothing"); });
  EXPECT_EQ(background.finish().message(), "nothing");
  EXPECT_TRUE(background.isDone());
  EXPECT_TRUE(background.finish().ok());
}

TEST(Background, IsDoneWhenItsWorkIs) {
  std::promise<void> promise;
  Background background;
  background.start([&] {
    promise.get_future().wait();
    return Status();
  });
  EXPECT_FALSE(background.isDone());
  EXPECT_FALSE(background.waitFor(0.01));
  promise.set_value();
  EXPECT_TRUE(background.waitFor(60));
  EXPECT_TRUE(background.isDone());
  EXPECT_TRUE(background.finish().ok());
}

TEST(Background, WaitsForItsWorkAtItsEnd) {
  bool isOver = false;
  {
    Background background;
    background.start([&] {
      isOver = true;
      return Status();
    });
  }
  EXPECT_TRUE(isOver);
}

} // namespace
} // namespace dtc::rt
