#include "runtime/trust/Signature.h"

#include "test/unit/trust/Minisign.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

std::span<const std::byte> bytesOf(std::string_view words) {
  return std::as_bytes(std::span(words));
}

class Signatures : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(parsePublicKeys("k", minisign::publicKey, keys).ok());
    ASSERT_TRUE(parseSecretKey("k", minisign::secretKey, nullptr, secret).ok());
  }
  Status check(std::string_view words, std::string_view signature) const {
    return checkSignature("f", bytesOf(words), signature, keys);
  }

  std::vector<PublicKey> keys;
  SecretKey secret;
};

TEST_F(Signatures, OfMinisignAreTaken) {
  Status status = check("hello\n", minisign::signature);
  EXPECT_TRUE(status.ok()) << status.message();
}

// Ed25519 is deterministic: the same key, file and comment give the same signatures.
TEST_F(Signatures, AreThoseOfMinisign) {
  std::string ours = sign(bytesOf("hello\n"), "timestamp:1796126548\tfile:f\thashed", secret);
  std::string_view theirs = minisign::signature;
  EXPECT_EQ(ours.substr(ours.find('\n')), theirs.substr(theirs.find('\n')));
}

TEST_F(Signatures, OfAnotherFileAreRefused) {
  EXPECT_EQ(check("hello", minisign::signature).message(),
            "'f' is not what the key 54810384C16F510B signed: it or 'f.minisig' was changed");
}

TEST_F(Signatures, WithAChangedCharacterAreRefused) {
  std::string words = minisign::signature;
  for (size_t at = words.find('\n') + 1; at < words.size(); ++at) {
    std::string changed = words;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(check("hello\n", changed).ok()) << at;
    EXPECT_FALSE(check("hello\n", words.substr(0, at)).ok() && at + 1 < words.size()) << at;
  }
  EXPECT_FALSE(check("hello\n", words + "x").ok());
}

TEST_F(Signatures, OfUnknownKeysAreRefused) {
  SecretKey other;
  ASSERT_TRUE(makeKey(other).ok());
  std::string signature = sign(bytesOf("hello\n"), "", other);
  EXPECT_EQ(check("hello\n", signature).message(), "'f.minisig' is of the key " +
                                                       nameOf(other.number) +
                                                       ", which is none of the trusted ones");
  keys.push_back(other.publicKey());
  EXPECT_TRUE(check("hello\n", signature).ok());
  // A key may have no more than the number of a trusted one.
  other.number = secret.number;
  EXPECT_FALSE(check("hello\n", sign(bytesOf("hello\n"), "", other)).ok());
  // Either of two keys of one number may have signed.
  keys.push_back(other.publicKey());
  EXPECT_TRUE(check("hello\n", sign(bytesOf("hello\n"), "", other)).ok());
  EXPECT_TRUE(check("hello\n", minisign::signature).ok());
}

TEST_F(Signatures, OfBytesThemselvesAreRefused) {
  EXPECT_EQ(check("hello\n", minisign::legacySignature).message(),
            "'f.minisig' is a signature of the bytes themselves, as minisign before 0.10 makes "
            "them; sign with 'dtc sign', or with minisign -H");
}

} // namespace
} // namespace dtc::rt
