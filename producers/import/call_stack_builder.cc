#include "producers/import/call_stack_builder.h"

#include <algorithm>

#include "producers/import/function_classifier.h"
#include "producers/python/python_frame.h"

namespace eroica {
namespace {

// By how much a caller may end before what it calls begins: the tracer takes their times one after
// the other.
constexpr int64_t kClockSlackNs = 1'000'000;

}  // namespace

uint32_t CallStackBuilder::Resolve(const IntervalRecord& record) {
  LaneState& lane = lanes_[record.lane];
  if (record.kind == IntervalKind::kAnnotation) {
    const uint32_t parent = ParentOf(record, lane);
    const std::string& name = functions_.name(record.function);
    const uint32_t function =
        functions_.Intern(parent, record.function, FunctionClass::kPython, WaitOfAnnotation(name));
    Remember(record, function, lane);
    return function;
  }
  const bool first = lane.last_id == 0;
  if (record.a == 0 || (!first && record.b != lane.last_id)) lane.at_start = false;
  lane.last_id = record.a;
  const uint32_t parent = ParentOf(record, lane);
  uint32_t name = record.function;
  if (lane.at_start) name = functions_.InternName(StripLine(functions_.name(name)));
  const uint32_t function = functions_.Intern(parent, name, FunctionClass::kPython,
                                              WaitOfPythonFrame(functions_.name(name)));
  Remember(record, function, lane);
  return function;
}

uint32_t CallStackBuilder::ParentOf(const IntervalRecord& record, LaneState& lane) {
  const bool by_id = record.kind == IntervalKind::kPython && record.a != 0;
  if (by_id) {
    const auto found = frames_.find(record.b);
    return record.b != 0 && found != frames_.end() ? found->second.function : TraceFunctions::kNone;
  }
  while (!lane.open.empty() && lane.open.back().end_ns <= record.start_ns) lane.open.pop_back();
  return lane.open.empty() ? TraceFunctions::kNone : lane.open.back().function;
}

void CallStackBuilder::Remember(const IntervalRecord& record, uint32_t function, LaneState& lane) {
  const Frame frame{record.start_ns + record.duration_ns, function};
  if (record.kind != IntervalKind::kPython || record.a == 0) {
    lane.open.push_back(frame);
    return;
  }
  frames_.insert_or_assign(record.a, frame);
  if (frames_.size() >= forget_at_) ForgetEnded(record.start_ns);
}

void CallStackBuilder::ForgetEnded(int64_t now_ns) {
  absl::erase_if(frames_, [now_ns](const auto& entry) {
    return entry.second.end_ns < now_ns - kClockSlackNs;
  });
  forget_at_ = std::max<size_t>(4'096, 2 * frames_.size());
}

}  // namespace eroica
