// The only file that uses Gloo: compiled with exceptions, which end here.
#include "runtime/gloo/GlooMesh.h"

#include "runtime/base/Text.h"

#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>

namespace dtc::rt {
using format::text;
using Buffer = ::gloo::transport::UnboundBuffer;

namespace {
constexpr int kAttempts = 3;
constexpr double kConnectSeconds = 10, kTokenSeconds = 10;
constexpr std::string_view kClosedByAnother = "Application timeout caused pair closure";
constexpr uint64_t kTokenSlot = 0x6474727574306b6e, kNeverSlot = kTokenSlot + 1;
constexpr std::chrono::hours kForEver(24 * 365);

std::chrono::milliseconds millis(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(std::clamp(seconds * 1000, 1.0, 1e12)));
}

// Blocks SIGPIPE in a scope: Gloo writes to sockets without MSG_NOSIGNAL, and the signal's meaning
// elsewhere in the process must not change.
class NoPipeSignal {
public:
  NoPipeSignal() {
    sigset_t pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    wasPending = ::sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    isBlocked = ::pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0;
  }
  ~NoPipeSignal() {
    if (!isBlocked)
      return;
    const timespec none = {0, 0};
    while (!wasPending && ::sigtimedwait(&pipe, nullptr, &none) < 0 && errno == EINTR) {
    }
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  NoPipeSignal(const NoPipeSignal &) = delete;
  NoPipeSignal &operator=(const NoPipeSignal &) = delete;

private:
  sigset_t pipe, before;
  bool wasPending = false, isBlocked = false;
};

// Returns the text of an error without Gloo's prefix "[/path/of/its/source.cc:123] ".
std::string wordsOf(const std::exception &error) {
  std::string words = error.what();
  size_t end = words.starts_with("[/") ? words.find("] ") : std::string::npos;
  return end == std::string::npos ? words : words.substr(end + 2);
}

class Mesh final : public GlooMesh {
public:
  explicit Mesh(const GlooOptions &options) : options(options) {}
  ~Mesh() override;
  Mesh(const Mesh &) = delete;
  Mesh &operator=(const Mesh &) = delete;

  // Tries once: addresses, connections, and a check of the rank at the other end of each. Aborted
  // if another try is pointless; else `words` says what went wrong on this rank or another, and is
  // empty if nothing did.
  Status connect(std::string &words);

  bool transfer(std::span<const Parcel> parcels, double seconds) override;
  void fail(const std::string &reason) override;
  bool hasFailed() const override { return failed; }
  void leave() override { isLeaving = true; }
  std::string reason() const override {
    std::lock_guard lock(mutex);
    return firstReason;
  }

private:
  std::string makePairs(std::vector<std::string> &addresses);
  std::string connectPairs(const std::vector<std::string> &addresses);
  std::string compareTokens();
  void post(const Parcel &parcel, std::unique_ptr<Buffer> &buffer);
  bool wait(Buffer &buffer, const Parcel &parcel, std::chrono::steady_clock::time_point end);
  std::string timeOut(const Parcel &parcel, double seconds) const;
  std::string watchConnections();

  GlooOptions options;
  std::shared_ptr<::gloo::transport::Device> device;
  std::shared_ptr<::gloo::transport::Context> context; // dies before the device

  mutable std::mutex mutex;
  std::atomic<bool> failed = false;
  std::string firstReason;
  std::set<Buffer *> waiting; // buffers that transfers wait for

