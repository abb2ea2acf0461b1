// The events of a simulation: starts, ends, and changes of speed.
#include "compiler/show/simulate/Simulator.h"

#include "compiler/show/simulate/FairShare.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>
#include <queue>

using namespace dtc;

int Simulation::addDevice(SimDevice device) {
  devices.push_back(std::move(device));
  return static_cast<int>(devices.size()) - 1;
}

int Simulation::addStream(SimStream stream) {
  streams.push_back(std::move(stream));
  return static_cast<int>(streams.size()) - 1;
}

int Simulation::addLink(SimLink link) {
  links.push_back(std::move(link));
  return static_cast<int>(links.size()) - 1;
}

int Simulation::addTask(SimTask task) {
  tasks.push_back(std::move(task));
  return static_cast<int>(tasks.size()) - 1;
}

static bool inRange(llvm::ArrayRef<int> indices, size_t size) {
  return std::all_of(indices.begin(), indices.end(),
                     [&](int index) { return index >= 0 && static_cast<size_t>(index) < size; });
}

static Status checkTask(const SimTask &task, const Simulation &simulation) {
  auto fail = [&](const llvm::Twine &what) {
    return UserError(("simulating task '" + task.name + "': " + what).str());
  };
  if (task.streams.empty() || !inRange(task.streams, simulation.allStreams().size()))
    return fail("it names no stream, or one that there is not");
  for (size_t i = 0; i < task.streams.size(); ++i)
    if (llvm::ArrayRef<int> later = llvm::ArrayRef<int>(task.streams).drop_front(i + 1);
        std::find(later.begin(), later.end(), task.streams[i]) != later.end())
      return fail("it names stream '" + simulation.allStreams()[task.streams[i]].name + "' twice");
  if (!inRange(task.dependencies, simulation.allTasks().size()))
    return fail("it depends on a task that there is not");
  if (!inRange(task.route, simulation.allLinks().size()))
    return fail("its route has a link that there is not");
  for (double value : {task.seconds, task.bytes})
    if (!std::isfinite(value) || value < 0)
      return fail("its seconds are " + std::to_string(task.seconds) + " and its bytes " +
                  std::to_string(task.bytes) + ", wanted finite numbers, 0 or more");
  if (task.kind == SimTaskKind::Compute && (task.bytes != 0 || !task.route.empty()))
    return fail("it is a computation with bytes or a route, wanted a transfer");
  return {};
}

static Status checkSimulation(const Simulation &simulation) {
  for (const SimDevice &device : simulation.allDevices())
    if (!std::isfinite(device.computeSlowdown) || device.computeSlowdown < 1)
      return UserError("simulating device '" + device.name + "': its computations take " +
                       std::to_string(device.computeSlowdown) +
                       " times as long beside transfers, wanted 1 or more");
  for (const SimStream &stream : simulation.allStreams())
    if (!inRange(stream.device, simulation.allDevices().size()))
      return UserError("simulating stream '" + stream.name + "': there is no device " +
                       std::to_string(stream.device));
  for (const SimLink &link : simulation.allLinks())
    if (!std::isfinite(link.bytesPerSecond) || link.bytesPerSecond <= 0)
      return UserError("simulating link '" + link.name + "': it carries " +
                       std::to_string(link.bytesPerSecond) + " bytes/s, wanted more than 0");
  for (const SimTask &task : simulation.allTasks())
    if (Status checked = checkTask(task, simulation); !checked)
      return checked;
  return {};
}

namespace {

enum class Phase : uint8_t { Waiting, Fixed, Flowing, Done };

struct TaskState {
  int waits = 0; // dependencies and streams that hold it up
  int releasedBy = -1;
  uint32_t version = 0; // version of its end in the queue; older entries are void
  Phase phase = Phase::Waiting;
  double left = 0; // seconds of computing or latency, or bytes
  double rate = 0; // change of `left` per second
  double since = 0;
};

struct Event {
  double time;
  int task;
  uint32_t version;
  bool operator>(const Event &other) const {
    return time != other.time ? time > other.time : task > other.task;
  }
};

class Engine {
public:
  explicit Engine(const Simulation &simulation);
  Result<SimResult> run();

private:
  void release(int task, int by);
  void start(int task);
  void finish(int task);
  void advanceStream(int stream, int by);
  void setRate(int task, double rate);
  void changeTransfers(int task, int by);
  void updateRates();
  double computeRate(int task) const;
  void handle(const Event &event);
  UserError deadlock() const;
  int waitsFor(int task) const;
  SimResult summarise();

