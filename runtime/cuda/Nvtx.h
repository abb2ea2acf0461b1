// Ranges for profilers such as Nsight Systems: what the host says to the GPU has the name of what it is of.
//
// A profiler puts the file of a library of its own into NVTX_INJECTION64_PATH. As NVIDIA's NVTX 3 would, this opens it and has it fill
// tables of functions, of which two are called here.
#pragma once

namespace dtc::rt {

class Nvtx {
public:
  // Null where no tool is attached: then ranges cost nothing.
  static const Nvtx *find();

  // From here to its end, on this thread.
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
