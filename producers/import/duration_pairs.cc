#include "producers/import/duration_pairs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "producers/import/json_scan.h"

namespace eroica {

const std::string& DurationPairs::KeyOf(const ChromeEvent& event) {
  key_.assign(event.pid);
  key_.push_back('/');
  key_.append(event.tid);
  return key_;
}

bool DurationPairs::Begin(const ChromeEvent& event) {
  if (open_count_ >= kMaxOpen) return false;
  Open open{.event = event,
            .name = std::string(event.name),
            .category = std::string(event.category),
            .pid = std::string(event.pid),
            .tid = std::string(event.tid),
            .args = std::string(event.args)};
  if (!open.args.empty()) open.args.append(kJsonPadding, ' ');
  open_[KeyOf(event)].push_back(std::move(open));
  ++open_count_;
  return true;
}

ChromeEvent DurationPairs::Interval(const Open& open, int64_t end_ns) {
  ChromeEvent event = open.event;
  event.name = open.name;
  event.category = open.category;
  event.pid = open.pid;
  event.tid = open.tid;
  event.args = open.args.empty()
                   ? std::string_view()
                   : std::string_view(open.args).substr(0, open.args.size() - kJsonPadding);
  event.phase = 'X';
  event.has_duration = true;
  // Times before the trace's base cannot be, and are refused behind this.
  event.duration_ns = event.start_ns < 0 ? 0 : end_ns - event.start_ns;
  return event;
}

bool DurationPairs::End(const ChromeEvent& event,
                        const std::function<void(const ChromeEvent&)>& use) {
  const auto found = open_.find(KeyOf(event));
  if (found == open_.end()) return false;
  std::vector<Open>& opens = found->second;
  auto ended = std::prev(opens.end());
  // Where two touch, the next one's begin may stand before the end.
  const auto named = std::ranges::find(opens.rbegin(), opens.rend(), event.name, &Open::name);
  if (!event.name.empty() && named != opens.rend()) ended = std::prev(named.base());
  const Open open = std::move(*ended);
  opens.erase(ended);
  if (opens.empty()) open_.erase(found);
  --open_count_;
  ChromeEvent whole = Interval(open, event.start_ns);
  whole.bad_time = whole.bad_time || event.bad_time || !event.has_start;
  if (whole.args.empty()) whole.args = event.args;
  use(whole);
  return true;
}

void DurationPairs::EndAll(int64_t end_ns, const std::function<void(const ChromeEvent&)>& use) {
  for (const auto& [thread, opens] : open_) {
    for (const Open& open : opens) use(Interval(open, end_ns));
  }
  open_.clear();
  open_count_ = 0;
}

}  // namespace eroica
