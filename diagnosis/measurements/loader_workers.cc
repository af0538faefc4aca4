#include "diagnosis/measurements/loader_workers.h"

#include <map>
#include <set>
#include <vector>

#include "diagnosis/measurements/stack_frames.h"

namespace eroica {
namespace {

struct Place {
  int64_t ns = 0;
  size_t depth = 0;
  int64_t heaviest_ns = 0;
  std::vector<std::string_view> frames;  // of the heaviest row, up to this place
};

}  // namespace

std::optional<WorkersPlace> PlaceOfWorkers(const PatternBatch& batch, std::string_view wait) {
  constexpr double kMost = 0.6;
  std::map<std::string_view, Place> places;
  int64_t all_ns = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    const std::vector<std::string_view> frames = FramesOf(pattern);
    if (frames.size() < 2 || frames.front() != wait) continue;
    all_ns += pattern.total_ns;
    std::set<std::string_view> counted;  // a recursive frame counts once, at its outermost call
    for (size_t depth = 1; depth < frames.size(); ++depth) {
      if (!counted.insert(frames[depth]).second) continue;
      Place& place = places[frames[depth]];
      place.ns += pattern.total_ns;
      if (pattern.total_ns <= place.heaviest_ns) continue;
      place.depth = depth;
      place.heaviest_ns = pattern.total_ns;
      place.frames.assign(frames.begin() + 1, frames.begin() + static_cast<ptrdiff_t>(depth));
    }
  }
  const Place* deepest = nullptr;
  WorkersPlace found;
  for (const auto& [frame, place] : places) {
    if (static_cast<double>(place.ns) < kMost * static_cast<double>(all_ns)) continue;
    if (deepest != nullptr && place.depth <= deepest->depth) continue;
    deepest = &place;
    found.function = frame;
  }
  if (deepest == nullptr) return std::nullopt;
  for (const std::string_view caller : deepest->frames) {
    if (found.stack.empty() && IsOfDataLoader(caller)) continue;
    if (!found.stack.empty()) found.stack += kStackSeparator;
    found.stack += caller;
  }
  found.share = static_cast<double>(deepest->ns) / static_cast<double>(all_ns);
  return found;
}

}  // namespace eroica
