// A file of events that TensorBoard shows.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/metrics/EventRecord.h"

#include <string>
#include <vector>

namespace dtc::rt {

class EventFile {
public:
  EventFile() = default;
  ~EventFile();
  EventFile(const EventFile &) = delete;
  EventFile &operator=(const EventFile &) = delete;

  // Events go to a new file of `folder`, named as TensorBoard looks for them and after this time, host and process. It is made
  // when the first event is written. Unavailable where the folder may not be written.
  Status open(const std::string &folder);
  // Adds scalars of a step; nothing where open() was not called. They are in the file when this returns. Unavailable says why they are
  // not, after which nothing is written any more.
  Status write(int64_t step, const std::vector<Scalar> &scalars);

  const std::string &name() const { return path; } // empty before open()

private:
  Status create();
  Status append(const std::string &bytes);

  std::string path;
  int descriptor = -1;
  bool isOver = false; // nothing is to be written any more
};

} // namespace dtc::rt
