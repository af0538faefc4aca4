// Pairs duration events of a Chrome trace (Trace Event Format, "Duration Events"). An event of
// phase E ends the innermost open B of its thread that has the same name; where it has no name, or
// no open B has it, it ends the innermost one. One owner, one thread; fed in file order, in which
// the events of a thread ascend.
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

  // Calls use(interval) with the event that `event` ends, as one of phase X. False where nothing is
  // open on its thread.
  bool End(const ChromeEvent& event, const std::function<void(const ChromeEvent&)>& use);

  // Calls use(interval) with each event that is open, as lasting until end_ns, and forgets them.
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
