// Signatures of files, in the format of minisign 0.11.
//
// FILE.minisig lies beside FILE and has four lines: a comment that nobody vouches for; in base64
// "ED", the key's number and the signature of the file's BLAKE2b of 512 bits; a trusted comment;
// and the signature of the signature and that comment.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/trust/Keys.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dtc::rt {

// Returns the path of the signature of a file.
std::string signaturePath(const std::string &path);

// Returns the content of the file of a signature. `comment` is one line, which is signed, too.
std::string sign(std::span<const std::byte> bytes, std::string_view comment, const SecretKey &key);

// Checks that `signature`, the content of signaturePath(path), is of `bytes` and by one of `keys`.
// Errors name the file, and the key where it is unknown.
Status checkSignature(const std::string &path, std::span<const std::byte> bytes,
                      std::string_view signature, std::span<const PublicKey> keys);

} // namespace dtc::rt
