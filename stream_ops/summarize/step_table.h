// The training steps that a rank has marked, as far as they belong to windows that are not closed.
// Whatever the order in which the marks arrive, the steps are the same: of several marks of one
// step the earliest counts. A step is [its begin, its end or, without one, the next begin).
// One that ends where it begins is none: nobody knows when it ended
// (producers/core/step_detector.h).
// Owner: RankWindows.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schemas/event_batch.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

class StepTable {
 public:
  // offset: of the record that brought the mark. Marks of other kinds are ignored.
  void Add(const Mark& mark, int64_t offset);
  // The steps that begin in [from, until), ascending by time and by id. One without an end and
  // without a successor ends at kEndOfTimeNs.
  std::vector<StepSpan> Resolve(int64_t from_ns, int64_t until_ns) const;
  // The largest id whose step begins at or before the moment. Asked again of the same moment while
  // windows close one after the other.
  std::optional<int64_t> LatestBegunBy(int64_t time_ns);
  // The smallest id at or above id, and when it begins.
  struct Begin {
    int64_t id;
    int64_t time_ns;
    friend bool operator==(const Begin&, const Begin&) = default;
  };
  std::optional<Begin> FirstFrom(int64_t id) const;
  // Whether a step at or above id is held, or may still turn out to be one.
  bool HasStepFrom(int64_t id) const;
  // The smallest and the largest id of any mark that is held; -1 where there is none.
  int64_t first_id() const { return steps_.empty() ? -1 : steps_.begin()->first; }
  int64_t last_id() const { return steps_.empty() ? -1 : steps_.rbegin()->first; }
  // Takes in what another one holds.
  void Merge(const StepTable& other);
  // Forgets what begins before the moment.
  void ForgetBefore(int64_t time_ns);
  bool empty() const { return steps_.empty(); }
  // The smallest offset of a record whose mark is still held.
  std::optional<int64_t> first_offset() const;

 private:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  struct Step {
    int64_t begin_ns = kUnknown;
    int64_t end_ns = kUnknown;
    int64_t offset = kUnknown;
  };
  // By when it is forgotten.
  static std::pair<int64_t, int64_t> TimeAndId(int64_t id, const Step& step) {
    return {step.begin_ns != kUnknown ? step.begin_ns : step.end_ns, id};
  }

  std::map<int64_t, Step> steps_;                  // by id
  std::set<std::pair<int64_t, int64_t>> by_time_;  // TimeAndId of each
  // the last answer of LatestBegunBy, and the moment
  std::optional<std::pair<int64_t, int64_t>> latest_;
};

}  // namespace eroica
