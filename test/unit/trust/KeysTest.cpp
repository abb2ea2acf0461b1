#include "runtime/trust/Keys.h"

#include "runtime/trust/Digest.h"

#include "test/unit/trust/Minisign.h"

#include <gtest/gtest.h>

#include <span>
#include <string_view>

namespace dtc::rt {
namespace {

TEST(Digest, IsThatOfB2sum) {
  std::string_view hello = "hello\n";
  EXPECT_EQ(digestOf(std::as_bytes(std::span(hello))),
            "93becc6e9882211c3ec3708c95bcd69baab7bb59c7f4bc84ce637b88a534b783");
}

TEST(Keys, AreReadAsMinisignWritesThem) {
  std::vector<PublicKey> keys;
  ASSERT_TRUE(parsePublicKeys("k", minisign::publicKey, keys).ok());
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(nameOf(keys[0].number), "54810384C16F510B");
  SecretKey secret;
  Status status = parseSecretKey("k", minisign::secretKey, nullptr, secret);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(secret.publicKey(), keys[0]);
}

TEST(Keys, AreReadAsTheyAreWritten) {
  SecretKey made, read;
  ASSERT_TRUE(makeKey(made).ok());
  ASSERT_TRUE(parseSecretKey("k", textOf(made), nullptr, read).ok());
  EXPECT_EQ(read.number, made.number);
  EXPECT_EQ(read.key, made.key);
  std::vector<PublicKey> keys;
  ASSERT_TRUE(parsePublicKeys("k", textOf(made.publicKey()), keys).ok());
  EXPECT_EQ(keys, std::vector{made.publicKey()});
}

TEST(Keys, OfOneFileAreAll) {
  SecretKey made;
  ASSERT_TRUE(makeKey(made).ok());
  std::vector<PublicKey> keys;
  std::string words = "\r\n" + textOf(made.publicKey()) + "\n" + minisign::publicKey;
  ASSERT_TRUE(parsePublicKeys("k", words, keys).ok());
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(nameOf(keys[1].number), "54810384C16F510B");
}

TEST(Keys, OfAnotherKindAreRefused) {
  std::vector<PublicKey> keys;
  EXPECT_EQ(parsePublicKeys("k", "untrusted comment: none\n", keys).message(),
            "'k' has no public keys");
  std::string words = std::string(minisign::publicKey) + "RWQLUW/BhAOBVHBF\n";
  EXPECT_EQ(parsePublicKeys("k", words, keys).message(),
            "'k' has no public key in line 3; wanted the base64 that 'dtc sign --new-key' or "
            "minisign writes");
  SecretKey secret;
  for (const char *wrong : {"", "x\ny\n", minisign::publicKey})
    EXPECT_EQ(parseSecretKey("k", wrong, nullptr, secret).message(),
              "'k' is no secret key of 'dtc sign --new-key' or minisign");
  words = std::string(minisign::secretKey) + "more\n";
  EXPECT_FALSE(parseSecretKey("k", words, nullptr, secret).ok());
}

} // namespace
} // namespace dtc::rt
