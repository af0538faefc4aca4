// Reads a topic from its beginning and follows it, on a thread of its own. What fails and may pass
// is tried again, from the beginning: who takes records knows those that it has had.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>

#include "schemas/boundary_thread.h"
#include "stream_ops/log/log.h"

namespace eroica {

class TopicFollower {
 public:
  struct Calls {
    std::function<void(const ConsumerRecord&)> take;
    // Once, when the topic has been read to its end as it is then. May be empty.
    std::function<void()> caught_up{};
    // Where there is no such topic; again at each try. May be empty.
    std::function<void()> missing{};
    // Several times a second, between records; its error is one of the topic. May be empty.
    std::function<absl::Status()> look{};
    // Before the thread ends, where the topic could be read. May be empty.
    std::function<void()> end{};
  };

  // log must outlive the follower. name: of who follows, for the log lines.
  TopicFollower(Log& log, std::string topic, std::string name);
  // Begins to follow; once. The calls are made on the follower's thread.
  void Start(Calls calls);
  // Ends it; nothing is called any more.
  void Stop() { thread_ = {}; }

 private:
  void Run(const std::stop_token& stop);
  absl::Status Follow(const std::stop_token& stop);

  Log& log_;
  const std::string topic_;
  const std::string name_;
  Calls calls_;
  BoundaryThread thread_;
};

}  // namespace eroica
