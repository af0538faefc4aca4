#include "ops/rest/rate_limit.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr size_t kAddressesMax = 65'536;

}  // namespace

double RateLimit::Filled(const Bucket& bucket, TimePoint now) const {
  const double seconds = std::chrono::duration<double>(now - bucket.at).count();
  return std::min(burst_, bucket.tokens + seconds * per_second_);
}

void RateLimit::ForgetFull(TimePoint now) {
  std::erase_if(buckets_, [&](const auto& bucket) { return Filled(bucket.second, now) >= burst_; });
  // More addresses than anybody honest has at once: all begin anew.
  if (buckets_.size() >= kAddressesMax) buckets_.clear();
}

bool RateLimit::Take(const std::string& address, TimePoint now) {
  if (per_second_ <= 0) return true;
  if (buckets_.size() >= kAddressesMax) ForgetFull(now);
  const auto [entry, is_new] = buckets_.try_emplace(address, Bucket{.tokens = burst_, .at = now});
  Bucket& bucket = entry->second;
  bucket.tokens = Filled(bucket, now);
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace eroica