  const Simulation &simulation;
  llvm::ArrayRef<SimTask> tasks;
  std::vector<TaskState> states;
  std::vector<std::vector<int>> dependents, queues; // per task, per stream
  std::vector<size_t> heads;                        // per stream
  std::vector<int> transfersAt;                     // per device: those that go on
  std::vector<std::vector<int>> computing;          // per device
  std::vector<bool> deviceDirty;
  std::vector<int> dirtyDevices, startable;
  FairShare shares;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events;
  double now = 0;
  size_t done = 0;
  SimResult result;
};

Engine::Engine(const Simulation &simulation)
    : simulation(simulation), tasks(simulation.allTasks()), states(tasks.size()),
      dependents(tasks.size()), queues(simulation.allStreams().size()),
      heads(simulation.allStreams().size(), 0), transfersAt(simulation.allDevices().size(), 0),
      computing(simulation.allDevices().size()), deviceDirty(simulation.allDevices().size()),
      shares(simulation.allLinks(), tasks) {
  result.tasks.resize(tasks.size());
  for (int task = 0; task < static_cast<int>(tasks.size()); ++task) {
    states[task].waits =
        static_cast<int>(tasks[task].dependencies.size() + tasks[task].streams.size());
    for (int dependency : tasks[task].dependencies)
      dependents[dependency].push_back(task);
    for (int stream : tasks[task].streams)
      queues[stream].push_back(task);
  }
}

void Engine::release(int task, int by) {
  states[task].releasedBy = by;
  if (--states[task].waits == 0)
    startable.push_back(task);
}

void Engine::advanceStream(int stream, int by) {
  if (heads[stream] < queues[stream].size())
    release(queues[stream][heads[stream]], by);
}

double Engine::computeRate(int task) const {
  double slowdown = 1;
  for (int stream : tasks[task].streams) {
    int device = simulation.allStreams()[stream].device;
    if (transfersAt[device])
      slowdown = std::max(slowdown, simulation.allDevices()[device].computeSlowdown);
  }
  return 1 / slowdown;
}

// Accounts for the progress at the old rate and schedules the end at the new one.
void Engine::setRate(int task, double rate) {
  TaskState &state = states[task];
  state.left = std::max(0.0, state.left - (now - state.since) * state.rate);
  state.since = now;
  state.rate = rate;
  events.push({now + state.left / rate, task, ++state.version});
}

// A transfer begins (by 1) or ends (by -1) at the devices of its streams.
void Engine::changeTransfers(int task, int by) {
  for (int stream : tasks[task].streams) {
    int device = simulation.allStreams()[stream].device;
    transfersAt[device] += by;
    if (!deviceDirty[device])
      dirtyDevices.push_back(device);
    deviceDirty[device] = true;
  }
}

void Engine::start(int task) {
  TaskState &state = states[task];
  state.phase = Phase::Fixed;
  state.left = tasks[task].seconds;
  state.since = now;
  result.tasks[task].start = now;
  if (tasks[task].kind == SimTaskKind::Transfer) {
    changeTransfers(task, 1);
    setRate(task, 1);
    return;
  }
  for (int stream : tasks[task].streams)
    computing[simulation.allStreams()[stream].device].push_back(task);
  setRate(task, computeRate(task));
}

void Engine::finish(int task) {
  states[task].phase = Phase::Done;
  result.tasks[task].end = now;
  ++done;
  if (tasks[task].kind == SimTaskKind::Transfer)
    changeTransfers(task, -1);
  else
    for (int stream : tasks[task].streams) {
      std::vector<int> &running = computing[simulation.allStreams()[stream].device];
      running.erase(std::find(running.begin(), running.end(), task));
    }
  for (int dependent : dependents[task])
    release(dependent, task);
  for (int stream : tasks[task].streams) {
    ++heads[stream];
    advanceStream(stream, task);
  }
}

void Engine::handle(const Event &event) {
  TaskState &state = states[event.task];
  if (event.version != state.version || state.phase == Phase::Done)
    return;
  const SimTask &task = tasks[event.task];
  if (state.phase == Phase::Fixed && task.bytes > 0 && !task.route.empty()) {
    state.phase = Phase::Flowing;
    state.left = task.bytes;
    state.rate = 0;
    state.since = now;
    shares.add(event.task);
    return;
  }
  if (state.phase == Phase::Flowing)
    shares.remove(event.task);
  finish(event.task);
}

// Once per moment, after all that starts or ends then.
void Engine::updateRates() {
  for (int device : dirtyDevices) {
    deviceDirty[device] = false;
    for (int task : computing[device])
      if (double rate = computeRate(task); rate != states[task].rate)
        setRate(task, rate);
  }
  dirtyDevices.clear();
  for (int task : shares.update())
    setRate(task, shares.bytesPerSecond(task));
}

Result<SimResult> Engine::run() {
  for (int task = 0; task < static_cast<int>(tasks.size()); ++task)
    if (states[task].waits == 0)
      startable.push_back(task);
  for (int stream = 0; stream < static_cast<int>(queues.size()); ++stream)
    advanceStream(stream, -1);
  while (true) {
    for (size_t next = 0; next < startable.size(); ++next)
      start(startable[next]);
    startable.clear();
    if (events.empty() || events.top().time > now) {
      updateRates();
      if (events.empty())
        break;
      now = std::max(now, events.top().time);
    }
    Event event = events.top();
    events.pop();
    handle(event);
  }
  if (done < tasks.size())
    return deadlock();
  return summarise();
}

// A task that holds up one which never started.
int Engine::waitsFor(int task) const {
  for (int dependency : tasks[task].dependencies)
    if (states[dependency].phase != Phase::Done)
      return dependency;
  for (int stream : tasks[task].streams)
    if (int head = queues[stream][heads[stream]]; head != task)
      return head;
  return task; // cannot be: nothing holds it up
}

UserError Engine::deadlock() const {
  int task = 0;
  while (states[task].phase == Phase::Done)
    ++task;
  std::vector<int> position(tasks.size(), -1), chain;
  for (; position[task] < 0; task = waitsFor(task)) {
    position[task] = static_cast<int>(chain.size());
    chain.push_back(task);
  }
  chain.erase(chain.begin(), chain.begin() + position[task]);
  constexpr size_t most = 8;
  std::string text = "simulating: deadlock, ";
  for (size_t i = 0; i < std::min(chain.size(), most); ++i) {
    const SimStream &stream = simulation.allStreams()[tasks[chain[i]].streams.front()];
    text += "'" + tasks[chain[i]].name + "' (" + simulation.allDevices()[stream.device].name +
            ", " + stream.name + ") waits for ";
  }
  if (chain.size() > most)
    text += std::to_string(chain.size() - most) + " more, which wait for ";
  return UserError(text + "'" + tasks[chain.front()].name + "'",
                   "give every stream the same order of messages at both ends");
}

SimResult Engine::summarise() {
  int last = -1;
  for (int task = 0; task < static_cast<int>(tasks.size()); ++task)
    if (last < 0 || result.tasks[task].end > result.tasks[last].end)
      last = task;
  result.makespan = last < 0 ? 0 : result.tasks[last].end;
  for (int task = last; task >= 0; task = states[task].releasedBy)
    result.criticalPath.push_back(task);
  std::reverse(result.criticalPath.begin(), result.criticalPath.end());
  result.streamUtilisation.assign(queues.size(), 0);
  result.linkUtilisation.assign(simulation.allLinks().size(), 0);
  if (result.makespan <= 0)
    return std::move(result);
  for (size_t task = 0; task < tasks.size(); ++task) {
    double seconds = result.tasks[task].end - result.tasks[task].start;
    for (int stream : tasks[task].streams)
      result.streamUtilisation[stream] += seconds / result.makespan;
    for (int link : tasks[task].route)
      result.linkUtilisation[link] +=
          tasks[task].bytes / simulation.allLinks()[link].bytesPerSecond / result.makespan;
  }
  return std::move(result);
}

} // namespace

Result<SimResult> Simulation::run() const {
  if (Status checked = checkSimulation(*this); !checked)
    return checked.error();
  return Engine(*this).run();
}
