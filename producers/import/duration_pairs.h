// Pairs duration events of a Chrome trace: what one of phase B begins, the next E of its thread
// ends: the innermost of its name, if it has one, else the innermost (Trace Event Format, "Duration
// Events"). One owner, one thread; fed in file
// order, in which the events of a thread ascend.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "producers/import/chrome_event.h"

namespace eroica {

class DurationPairs {
 public:
  // Keeps a copy. False where more are open than any program nests: it is not kept.
  bool Begin(const ChromeEvent& event);

  // Calls use(event) with what `event` ends, as an event of phase X. False where nothing is open on
  // its thread.
  bool End(const ChromeEvent& event, const std::function<void(const ChromeEvent&)>& use);

  // Calls use(event) with each that nothing has ended, as lasting until end_ns, and forgets them.
  void EndAll(int64_t end_ns, const std::function<void(const ChromeEvent&)>& use);

 private:
  static constexpr size_t kMaxOpen = size_t{1} << 16;  // of all threads

  struct Open {
    ChromeEvent event;  // its views are of the strings below
    std::string name;
    std::string category;
    std::string pid;
    std::string tid;
    std::string args;  // padded
  };
  // The open one as an interval that ends then. Valid as long as `open` is.
  static ChromeEvent Interval(const Open& open, int64_t end_ns);
  const std::string& KeyOf(const ChromeEvent& event);

  std::map<std::string, std::vector<Open>> open_;  // by thread
  size_t open_count_ = 0;
  std::string key_;
};

}  // namespace eroica
