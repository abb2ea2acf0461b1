#include "runtime/monitor/Frames.h"

#include "runtime/base/Text.h"
#include "runtime/monitor/Bytes.h"

#include <algorithm>

namespace dtc::rt {
namespace {

constexpr size_t kHostBytes = 256;

void write(ByteWriter &out, const Standing &standing) {
  out.small(static_cast<uint32_t>(standing.activity));
  out.small(static_cast<uint32_t>(standing.reportsStreams) |
            static_cast<uint32_t>(standing.computes) << 1 |
            static_cast<uint32_t>(standing.isStopped) << 2 |
            static_cast<uint32_t>(standing.isInStep) << 3);
  out.number(standing.moves);
  out.number(standing.cpuMillis);
  out.small(standing.trainingStep);
  out.small(static_cast<uint32_t>(standing.waits.size()));
  for (const Waiting &waiting : standing.waits) {
    out.small(waiting.group);
    out.small(static_cast<uint32_t>(waiting.meets));
    out.number(waiting.sequence);
    out.small(static_cast<uint32_t>(waiting.peer));
    out.number(waiting.bytes);
  }
  for (const auto &group : standing.started)
    for (uint64_t count : group)
      out.number(count);
  out.small(standing.work.program);
  for (uint64_t value : {standing.work.steps, standing.work.workNanos, standing.work.stepNanos,
                         standing.work.stoppedNanos})
    out.number(value);
  out.words(standing.position);
}

void read(ByteReader &in, Standing &standing) {
  uint32_t activity = in.small(), flags = in.small();
  in.failed = in.failed || activity > static_cast<uint32_t>(Activity::Finished) || flags > 15;
  standing.activity = static_cast<Activity>(in.failed ? 0 : activity);
  standing.reportsStreams = flags & 1;
  standing.computes = flags & 2;
  standing.isStopped = flags & 4;
  standing.isInStep = flags & 8;
  standing.moves = in.number();
  standing.cpuMillis = in.number();
  standing.trainingStep = in.small();
  uint32_t waits = in.small();
  in.failed = in.failed || waits > Standing::kWaits;
  standing.waits.resize(in.failed ? 0 : waits);
  for (Waiting &waiting : standing.waits) {
    waiting.group = in.small();
    uint32_t meets = in.small();
    in.failed = in.failed || meets > static_cast<uint32_t>(Meets::Receive);
    waiting.meets = static_cast<Meets>(in.failed ? 0 : meets);
    waiting.sequence = in.number();
    waiting.peer = static_cast<int>(in.small());
    waiting.bytes = in.number();
  }
  for (auto &group : standing.started)
    for (uint64_t &count : group)
      count = in.number();
  standing.work.program = in.small();
  for (uint64_t *value : {&standing.work.steps, &standing.work.workNanos, &standing.work.stepNanos,
                          &standing.work.stoppedNanos})
    *value = in.number();
  standing.position = printable(in.words(), Standing::kPositionBytes);
}

} // namespace

std::vector<uint8_t> encode(const Frame &frame) {
  ByteWriter out;
  out.small(0);
  out.small(static_cast<uint32_t>(frame.kind));
  if (frame.kind == FrameKind::Hello) {
    out.out.insert(out.out.end(), frame.secret.begin(), frame.secret.end());
    for (uint32_t value : {frame.rank, frame.process, frame.keeper})
      out.small(value);
    out.words(frame.host.substr(0, kHostBytes));
  }
  if (frame.kind == FrameKind::Beat || frame.kind == FrameKind::Ended)
    write(out, frame.standing);
  if (frame.kind == FrameKind::Ended) {
    out.small(static_cast<uint32_t>(frame.ending.exitCode));
    out.small(static_cast<uint32_t>(frame.ending.signal));
    out.small(static_cast<uint32_t>(frame.ending.outOfMemory) |
              static_cast<uint32_t>(frame.ending.isFinished) << 1);
    out.words(frame.ending.words.substr(0, ProgressPage::kWords));
  }
  if (frame.kind == FrameKind::Ended || frame.kind == FrameKind::Stacks)
    out.words(frame.stacks.substr(0, kMostStackBytes));
  if (frame.kind == FrameKind::Verdict) {
    out.small(frame.exitCode);
    out.words(frame.reason.substr(0, kMostReasonBytes));
  }
  auto length = static_cast<uint32_t>(out.out.size() - kFrameHeader);
  for (size_t i = 0; i < 4; ++i)
    out.out[i] = static_cast<uint8_t>(length >> (8 * i));
  return std::move(out.out);
}

Status decode(uint32_t kind, std::span<const uint8_t> content, Frame &frame) {
  frame = {};
  ByteReader in(content);
  in.failed = kind >= kFrameKinds || (kind == static_cast<uint32_t>(FrameKind::Hello) &&
                                      content.size() < frame.secret.size());
  frame.kind = static_cast<FrameKind>(in.failed ? static_cast<uint32_t>(FrameKind::Leave) : kind);
  if (frame.kind == FrameKind::Hello) {
    std::copy_n(content.begin(), frame.secret.size(), frame.secret.begin());
    in.rest = in.rest.subspan(frame.secret.size());
    for (uint32_t *value : {&frame.rank, &frame.process, &frame.keeper})
      *value = in.small();
    frame.host = printable(in.words(), kHostBytes);
  }
  if (frame.kind == FrameKind::Beat || frame.kind == FrameKind::Ended)
    read(in, frame.standing);
  if (frame.kind == FrameKind::Ended) {
    frame.ending.exitCode = static_cast<int>(in.small() & 0xff);
    frame.ending.signal = static_cast<int>(in.small() & 0x7f);
    uint32_t flags = in.small();
    frame.ending.outOfMemory = flags & 1;
    frame.ending.isFinished = flags & 2;
    frame.ending.words = printable(in.words(), ProgressPage::kWords);
  }
  if (frame.kind == FrameKind::Ended || frame.kind == FrameKind::Stacks)
    frame.stacks = in.words();
  if (frame.kind == FrameKind::Verdict) {
    frame.exitCode = in.small();
    frame.reason = printable(in.words(), kMostReasonBytes);
  }
  in.failed = in.failed || frame.stacks.size() > kMostStackBytes || frame.exitCode > 255;
  if (!in.failed && in.rest.empty())
    return {};
  return Status::dataLoss(format::text("a frame of kind ", kind, " and ", content.size(),
                                       " bytes is none that a keeper sends"));
}

} // namespace dtc::rt
