// Ranges for profilers such as Nsight Systems: work that the host enqueues carries the name of its
// operation.
//
// A profiler puts the path of its library into NVTX_INJECTION64_PATH. As NVIDIA's NVTX 3 would,
// this opens it and has it fill tables of functions, two of which are called here.
#pragma once

namespace dtc::rt {

// The connection to an attached profiler.
class Nvtx {
public:
  // Returns null if no tool is attached: ranges then cost nothing.
  static const Nvtx *find();

  // A range of a profiler, on this thread, for the lifetime of the object.
  class Range {
  public:
    Range(const Nvtx *tool, const char *name) : tool(tool) {
      if (tool)
        (void)tool->push(name);
    }
    ~Range() {
      if (tool)
        (void)tool->pop();
    }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;

  private:
    const Nvtx *tool;
  };

private:
  bool attach(const char *library);

  int (*push)(const char *name) = nullptr;
  int (*pop)() = nullptr;
};

} // namespace dtc::rt
