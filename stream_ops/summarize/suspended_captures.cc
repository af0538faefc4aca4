#include "stream_ops/summarize/suspended_captures.h"

#include <algorithm>
#include <array>
#include <optional>

namespace eroica {
namespace {

struct Standstill {
  std::optional<int64_t> since_ns;  // it lasts
  std::optional<SuspendedCapture> seen;

  void End(int64_t time_ns) {
    if (since_ns) seen->suspended_ns += std::max<int64_t>(time_ns - *since_ns, 0);
    since_ns.reset();
  }
};

}  // namespace

std::vector<SuspendedCapture> SuspendedCapturesOf(std::span<const Mark> marks,
                                                  const Window& window) {
  std::array<Standstill, kCaptureKindCount> captures;
  for (const Mark& mark : marks) {
    const std::optional<CaptureGap> gap = CaptureGap::OfMark(mark.id);
    if (!gap) continue;
    Standstill& of = captures[static_cast<size_t>(gap->capture)];
    if (mark.kind == MarkKind::kCaptureResumed) of.End(mark.time_ns);
    if (mark.kind != MarkKind::kCaptureSuspended) continue;
    if (!of.seen) of.seen = SuspendedCapture{};
    of.seen->gap = *gap;
    if (!of.since_ns) of.since_ns = mark.time_ns;
  }
  std::vector<SuspendedCapture> suspended;
  for (Standstill& of : captures) {
    of.End(window.end_ns);
    if (of.seen && of.seen->suspended_ns > 0) suspended.push_back(*of.seen);
  }
  return suspended;
}

}  // namespace eroica
