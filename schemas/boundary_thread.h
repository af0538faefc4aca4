// The only way in which a program of ours starts a thread (tests/tidy): what its function throws
// does not end the process.
#pragma once

#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include "schemas/thread_boundary.h"

namespace eroica {

// A std::jthread whose function is inside the outermost boundary.
class BoundaryThread {
 public:
  BoundaryThread() = default;
  // work: void(), or void(const std::stop_token&). on_thrown: void(const Thrown&), on the new
  // thread, which then ends.
  template <typename Work, typename OnThrown>
  BoundaryThread(Work work, OnThrown on_thrown)
      : thread_([work = std::move(work),
                 on_thrown = std::move(on_thrown)](const std::stop_token& stop) mutable {
          RunAtBoundary(
              [&] {
                if constexpr (std::is_invocable_v<Work&, const std::stop_token&>) {
                  work(stop);
                } else {
                  work();
                }
              },
              on_thrown);
        }) {}

  bool joinable() const { return thread_.joinable(); }
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }
  void request_stop() { thread_.request_stop(); }

 private:
  std::jthread thread_;
};

}  // namespace eroica
