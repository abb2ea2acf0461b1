// Keys that sign files, in the format of minisign 0.11.
//
// A public key is two lines: a comment, and in base64 "Ed", the 8 bytes of the key's number and the
// 32 of Ed25519. A secret key is two lines, too, and may be encrypted by a password (scrypt).
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

using KeyNumber = std::array<uint8_t, 8>;

// Returns the number of a key as minisign prints it: 16 hexadecimal digits, the last byte first.
std::string nameOf(const KeyNumber &number);

// A key that checks signatures.
struct PublicKey {
  KeyNumber number = {};
  std::array<uint8_t, 32> key = {};

  bool operator==(const PublicKey &) const = default;
};

// A key that signs.
struct SecretKey {
  KeyNumber number = {};
  std::array<uint8_t, 64> key = {}; // of Ed25519: the seed, and the public key

  PublicKey publicKey() const;
};

// Makes a key of random numbers. Unavailable if the system has none.
Status makeKey(SecretKey &key);

// Returns the content of a file of a public key.
std::string textOf(const PublicKey &key);
// Returns the content of a file of a secret key, which no password protects.
std::string textOf(const SecretKey &key);

// Reads public keys: a line of base64 each; lines that begin with "untrusted comment:" and empty
// ones are passed over. InvalidArgument names `path` and line of what is no key, or says that there
// is none.
Status parsePublicKeys(const std::string &path, std::string_view words,
                       std::vector<PublicKey> &keys);

// Reads a secret key. `password` is null if there is none. InvalidArgument if the key is encrypted
// and there is no password or another one, or if it is no secret key.
Status parseSecretKey(const std::string &path, std::string_view words, const std::string *password,
                      SecretKey &key);

} // namespace dtc::rt
