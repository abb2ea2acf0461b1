// The keys of dtrun --trust.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/trust/Keys.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// Public keys, one of which has to have signed what is loaded.
class TrustedKeys {
public:
  // Reads a file of public keys, a line of base64 each. To rotate keys, a file has the old and the
  // new one for a while.
  Status load(const std::string &path);

  // Checks that the file at `path`, whose bytes are in memory, has a signature beside it by one of
  // the keys. The bytes are those that will be used: a later change of the file does not matter.
  Status check(const std::string &path, std::span<const std::byte> bytes) const;

  // Returns true if `key` is one of them.
  bool has(const PublicKey &key) const;

  // Returns the numbers of the keys in ascending order, with commas between them.
  std::string names() const;

private:
  std::vector<PublicKey> keys;
};

// Reads the secret key of a file. `passwordFile` holds the password in its first line; empty: there
// is none.
Status loadSecretKey(const std::string &path, const std::string &passwordFile, SecretKey &key);

} // namespace dtc::rt
