// What the connections of one server share, and the answers that are in the making. For session.h
// and server.cc alone.
#pragma once

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>  // Boost 1.74's awaitable.hpp needs it
#include <vector>

#include "ops/rest/connection_table.h"
#include "ops/rest/message_fault.h"
#include "ops/rest/response_head.h"
#include "ops/rest/server.h"
#include "schemas/mutex.h"
#include "schemas/thread_boundary.h"
#include "stream_ops/runtime/backoff.h"

namespace eroica::rest {

namespace net = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using CachedPtr = std::shared_ptr<const CachedResponse>;

inline constexpr int kAnswerThreads = 2;

// Of one server. On the server's thread but for what is said.
struct State {
  State(RestService& rest, const ServerOptions& server)
      : service(rest),
        limits(server.limits),
        message{.head_bytes = server.limits.header_bytes,
                .head_lines = server.limits.headers,
                .body_bytes = server.limits.body_bytes,
                .trailer_bytes = server.limits.header_bytes},
        peers(server.peers),
        connections(server.limits.connections) {}

  std::vector<KnownNode> OthersLikeliestFirst(const std::string& job) const {
    std::vector<KnownNode> others = service.Others();
    const auto owner = owners.find(job);
    if (owner == owners.end()) return others;
    std::ranges::stable_partition(
        others, [&](const KnownNode& node) { return node.name == owner->second; });
    return others;
  }
  void KeepOwner(const std::string& job, const std::string& node) {
    constexpr size_t kOwnersMax = 10'000;
    if (owners.size() >= kOwnersMax) owners.clear();
    owners[job] = node;
  }

  std::string_view Date() {
    const std::time_t now = std::time(nullptr);
    if (now != date_of) {
      date = HttpDate(now);
      date_of = now;
    }
    return date;
  }

  void Count(int status) {
    const MutexLock lock(mutex);
    ++probe.responses[status];
  }

  // Any thread. where: what ended by it, for the log.
  void CountThrown(const char* where, const Thrown& thrown) {
    std::optional<uint64_t> held_back;
    {
      const MutexLock lock(mutex);
      ++probe.exceptions;
      held_back = thrown_rate.Due(steady_clock::now());
    }
    if (held_back)
      spdlog::error(
          "rest: an exception ended {}; the server continues, report this error=\"{}\" "
          "not_logged={}",
          where, thrown.text(), *held_back);
  }

  RestService& service;
  const ServerLimits limits;
  const MessageLimits message;
  const PeerOptions peers;
  std::map<std::string, std::string> owners;  // of jobs: the node that had them last
  ConnectionTable connections;
  std::set<net::steady_timer*> waiting_streams;
  net::thread_pool pool{kAnswerThreads};
  size_t answers_in_work = 0;
  bool stopping = false;
  std::string date;
  std::time_t date_of = 0;
  mutable Mutex mutex;
  ServerProbe probe EROICA_GUARDED_BY(mutex);
  LogRate thrown_rate EROICA_GUARDED_BY(mutex);
};

// An answer in the making on a thread of the pool. The session and that thread share it, so that
// either may end first.
struct AnswerInWork {
  AnswerInWork(State& server, const net::any_io_executor& executor, PreparedRequest request)
      : state(server),
        home(executor),
        prepared(std::move(request)),
        done(home, steady_clock::time_point::max()) {}

  State& state;
  const net::any_io_executor home;
  const PreparedRequest prepared;
  net::steady_timer done;  // of home's thread
  CachedPtr response;      // written before `done` is cancelled; nullptr: the handler threw
};

// On a thread of the pool. A session that waits must be woken, whatever is thrown.
inline void MakeAnswer(const std::shared_ptr<AnswerInWork>& work) {
  const auto count = [&](const Thrown& thrown) {
    work->state.CountThrown("the making of an answer", thrown);
  };
  RunAtBoundary([&] { work->response = work->state.service.Answer(work->prepared); }, count);
  for (bool woken = false; !woken;) {
    RunAtBoundary(
        [&] {
          net::post(work->home, [work] { work->done.cancel(); });
          woken = true;
        },
        [&](const Thrown& thrown) {
          count(thrown);
          std::this_thread::yield();  // there is no memory at the moment
        });
  }
}

// An answer in work, in the count of those.
class OpenAnswer {
 public:
  explicit OpenAnswer(State& state) : state_(state) { ++state_.answers_in_work; }
  ~OpenAnswer() { --state_.answers_in_work; }
  OpenAnswer(const OpenAnswer&) = delete;
  OpenAnswer& operator=(const OpenAnswer&) = delete;

 private:
  State& state_;
};

// A stream that waits for findings, among those that are woken.
class WaitingStream {
 public:
  WaitingStream(State& state, net::steady_timer& timer) : state_(state), timer_(timer) {
    state_.waiting_streams.insert(&timer_);
  }
  ~WaitingStream() { state_.waiting_streams.erase(&timer_); }
  WaitingStream(const WaitingStream&) = delete;
  WaitingStream& operator=(const WaitingStream&) = delete;

 private:
  State& state_;
  net::steady_timer& timer_;
};

// A subscriber of findings, in the count of those that are there.
class OpenStream {
 public:
  explicit OpenStream(State& state) : state_(state) {
    const MutexLock lock(state_.mutex);
    ++state_.probe.event_streams_open;
  }
  ~OpenStream() {
    const MutexLock lock(state_.mutex);
    --state_.probe.event_streams_open;
  }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

 private:
  State& state_;
};

}  // namespace eroica::rest
