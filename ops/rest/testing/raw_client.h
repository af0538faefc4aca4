// A client for tests that says byte by byte what goes over the connection, also what no honest
// client sends. Waits five seconds for an answer at most. One thread.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace eroica {

class RawClient {
 public:
  explicit RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval wait{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }

  bool Send(std::string_view text) {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  // A GET of this target, with these further header lines.
  bool Get(const std::string& target, const std::string& headers = "") {
    return Send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }
  bool Post(const std::string& target, const std::string& body, const std::string& headers = "") {
    return Send("POST " + target +
                " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Content-Length: " +
                std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
  }

  // One answer: its head, and its body as its Content-Length says; all up to the end where it says
  // nothing. has_body: false for the answer to a HEAD.
  struct Response {
    int status = 0;  // 0: none came
    std::string head;
    std::string body;
  };
  Response Read(bool has_body = true) {
    size_t end = std::string::npos;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadSome()) return {};
    }
    Response response{.head = buffer_.substr(0, end + 2), .body = {}};
    response.status = std::atoi(response.head.c_str() + std::string_view("HTTP/1.1 ").size());
    buffer_.erase(0, end + 4);
    const std::string_view kLength = "Content-Length: ";
    const size_t length = response.head.find(kLength);
    if (length == std::string::npos || !has_body) return response;
    const auto bytes =
        static_cast<size_t>(std::atoll(response.head.c_str() + length + kLength.size()));
    while (buffer_.size() < bytes) {
      if (!ReadSome()) return {};
    }
    response.body = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
    return response;
  }

  // What comes until this text has come; without it where the connection ends or nothing comes.
  std::string ReadUntil(std::string_view text) {
    while (buffer_.find(text) == std::string::npos) {
      if (!ReadSome()) break;
    }
    return std::exchange(buffer_, {});
  }

  // No more will be sent.
  void End() { ::shutdown(socket_, SHUT_WR); }
  // All that comes until the peer closes.
  std::string ReadToEnd() {
    while (ReadSome()) {
    }
    return std::exchange(buffer_, {});
  }

  // Whether the peer closes without another byte.
  bool IsClosed() { return buffer_.empty() && !ReadSome() && closed_; }

 private:
  bool ReadSome() {
    char bytes[16'384];
    const ssize_t read = ::recv(socket_, bytes, sizeof(bytes), 0);
    closed_ = read == 0 || (read < 0 && errno != EAGAIN);
    if (read <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(read));
    return true;
  }

  int socket_;
  bool connected_ = false;
  bool closed_ = false;
  std::string buffer_;
};

}  // namespace eroica
