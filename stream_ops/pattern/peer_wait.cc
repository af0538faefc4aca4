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

void PeerWait::Waited::Clear() {
  spans_.clear();
  before_.clear();
}

void PeerWait::Waited::Join(std::vector<TimeSpan>& waits, const CriticalClock& clock) {
  clock_ = &clock;
  std::sort(waits.begin(), waits.end(),
            [](const TimeSpan& a, const TimeSpan& b) { return a.begin_ns < b.begin_ns; });
  for (const TimeSpan& wait : waits) spans_.Add(wait.begin_ns, wait.end_ns);
  int64_t before_ns = 0;
  for (const TimeSpan& span : spans_.spans()) {
    before_.push_back(before_ns);
    before_ns += clock.At(span.end_ns) - clock.At(span.begin_ns);
  }
}

int64_t PeerWait::Waited::Until(int64_t t) const {
  const auto next = std::upper_bound(spans().begin(), spans().end(), t,
                                     [](int64_t at, const TimeSpan& s) { return at < s.begin_ns; });
  if (next == spans().begin()) return 0;
  const auto place = static_cast<size_t>(next - spans().begin()) - 1;
  const TimeSpan& span = spans()[place];
  return before_[place] + clock_->At(std::min(t, span.end_ns)) - clock_->At(span.begin_ns);
}

void PeerWait::Clear() {
  for (auto& waits : waits_) waits.clear();
  for (Waited& waited : waited_) waited.Clear();
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
    Waited& waited = waited_[static_cast<size_t>(priority)];
    waited.Join(waits_[static_cast<size_t>(priority)], clocks[priority]);
    AddWithinSteps(waited.spans(), clocks[priority], steps, out);
  }
}

}  // namespace eroica
