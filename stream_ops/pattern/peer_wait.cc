#include "stream_ops/pattern/peer_wait.h"

#include <algorithm>

namespace eroica {
namespace {

// Time on the clock within spans, for each step. Spans are disjoint and ascending.
void AddWithinSteps(const std::vector<TimeSpan>& spans, const CriticalClock& clock,
                    std::span<const StepSpan> steps, std::vector<StepRecord>* out) {
  size_t next = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    while (next < spans.size() && spans[next].end_ns <= steps[i].begin_ns) ++next;
    for (size_t j = next; j < spans.size() && spans[j].begin_ns < steps[i].end_ns; ++j) {
      const int64_t from = std::max(spans[j].begin_ns, steps[i].begin_ns);
      const int64_t to = std::min(spans[j].end_ns, steps[i].end_ns);
      (*out)[i].peer_wait_ns += clock.At(to) - clock.At(from);
    }
  }
}

}  // namespace

void PeerWait::Clear() {
  for (auto& waits : waits_) waits.clear();
}

void PeerWait::Finish(std::span<const StepSpan> steps, const CriticalClocks& clocks,
                      int collective_priority, std::vector<StepRecord>* out) {
  out->clear();
  const CriticalClock& collectives = clocks[collective_priority];
  for (const StepSpan& step : steps) {
    out->push_back({step.id, step.end_ns - step.begin_ns,
                    collectives.At(step.end_ns) - collectives.At(step.begin_ns)});
  }
  for (int priority = 0; priority < kPriorityCount; ++priority) {
    std::vector<TimeSpan>& waits = waits_[static_cast<size_t>(priority)];
    if (waits.empty() || steps.empty()) continue;
    std::sort(waits.begin(), waits.end(),
              [](const TimeSpan& a, const TimeSpan& b) { return a.begin_ns < b.begin_ns; });
    SpanUnion joined;
    for (const TimeSpan& wait : waits) joined.Add(wait.begin_ns, wait.end_ns);
    AddWithinSteps(joined.spans(), clocks[priority], steps, out);
  }
}

}  // namespace eroica
