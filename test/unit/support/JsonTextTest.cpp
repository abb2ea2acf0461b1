#include "compiler/support/JsonText.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

const std::string kText = R"({"a": {"x": "]}\"", "b": 1},
 "list": [10, {"x": 2}, [3, 4]],
 "x": null})";

std::string restAt(const std::vector<std::string> &path) {
  return kText.substr(findInJson(kText, path), 6);
}

TEST(FindInJson, FollowsKeysAndNumbers) {
  EXPECT_EQ(restAt({"x"}), "\"x\": n");
  EXPECT_EQ(restAt({"a", "b"}), "\"b\": 1");
  EXPECT_EQ(restAt({"list", "1", "x"}), "\"x\": 2");
  EXPECT_EQ(restAt({"list", "2", "1"}), "4]],\n ");
}

TEST(FindInJson, StaysWhereAPathEnds) {
  EXPECT_EQ(restAt({"a", "none"}), "\"a\": {");
  EXPECT_EQ(restAt({"list", "0", "deeper"}), "10, {\"");
  EXPECT_EQ(restAt({"list", "9"}), "\"list\"");
  EXPECT_EQ(findInJson(kText, {}), 0u);
  EXPECT_EQ(findInJson("", {"a"}), 0u);
}

} // namespace
} // namespace dtc
