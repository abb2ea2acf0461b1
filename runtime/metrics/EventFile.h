// A file of events that TensorBoard shows.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/metrics/EventRecord.h"

#include <string>
#include <vector>

namespace dtc::rt {

// A file of events. Write errors end it.
class EventFile {
public:
  EventFile() = default;
  ~EventFile();
  EventFile(const EventFile &) = delete;
  EventFile &operator=(const EventFile &) = delete;

  // Chooses a new file in `folder`, named as TensorBoard looks for it, after the current time, host
  // and process. The file is made when the first event is written. Unavailable if the folder may
  // not be written.
  Status open(const std::string &folder);
  // Adds scalars of a step; does nothing if open() was not called. They are in the file when this
  // returns. After an error, Unavailable with its reason, nothing is written any more.
  Status write(int64_t step, const std::vector<Scalar> &scalars);

  const std::string &name() const { return path; } // empty before open()

private:
  Status create();
  Status append(const std::string &bytes);

  std::string path;
  int descriptor = -1;
  bool isOver = false; // nothing more may be written
};

} // namespace dtc::rt
