// The server's open connections, and which of them are idle. One thread (the server's).
#pragma once

#include <cstdint>
#include <functional>
#include <list>

namespace eroica {

class ConnectionTable {
 public:
  struct Connection {
    std::function<void()> close;  // at once, whatever it is doing
    bool idle = false;            // between requests
  };
  using Handle = std::list<Connection>::iterator;

  explicit ConnectionTable(size_t connections_max) : connections_max_(connections_max) {}

  // Whether there is room for one more: where there is none, the connection that has been idle
  // longest is closed for it.
  bool MakeRoom() {
    if (size() < connections_max_) return true;
    if (idle_.empty()) return false;
    ++evicted_;
    const Handle oldest = idle_.begin();
    const auto close = oldest->close;
    SetIdle(oldest, false);
    close();
    return true;
  }

  Handle Add(std::function<void()> close) {
    return busy_.insert(busy_.end(), {.close = std::move(close)});
  }
  void Remove(Handle connection) { (connection->idle ? idle_ : busy_).erase(connection); }
  void SetIdle(Handle connection, bool idle) {
    if (connection->idle == idle) return;
    std::list<Connection>& from = connection->idle ? idle_ : busy_;
    std::list<Connection>& to = idle ? idle_ : busy_;
    connection->idle = idle;
    to.splice(to.end(), from, connection);
  }
  void CloseAll() {
    for (const Connection& connection : idle_) connection.close();
    for (const Connection& connection : busy_) connection.close();
  }

  size_t size() const { return busy_.size() + idle_.size(); }
  uint64_t evicted() const { return evicted_; }

 private:
  const size_t connections_max_;
  std::list<Connection> busy_;
  std::list<Connection> idle_;  // the one that has been so longest first
  uint64_t evicted_ = 0;
};

}  // namespace eroica
