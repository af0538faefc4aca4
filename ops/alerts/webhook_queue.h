// Messages that wait for the receiver of a webhook: bounded, the messages about one finding in
// their order, and of which partition everything before an offset is dealt with. Asks no clock. One
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "ops/rest/http_client.h"

namespace eroica {

struct WebhookMessage {
  std::string id;  // of this version of the finding: the receiver's key against doubles
  std::string finding_id;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // all but those of the signature
  int32_t partition = 0;
  int64_t offset = 0;
  std::chrono::steady_clock::time_point since;
};

class WebhookQueue {
 public:
  explicit WebhookQueue(size_t messages_max) : messages_max_(messages_max) {}

  // False: there was no room, and the oldest one gave way.
  bool Push(WebhookMessage message);
  // The one to be sent now; nullptr: none waits. It stays until Remove.
  const WebhookMessage* Next();
  // The one that Next has answered is dealt with.
  void Remove();
  // It could not be sent: the next finding's turn, so that one that is never taken holds up none.
  void Rotate();
  // Those of a partition that is another member's now.
  void Forget(int32_t partition);

  size_t size() const { return messages_.size(); }
  // positions: what was read of each partition. Less what waits.
  std::map<int32_t, int64_t> Handled(std::map<int32_t, int64_t> positions) const;

 private:
  bool IsFirstOfItsFinding(size_t index) const;

  const size_t messages_max_;
  std::deque<WebhookMessage> messages_;  // oldest first
  size_t turn_ = 0;                      // index of the one that Next has answered
};

}  // namespace eroica
