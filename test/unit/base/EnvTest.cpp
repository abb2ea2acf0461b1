// Tests the table of environment variables.
#include "runtime/base/Env.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace dtc::rt {
namespace {
class Variable {
public:
  Variable(EnvVar variable, const char *value) : name(envInfo(variable).name) {
    ::setenv(name, value, 1);
  }
  ~Variable() { ::unsetenv(name); }

private:
  const char *name;
};

TEST(Env, GivesTheDefaultOfAnUnsetOrEmptyVariable) {
  uint64_t threads = 9;
  ASSERT_TRUE(envUnsigned(EnvVar::Threads, threads).ok());
  EXPECT_EQ(threads, 0u);
  Variable empty(EnvVar::Threads, "");
  ASSERT_TRUE(envUnsigned(EnvVar::Threads, threads).ok());
  EXPECT_EQ(threads, 0u);
  EXPECT_EQ(envText(EnvVar::Mpirun), "mpirun");
}

TEST(Env, NamesAValueThatIsNoNumber) {
  uint64_t threads = 9;
  for (const char *value : {"two", "2x", "-1", " 2", "99999999999999999999"}) {
    Variable set(EnvVar::Threads, value);
    Status status = envUnsigned(EnvVar::Threads, threads);
    EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(), "environment variable DTC_THREADS is '" + std::string(value) +
                                    "'; wanted a whole number, 0 or more (threads)");
    EXPECT_EQ(threads, 9u);
  }
}

TEST(Env, ReadsSeconds) {
  double seconds = 0;
  ASSERT_TRUE(envSeconds(EnvVar::Timeout, seconds).ok());
  EXPECT_EQ(seconds, 600);
  Variable set(EnvVar::Timeout, "1.5");
  ASSERT_TRUE(envSeconds(EnvVar::Timeout, seconds).ok());
  EXPECT_EQ(seconds, 1.5);
  for (const char *value : {"0", "-3", "inf", "nan", "1s"}) {
    Variable bad(EnvVar::Timeout, value);
    EXPECT_FALSE(envSeconds(EnvVar::Timeout, seconds).ok()) << value;
  }
}

TEST(Env, ChecksVariablesThatNobodyReads) {
  EXPECT_TRUE(checkEnv().ok());
  Variable path(EnvVar::MpiLibrary, "anything at all");
  Variable choice(EnvVar::Comm, "gloo"), words(EnvVar::JobId, "run 7");
  EXPECT_TRUE(checkEnv().ok());
  {
    Variable empty(EnvVar::PeerBytes, "");
    EXPECT_TRUE(checkEnv().ok());
  }
  Variable bad(EnvVar::Keeper, "2");
  EXPECT_EQ(checkEnv().message(),
            "environment variable DTC_KEEPER is '2'; wanted a digit (0 or 1)");
}

TEST(Env, DescribesEveryVariableOnce) {
  std::string text = describeEnv();
  std::set<std::string> names;
  for (const EnvInfo &info : envTable()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_NE(text.find(info.name), std::string::npos);
    EXPECT_NE(text.find(info.sentence), std::string::npos);
  }
}
} // namespace
} // namespace dtc::rt
