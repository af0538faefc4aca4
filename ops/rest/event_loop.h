// Runs the handlers of an io_context so that no exception of a handler, of Asio or of Beast leaves
// it: what was thrown goes to the caller, and the handlers that wait are still there.
#pragma once

#include <absl/status/status.h>
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <utility>  // Boost 1.74's awaitable.hpp needs it

#include "schemas/thread_boundary.h"

namespace eroica::rest {

// Until the context is stopped or has nothing to do. on_thrown(const Thrown&), on this thread;
// answers whether the loop continues.
template <typename OnThrown>
void RunLoop(boost::asio::io_context& io, OnThrown on_thrown) {
  const auto run = [&] {
    io.run();
    return false;
  };
  while (AtBoundary(run, [&](const Thrown& thrown) {
    return AtBoundary([&] { return on_thrown(thrown); }, [](const Thrown&) { return true; });
  })) {
  }
}

// One handler, waiting for it so long at most. kInternal: it threw, and this is what.
inline absl::Status RunOneHandler(boost::asio::io_context& io, std::chrono::milliseconds time) {
  return AtBoundary(
      [&] {
        io.run_one_for(time);
        return absl::OkStatus();
      },
      [](const Thrown& thrown) { return absl::InternalError(thrown.text()); });
}

}  // namespace eroica::rest