  std::atomic<bool> isLeaving = false;
  std::vector<char> never; // received from peers under kNeverSlot, which none sends
  std::unique_ptr<Buffer> sentinel;
  std::thread watcher;
};
} // namespace

std::string Mesh::makePairs(std::vector<std::string> &addresses) {
  addresses.assign(static_cast<size_t>(options.size), "");
  try {
    NoPipeSignal guard; // Gloo's thread inherits it
    ::gloo::transport::tcp::attr where;
    if (options.interface.empty())
      where.hostname = options.rendezvous->address();
    else
      where.iface = options.interface;
    device = ::gloo::transport::tcp::CreateDevice(where);
    context = device->createContext(options.rank, options.size);
    context->setTimeout(millis(kConnectSeconds / 5)); // Gloo gives connections five times that
    for (int peer = 0; peer < options.size; ++peer) {
      if (peer == options.rank)
        continue;
      std::vector<char> bytes = context->createPair(peer)->address().bytes();
      addresses[static_cast<size_t>(peer)].assign(bytes.begin(), bytes.end());
    }
    return "";
  } catch (const std::exception &error) {
    addresses.assign(addresses.size(), "");
    return wordsOf(error);
  }
}

std::string Mesh::connectPairs(const std::vector<std::string> &addresses) {
  NoPipeSignal guard;
  for (int peer = 0; peer < options.size; ++peer) {
    if (peer == options.rank)
      continue;
    try {
      const std::string &address = addresses[static_cast<size_t>(peer)];
      std::vector<char> own = context->getPair(peer)->address().bytes();
      if (address.size() != own.size())
        return text("rank ", peer, " has no address");
      context->getPair(peer)->connect(std::vector<char>(address.begin(), address.end()));
    } catch (const std::exception &error) {
      return text("rank ", peer, ": ", wordsOf(error));
    }
  }
  return "";
}

// Compares tokens: the first to connect at a port may not belong to the job.
std::string Mesh::compareTokens() {
  const std::string &token = options.rendezvous->token();
  std::vector<std::string> theirs(static_cast<size_t>(options.size), std::string(token.size(), 0));
  std::vector<Parcel> parcels;
  for (int peer = 0; peer < options.size; ++peer)
    if (peer != options.rank) {
      parcels.push_back({peer, token.data(), nullptr, token.size(), kTokenSlot});
      parcels.push_back(
          {peer, nullptr, theirs[static_cast<size_t>(peer)].data(), token.size(), kTokenSlot});
    }
  if (!transfer(parcels, kTokenSeconds))
    return reason();
  for (int peer = 0; peer < options.size; ++peer)
    if (peer != options.rank && theirs[static_cast<size_t>(peer)] != token)
      return text("who answers as rank ", peer, " is none of this job");
  return "";
}

// Watches the connections. Gloo reports a lost connection only to messages that have not begun to
// move; one that is half moved would wait until the timeout. A receive from each peer that never
// begins is told of every loss.
std::string Mesh::watchConnections() {
  try {
    NoPipeSignal guard;
    never.resize(static_cast<size_t>(options.size));
    sentinel = context->createUnboundBuffer(never.data(), never.size());
    for (int peer = 0; peer < options.size; ++peer)
      if (peer != options.rank)
        sentinel->recv(peer, kNeverSlot, static_cast<size_t>(peer), 1);
  } catch (const std::exception &error) {
    return wordsOf(error);
  }
  watcher = std::thread([this] {
    try {
      while (sentinel->waitRecv(nullptr, kForEver) && !isLeaving) {
      }
    } catch (const std::exception &error) {
      // A transfer that notices by itself knows which rank was lost.
      for (int patience = 20; patience > 0 && !failed && !isLeaving; --patience)
        ::usleep(10000);
      if (!isLeaving)
        fail(text("a rank of the job is lost: ", wordsOf(error)));
    }
  });
  return "";
}

Mesh::~Mesh() {
  isLeaving = true;
  if (sentinel)
    sentinel->abortWaitRecv();
  if (watcher.joinable())
    watcher.join();
}

Status Mesh::connect(std::string &words) {
  std::vector<std::string> mine, theirs;
  std::string own = makePairs(mine);
  DTC_RETURN_IF_ERROR(options.rendezvous->exchange(mine, theirs));
  if (own.empty())
    own = connectPairs(theirs);
  if (own.empty())
    own = compareTokens();
  if (own.empty())
    own = watchConnections();
  if (own.size() > Rendezvous::kMostParcel)
    own.resize(Rendezvous::kMostParcel);
  std::vector<std::string> all;
  DTC_RETURN_IF_ERROR(options.rendezvous->exchange(
      std::vector<std::string>(static_cast<size_t>(options.size), own), all));
  words.clear();
  for (size_t rank = 0; rank < all.size() && words.empty(); ++rank)
    if (!all[rank].empty())
      words = text("rank ", rank, ": ", all[rank]);
  return {};
}

void Mesh::fail(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (!failed)
    firstReason = reason;
  failed = true;
  for (Buffer *buffer : waiting) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

std::string Mesh::timeOut(const Parcel &parcel, double seconds) const {
  std::string suspects = options.phases ? options.phases->suspects() : std::string();
  return text("not complete after ", seconds, " s; ",
              suspects.empty()
                  ? text("rank ", parcel.peer, " of the job died, hangs or is in another operation")
                  : suspects);
}

// Begins to move `parcel`; throws Gloo's exceptions. `buffer` has to outlive its entry in
// `waiting`.
void Mesh::post(const Parcel &parcel, std::unique_ptr<Buffer> &buffer) {
  // Gloo does not write to what it sends.
  void *data = parcel.from ? const_cast<void *>(parcel.from) : parcel.to;
  buffer = context->createUnboundBuffer(data, parcel.bytes);
  {
    std::lock_guard lock(mutex);
    waiting.insert(buffer.get());
  }
  if (parcel.from)
    buffer->send(parcel.peer, parcel.slot);
  else
    buffer->recv(parcel.peer, parcel.slot);
}

// Waits for a parcel; returns false once it was given up; throws Gloo's exceptions.
bool Mesh::wait(Buffer &buffer, const Parcel &parcel, std::chrono::steady_clock::time_point end) {
  // Rounded up, so that the time is over when the wait ends.
  auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  left = std::max(left, std::chrono::milliseconds(1));
  return parcel.from ? buffer.waitSend(nullptr, left) : buffer.waitRecv(nullptr, left);
}

bool Mesh::transfer(std::span<const Parcel> parcels, double seconds) {
  if (options.phases)
    seconds = options.phases->patienceOf(seconds);
  auto end = std::chrono::steady_clock::now() + millis(seconds);
  std::vector<std::unique_ptr<Buffer>> buffers;
  const Parcel *current = nullptr;
  auto forget = [&] {
    std::lock_guard lock(mutex);
    for (const std::unique_ptr<Buffer> &buffer : buffers)
      waiting.erase(buffer.get());
  };
  try {
    NoPipeSignal guard;
    // Receives first: a peer that knows of one sends at once.
    buffers.resize(parcels.size());
    for (bool sends : {false, true})
      for (size_t i = 0; i < parcels.size(); ++i)
        if (parcels[i].bytes > 0 && (parcels[i].from != nullptr) == sends) {
          current = &parcels[i];
          post(parcels[i], buffers[i]);
        }
    for (size_t i = 0; i < parcels.size() && !failed; ++i) {
      current = &parcels[i];
      if (buffers[i] && !wait(*buffers[i], parcels[i], end))
        break;
    }
  } catch (const std::exception &error) {
    std::string words = wordsOf(error);
    // Gloo closes all connections for a transfer that is late; its thread reports that in a moment.
    for (int patience = 200; patience > 0 && !failed && words.find(kClosedByAnother) == 0;
         --patience)
      ::usleep(10000);
    fail(std::chrono::steady_clock::now() >= end
             ? timeOut(*current, seconds)
             : text("rank ", current->peer, " of the job is lost: ", words));
  }
  forget();
  return !failed;
}

Status GlooMesh::create(const GlooOptions &options, std::shared_ptr<GlooMesh> &mesh) {
  std::string words;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto made = std::make_shared<Mesh>(options);
    DTC_RETURN_IF_ERROR(made->connect(words));
    if (words.empty()) {
      mesh = std::move(made);
      return {};
    }
  }
  return Status::unavailable(text("connecting ", options.size, " ranks by Gloo, at '",
                                  options.rendezvous->address(), "', ", kAttempts,
                                  " times: ", words));
}

} // namespace dtc::rt
