// A server for tests of our HTTP client that says byte by byte what goes over the connection, also
// what no honest server sends. Listens on a port of its own, one connection at a time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "schemas/check.h"
#include "schemas/mutex.h"

namespace eroica {

class RawServer {
 public:
  RawServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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
  ~RawServer() {
    thread_ = {};
    ::close(socket_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  // What the next connections get once their request's head has come; then they are closed.
  void Answer(std::string bytes) {
    const MutexLock lock(mutex_);
    answer_ = std::move(bytes);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void Serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd watched{.fd = socket_, .events = POLLIN, .revents = 0};
      if (::poll(&watched, 1, 20) <= 0) continue;
      const int connection = ::accept(socket_, nullptr, nullptr);
      if (connection < 0) continue;
      ServeOne(connection);
      ::close(connection);
    }
  }

  void ServeOne(int connection) {
    std::string request;
    char bytes[4'096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = ::recv(connection, bytes, sizeof(bytes), 0);
      if (count <= 0) return;
      request.append(bytes, static_cast<size_t>(count));
    }
    std::string answer;
    {
      const MutexLock lock(mutex_);
      answer = answer_;
    }
    for (size_t sent = 0; sent < answer.size();) {
      const ssize_t count =
          ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<size_t>(count);
    }
  }

  const int socket_;
  uint16_t port_ = 0;
  Mutex mutex_;
  std::string answer_;
  std::jthread thread_;  // ends first
};

}  // namespace eroica
