#include "ops/alerts/webhook_queue.h"

#include <algorithm>
#include <utility>

#include "schemas/check.h"

namespace eroica {

bool WebhookQueue::Push(WebhookMessage message) {
  const bool has_room = messages_.size() < messages_max_;
  if (!has_room) {
    messages_.pop_front();
    turn_ = turn_ > 0 ? turn_ - 1 : 0;
  }
  messages_.push_back(std::move(message));
  return has_room;
}

bool WebhookQueue::IsFirstOfItsFinding(size_t index) const {
  const auto last = messages_.begin() + static_cast<std::ptrdiff_t>(index);
  return std::none_of(messages_.begin(), last, [&](const WebhookMessage& earlier) {
    return earlier.finding_id == messages_[index].finding_id;
  });
}

const WebhookMessage* WebhookQueue::Next() {
  if (messages_.empty()) return nullptr;
  if (turn_ >= messages_.size()) turn_ = 0;
  while (!IsFirstOfItsFinding(turn_)) turn_ = (turn_ + 1) % messages_.size();
  return &messages_[turn_];
}

void WebhookQueue::Remove() {
  EROICA_CHECK(turn_ < messages_.size());
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(turn_));
}

void WebhookQueue::Rotate() { ++turn_; }

void WebhookQueue::Forget(int32_t partition) {
  std::erase_if(messages_,
                [&](const WebhookMessage& message) { return message.partition == partition; });
  turn_ = 0;
}

std::map<int32_t, int64_t> WebhookQueue::Handled(std::map<int32_t, int64_t> positions) const {
  for (const WebhookMessage& message : messages_) {
    const auto position = positions.find(message.partition);
    if (position != positions.end()) position->second = std::min(position->second, message.offset);
  }
  return positions;
}

}  // namespace eroica
