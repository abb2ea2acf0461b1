// Trace Event Format, one event per line.
#include "compiler/show/simulate/Trace.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace dtc;

namespace {

class TraceWriter {
public:
  TraceWriter(llvm::raw_ostream &out, const Simulation &simulation, const SimResult &result,
              TraceArgs argsOf)
      : out(out), simulation(simulation), result(result), argsOf(argsOf),
        critical(result.tasks.size()) {
    for (int task : result.criticalPath)
      critical[task] = true;
  }

  void write(llvm::ArrayRef<TraceCounter> counters);

private:
  // Starts an event; the caller adds its other members and "}".
  llvm::raw_ostream &event(llvm::StringRef phase, llvm::StringRef name);
  void place(int stream);
  void time(llvm::StringRef key, double seconds);
  void text(llvm::StringRef value);
  void names();
  void slices(int task);
  void arrows(int task);
  void arrow(int id, llvm::StringRef phase, int stream, double seconds);

  llvm::raw_ostream &out;
  const Simulation &simulation;
  const SimResult &result;
  TraceArgs argsOf;
  std::vector<bool> critical;
  bool first = true;
  int nextArrow = 0;
};

void TraceWriter::text(llvm::StringRef value) {
  out << llvm::json::Value(llvm::json::fixUTF8(value));
}

llvm::raw_ostream &TraceWriter::event(llvm::StringRef phase, llvm::StringRef name) {
  out << (first ? "\n" : ",\n") << "{\"ph\":\"" << phase << "\",\"name\":";
  first = false;
  text(name);
  return out;
}

void TraceWriter::place(int stream) {
  out << ",\"pid\":" << simulation.allStreams()[stream].device << ",\"tid\":" << stream;
}

void TraceWriter::time(llvm::StringRef key, double seconds) {
  out << ",\"" << key << "\":" << llvm::format("%.3f", seconds * 1e6);
}

void TraceWriter::names() {
  auto devices = simulation.allDevices();
  for (size_t device = 0; device < devices.size(); ++device) {
    event("M", "process_name") << ",\"pid\":" << device << ",\"args\":{\"name\":";
    text(devices[device].name);
    out << "}}";
    event("M", "process_sort_index")
        << ",\"pid\":" << device << ",\"args\":{\"sort_index\":" << device << "}}";
  }
  for (int stream = 0; stream < static_cast<int>(simulation.allStreams().size()); ++stream) {
    event("M", "thread_name");
    place(stream);
    out << ",\"args\":{\"name\":";
    text(simulation.allStreams()[stream].name);
    out << "}}";
    event("M", "thread_sort_index");
    place(stream);
    out << ",\"args\":{\"sort_index\":" << stream << "}}";
  }
}

void TraceWriter::slices(int index) {
  const SimTask &task = simulation.allTasks()[index];
  bool transfer = task.kind == SimTaskKind::Transfer;
  double start = result.tasks[index].start, end = result.tasks[index].end;
  for (int stream : task.streams) {
    event("X", task.name) << ",\"cat\":\"" << (transfer ? "transfer" : "compute") << "\"";
    place(stream);
    time("ts", start);
    time("dur", end - start);
    out << ",\"args\":{\"critical\":" << (critical[index] ? "true" : "false");
    if (task.bytes > 0)
      out << ",\"bytes\":" << llvm::format("%.0f", task.bytes);
    if (argsOf)
      argsOf(out, index, stream);
    out << "}}";
  }
}

void TraceWriter::arrow(int id, llvm::StringRef phase, int stream, double seconds) {
  event(phase, "transfer") << ",\"cat\":\"flow\",\"id\":" << id;
  place(stream);
  time("ts", seconds);
  out << (phase == "f" ? ",\"bp\":\"e\"}" : "}");
}

// An arrow's end belongs to the slice that encloses its time: the middle of a slice surely does.
void TraceWriter::arrows(int index) {
  const SimTask &task = simulation.allTasks()[index];
  auto middle = [&](int of) { return (result.tasks[of].start + result.tasks[of].end) / 2; };
  auto connect = [&](int from, int fromStream, int to, int toStream) {
    arrow(nextArrow, "s", fromStream, middle(from));
    arrow(nextArrow++, "f", toStream, std::max(middle(from), middle(to)));
  };
  auto transfers = [&](int of) { return simulation.allTasks()[of].kind == SimTaskKind::Transfer; };
  if (transfers(index))
    for (size_t i = 1; i < task.streams.size(); ++i)
      connect(index, task.streams.front(), index, task.streams[i]);
  int last = -1;
  for (int dependency : task.dependencies) {
    if (transfers(dependency) && !transfers(index))
      connect(dependency, simulation.allTasks()[dependency].streams.back(), index,
              task.streams.front());
    if (transfers(index) && (last < 0 || result.tasks[dependency].end > result.tasks[last].end))
      last = dependency;
  }
  if (last >= 0)
    connect(last, simulation.allTasks()[last].streams.front(), index, task.streams.front());
}

void TraceWriter::write(llvm::ArrayRef<TraceCounter> counters) {
  out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  names();
  for (int task = 0; task < static_cast<int>(simulation.allTasks().size()); ++task)
    slices(task);
  for (int task = 0; task < static_cast<int>(simulation.allTasks().size()); ++task)
    arrows(task);
  for (const TraceCounter &counter : counters)
    for (const TraceCounter::Sample &sample : counter.samples) {
      event("C", counter.name) << ",\"pid\":" << counter.device;
      time("ts", sample.seconds);
      out << ",\"args\":{";
      text(counter.unit);
      out << ":" << sample.value << "}}";
    }
  out << "\n]}\n";
}

} // namespace

void dtc::writeTrace(llvm::raw_ostream &out, const Simulation &simulation, const SimResult &result,
                     llvm::ArrayRef<TraceCounter> counters, TraceArgs argsOf) {
  TraceWriter(out, simulation, result, argsOf).write(counters);
}
