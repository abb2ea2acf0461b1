// dtc sign: makes keys, and signs what dtrun --trust loads.
#include "compiler/support/Error.h"
#include "compiler/support/File.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/SignedDigests.h"
#include "runtime/format/Header.h"
#include "runtime/trust/Digest.h"
#include "runtime/trust/Keys.h"
#include "runtime/trust/Signature.h"
#include "runtime/trust/TrustedKeys.h"
#include "tools/dtc/Commands.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <span>
#include <sys/stat.h>

namespace dtc {
namespace {

struct SignOptions {
  std::vector<std::string> paths;
  std::string key, passwordFile, newKey;
};

bool exists(const std::string &path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

bool isFolder(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Turns a result of the compiler's files into one of the runtime's.
rt::Status statusOf(const Status &result) {
  return result ? rt::Status() : rt::Status::invalidArgument(result.error().message);
}

rt::Status writeNewKey(const std::string &name) {
  std::string open = name + ".pub", secret = name + ".key";
  for (const std::string &path : {open, secret})
    if (exists(path))
      return rt::Status::invalidArgument(
          "'" + path + "' exists, and what was signed by it would be lost; use another name");
  rt::SecretKey key;
  DTC_RETURN_IF_ERROR(rt::makeKey(key));
  mode_t before = ::umask(0077); // nobody else may read the secret key
  rt::Status wrote = statusOf(writeFileAtomically(secret, rt::textOf(key)));
  (void)::umask(before);
  DTC_RETURN_IF_ERROR(wrote);
  DTC_RETURN_IF_ERROR(statusOf(writeFileAtomically(open, rt::textOf(key.publicKey()))));
  llvm::outs() << open << ", " << secret << ": key " << rt::nameOf(key.number) << "\n";
  return {};
}

// The comment that minisign writes: what was signed, and when.
std::string commentOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  for (char &letter : name)
    if (static_cast<unsigned char>(letter) < ' ')
      letter = '?';
  return "timestamp:" + std::to_string(std::time(nullptr)) + "\tfile:" + name + "\thashed";
}

rt::Status signProgram(const std::string &path, const rt::SecretKey &key) {
  Result<std::string> file = readFile(path, std::numeric_limits<int64_t>::max());
  if (!file)
    return rt::Status::invalidArgument(file.error().message);
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(file->data()), file->size());
  format::Header header;
  DTC_RETURN_IF_ERROR(format::readHeader(bytes.first(std::min(bytes.size(), format::headerBytes)),
                                         bytes.size(), path, header));
  return statusOf(writeFileAtomically(rt::signaturePath(path),
                                      rt::sign(std::as_bytes(bytes), commentOf(path), key)));
}

// Signs a checkpoint of which all bytes are what was written.
rt::Status signCheckpoint(const std::string &folder, const rt::SecretKey &key) {
  rt::CheckpointReader reader;
  DTC_RETURN_IF_ERROR(reader.open(folder));
  rt::SignedDigests digests{reader.manifestDigest(), {}};
  std::vector<uint8_t> bytes;
  for (size_t shard = 0; shard < reader.manifest().shards.size(); ++shard) {
    std::vector<std::string> &blocks = digests.shards.emplace_back();
    for (size_t block = 0; block < reader.manifest().shards[shard].hashes.size(); ++block) {
      DTC_RETURN_IF_ERROR(reader.readBlock(shard, block, bytes));
      blocks.push_back(rt::digestOf(std::as_bytes(std::span(bytes))));
    }
  }
  return rt::writeSignedDigests(folder, digests, key);
}

rt::Status signOne(const std::string &path, const rt::SecretKey &key) {
  if (!isFolder(path))
    return signProgram(path, key);
  if (exists(path + "/" + rt::kManifestFile))
    return signCheckpoint(path, key);
  return rt::Status::invalidArgument(
      "'" + path + "' is no checkpoint; wanted a program (.dte), or a folder step-N of " +
      "dtrun --checkpoint-dir");
}

rt::Status runSign(const SignOptions &options) {
  if (!options.newKey.empty())
    return writeNewKey(options.newKey);
  rt::SecretKey key;
  DTC_RETURN_IF_ERROR(rt::loadSecretKey(options.key, options.passwordFile, key));
  for (const std::string &path : options.paths) {
    DTC_RETURN_IF_ERROR(signOne(path, key));
    llvm::outs() << path << ": signed by the key " << rt::nameOf(key.number) << "\n";
  }
  return {};
}

} // namespace

void addSign(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "sign",
      "Signs programs and checkpoints, so that dtrun --trust loads them, and makes keys; "
      "keys and signatures are those of minisign\n\nExamples:\n"
      "  dtc sign --new-key team\n  dtc sign model.dte checkpoints/step-100 --key team.key\n"
      "  dtrun model.dte --data train.bin --trust team.pub");
  auto options = std::make_shared<SignOptions>();
  CLI::Option *paths =
      command
          ->add_option("PATH", options->paths,
                       "programs (.dte), or checkpoints (step-N of dtrun --checkpoint-dir)")
          ->check(notEmpty());
  CLI::Option *key =
      command->add_option("--key", options->key, "the secret key, which dtc or minisign has made")
          ->check(notEmpty())
          ->type_name("FILE");
  command
      ->add_option("--password-file", options->passwordFile,
                   "a file whose first line is the password of the secret key")
      ->needs(key)
      ->check(notEmpty())
      ->type_name("FILE");
  CLI::Option *newKey =
      command
          ->add_option("--new-key", options->newKey,
                       "make a key without a password: NAME.key, to be kept secret, and NAME.pub")
          ->excludes(paths)
          ->excludes(key)
          ->check(notEmpty())
          ->type_name("NAME");
  paths->needs(key);
  key->needs(paths);
  command->callback([options, newKey, key, &exitCode] {
    if (newKey->count() + key->count() == 0)
      throw CLI::RequiredError("PATH and --key, or --new-key");
    rt::Status status = runSign(*options);
    exitCode = status.ok() ? 0 : UserError(status.message()).report(llvm::errs());
  });
}

} // namespace dtc
