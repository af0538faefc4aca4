#include "ops/rest/response_cache.h"

#include <utility>

namespace eroica {

size_t ResponseCache::Entry::bytes() const {
  constexpr size_t kOverhead = 512;
  const auto size = [](const std::shared_ptr<const std::string>& text) {
    return text == nullptr ? 0 : text->size();
  };
  return kOverhead + 2 * target.size() + size(response->response.body) + size(response->gzip);
}

void ResponseCache::Erase(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes();
  by_target_.erase(entry->target);
  entries_.erase(entry);
}

std::shared_ptr<const CachedResponse> ResponseCache::Find(const std::string& target,
                                                          uint64_t version) {
  const MutexLock lock(mutex_);
  const auto found = by_target_.find(target);
  if (found == by_target_.end()) return nullptr;
  if (found->second->version != version) {
    Erase(found->second);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  ++hits_;
  return found->second->response;
}

void ResponseCache::Keep(const std::string& target, uint64_t version,
                         std::shared_ptr<const CachedResponse> response) {
  Entry entry{.target = target, .version = version, .response = std::move(response)};
  const size_t bytes = entry.bytes();
  if (bytes > bytes_max_ / 2) return;
  const MutexLock lock(mutex_);
  if (const auto known = by_target_.find(target); known != by_target_.end()) Erase(known->second);
  while (bytes_ + bytes > bytes_max_) Erase(std::prev(entries_.end()));
  bytes_ += bytes;
  entries_.push_front(std::move(entry));
  by_target_[target] = entries_.begin();
}

uint64_t ResponseCache::hits() const {
  const MutexLock lock(mutex_);
  return hits_;
}

}  // namespace eroica
