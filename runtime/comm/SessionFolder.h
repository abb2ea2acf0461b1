// The folder in which one mpirun of Open MPI 4 keeps its session.
#pragma once

#include <string>

namespace dtc::rt {

// A folder of its own for the session files of one mpirun, in TMPDIR (/tmp if that is not set),
// removed with all that it holds when the object dies. All mpirun of one user on a host share a
// folder otherwise, which each removes when it ends; another that begins at that moment then fails
// ("A call to mkdir was unable to create the desired directory", Open MPI 4.1.4).
class SessionFolder {
public:
  // Makes the folder, unless Open MPI's own variables name one, or other hosts, or a batch
  // system may have given some. Where it cannot be
  // made, Open MPI uses the shared one.
  SessionFolder();
  SessionFolder(const SessionFolder &) = delete;
  SessionFolder &operator=(const SessionFolder &) = delete;
  ~SessionFolder();

  // Returns the setting for mpirun's environment, "NAME=path"; empty if there is no folder.
  std::string setting() const;

private:
  std::string path; // empty: none was made
};

} // namespace dtc::rt
