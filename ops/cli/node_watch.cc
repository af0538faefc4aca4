#include "ops/cli/node_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "ops/cli/stop_signal.h"

namespace eroica {

NodeWatch::NodeWatch(std::function<void()> look, std::function<void()> stop_stages)
    : look_(std::move(look)), stop_stages_(std::move(stop_stages)) {
  thread_ =
      BoundaryThread([this](const std::stop_token& stop) { Watch(stop); },
                     [this](const Thrown& thrown) {
                       stop_stages_();
                       ended_by_ = absl::InternalError(fmt::format(
                           "an exception ended the watch over the stages: {}", thrown.text()));
                     });
}

void NodeWatch::Watch(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kAsk{50};
  constexpr std::chrono::milliseconds kLook{1'000};
  for (auto due = std::chrono::steady_clock::now(); !stop.stop_requested() && !StopRequested();) {
    if (std::chrono::steady_clock::now() >= due) {
      look_();
      due += kLook;
    }
    std::this_thread::sleep_for(kAsk);
  }
  stop_stages_();
}

absl::Status NodeWatch::End() {
  thread_ = {};  // stops and joins it
  return ended_by_;
}

}  // namespace eroica
