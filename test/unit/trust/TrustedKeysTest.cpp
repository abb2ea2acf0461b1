#include "runtime/trust/TrustedKeys.h"

#include "test/unit/data/TempFolder.h"
#include "test/unit/trust/Minisign.h"

#include <span>
#include <string_view>

namespace dtc::rt {
namespace {

class Trust : public TempFolder {};

TEST_F(Trust, WantsASignatureBesideTheFile) {
  writeFile("keys", minisign::publicKey);
  TrustedKeys keys;
  ASSERT_TRUE(keys.load(path("keys")).ok());
  EXPECT_EQ(keys.names(), "54810384C16F510B");
  std::string_view hello = "hello\n";
  std::span<const std::byte> bytes = std::as_bytes(std::span(hello));
  EXPECT_EQ(keys.check(path("f"), bytes).message(),
            "'" + path("f") + "' has no signature: '" + path("f") +
                ".minisig' is not there; sign it with 'dtc sign', or leave out --trust");
  writeFile("f.minisig", minisign::signature);
  EXPECT_TRUE(keys.check(path("f"), bytes).ok());
  writeFile("f.minisig", std::string(size_t(1) << 17, 'x'));
  EXPECT_FALSE(keys.check(path("f"), bytes).ok());
}

TEST_F(Trust, HasTheKeysOfTheFile) {
  SecretKey other;
  ASSERT_TRUE(makeKey(other).ok());
  writeFile("keys", textOf(other.publicKey()) + minisign::publicKey);
  writeFile("key", minisign::secretKey);
  TrustedKeys keys;
  SecretKey secret;
  ASSERT_TRUE(keys.load(path("keys")).ok());
  ASSERT_TRUE(loadSecretKey(path("key"), "", secret).ok());
  EXPECT_TRUE(keys.has(secret.publicKey()));
  EXPECT_TRUE(keys.has(other.publicKey()));
  other.key[40] ^= 1;
  EXPECT_FALSE(keys.has(other.publicKey()));
  EXPECT_EQ(keys.load(path("none")).statusCode(), StatusCode::NotFound);
}

} // namespace
} // namespace dtc::rt
