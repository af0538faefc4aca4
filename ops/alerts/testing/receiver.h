// A real HTTP server for the tests of those who post: takes posts as a webhook or an Alertmanager
// does, or misbehaves as the test says. Listens on a port of its own, answers one connection at a
// time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "schemas/check.h"
#include "schemas/mutex.h"

namespace eroica {

struct ReceivedPost {
  std::string target;
  std::string head;  // request line and headers
  std::string body;

  // Empty where there is none of that name, which is compared as it stands.
  std::string Header(std::string_view name) const {
    const std::string line = "\r\n" + std::string(name) + ": ";
    const size_t at = head.find(line);
    if (at == std::string::npos) return "";
    const size_t begin = at + line.size();
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class Receiver {
 public:
  enum class Manner : uint8_t { kAccepts, kFails, kRefuses, kSilent, kResets };

  Receiver() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EROICA_CHECK(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    EROICA_CHECK(::listen(socket_, 64) == 0);
    EROICA_CHECK(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  }
  ~Receiver() {
    thread_ = {};
    for (const int connection : kept_) ::close(connection);
    ::close(socket_);
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void Behave(Manner manner) { manner_ = manner; }
  // Called once, between the next post that is taken and its answer; on the receiver's thread.
  void BeforeNextAnswer(std::function<void()> what) {
    const MutexLock lock(mutex_);
    before_answer_ = std::move(what);
  }
  std::string url(const std::string& path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  // Connections that came, whatever became of them.
  uint64_t attempts() const { return attempts_; }
  // What was taken, in order.
  std::vector<ReceivedPost> posts() const {
    const MutexLock lock(mutex_);
    return posts_;
  }

 private:
  void Serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd watched{.fd = socket_, .events = POLLIN, .revents = 0};
      if (::poll(&watched, 1, 20) <= 0) continue;
      const int connection = ::accept(socket_, nullptr, nullptr);
      if (connection >= 0) Answer(connection);
    }
  }

  void Answer(int connection) {
    const Manner manner = manner_;
    if (manner == Manner::kResets) {
      const linger at_once{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    if (manner == Manner::kSilent) {
      kept_.push_back(connection);
      ++attempts_;
      return;
    }
    if (manner != Manner::kResets) {
      std::optional<ReceivedPost> post = Read(connection);
      if (manner == Manner::kAccepts && post) Keep(*std::move(post));
      const std::string status = manner == Manner::kAccepts ? "200 OK"
                                 : manner == Manner::kFails ? "500 Internal Server Error"
                                                            : "400 Bad Request";
      const std::string answer =
          "HTTP/1.1 " + status + "\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
      [[maybe_unused]] const auto sent =
          ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    ::close(connection);
    ++attempts_;
  }

  void Keep(ReceivedPost post) {
    std::function<void()> before_answer;
    {
      const MutexLock lock(mutex_);
      before_answer = std::exchange(before_answer_, nullptr);
    }
    if (before_answer) before_answer();
    const MutexLock lock(mutex_);
    posts_.push_back(std::move(post));
  }

  // Nothing where whoever posts has gone before all of it came.
  static std::optional<ReceivedPost> Read(int connection) {
    std::string text;
    size_t end = std::string::npos;
    ReceivedPost post;
    const auto length = [&] {
      return static_cast<size_t>(std::atoll(post.Header("Content-Length").c_str()));
    };
    char bytes[16'384];
    while (end == std::string::npos || text.size() < end + 4 + length()) {
      const ssize_t count = ::recv(connection, bytes, sizeof(bytes), 0);
      if (count <= 0) return std::nullopt;
      text.append(bytes, static_cast<size_t>(count));
      end = text.find("\r\n\r\n");
      if (end != std::string::npos) post.head = text.substr(0, end + 2);
    }
    post.body = text.substr(end + 4);
    const size_t space = post.head.find(' ');
    post.target = post.head.substr(space + 1, post.head.find(' ', space + 1) - space - 1);
    return post;
  }

  const int socket_;
  uint16_t port_ = 0;
  std::atomic<Manner> manner_ = Manner::kAccepts;
  std::atomic<uint64_t> attempts_ = 0;
  std::vector<int> kept_;  // of the thread: connections that nobody answers
  mutable Mutex mutex_;
  std::vector<ReceivedPost> posts_ EROICA_GUARDED_BY(mutex_);
  std::function<void()> before_answer_ EROICA_GUARDED_BY(mutex_);
  std::jthread thread_;  // ends first
};

// Until the condition holds; false after a minute.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace eroica
