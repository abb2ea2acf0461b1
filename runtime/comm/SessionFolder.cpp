#include "runtime/comm/SessionFolder.h"

#include "runtime/base/Text.h"

#include <cstdlib>
#include <filesystem>

namespace dtc::rt {

namespace {
constexpr const char *kBase = "OMPI_MCA_orte_tmpdir_base";
} // namespace

SessionFolder::SessionFolder() {
  // Daemons on other hosts would make the same folder, and not remove it.
  // A job of a batch system may have such hosts without being asked for them.
  for (const char *name :
       {"SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", kBase, "OMPI_MCA_orte_local_tmpdir_base",
        "OMPI_MCA_orte_remote_tmpdir_base", "OMPI_MCA_orte_default_hostfile"})
    if (std::getenv(name))
      return;
  const char *base = std::getenv("TMPDIR");
  std::string name = format::text(base && *base ? base : "/tmp", "/dtrun-XXXXXX");
  if (::mkdtemp(name.data()))
    path = name;
}

SessionFolder::~SessionFolder() {
  std::error_code ignored;
  if (!path.empty())
    std::filesystem::remove_all(path, ignored);
}

std::string SessionFolder::setting() const {
  return path.empty() ? "" : format::text(kBase, "=", path);
}

} // namespace dtc::rt
