// How often one address may ask: a token bucket an address, of which a bounded number is known.
// One thread (the server's).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace eroica {

class RateLimit {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // per_second: 0 is no limit. A burst of `burst` is let through at once.
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // Takes one from the address's bucket; false: it is empty.
  bool Take(const std::string& address, TimePoint now);
  size_t addresses() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    TimePoint at;
  };
  // Those that are full again say no more than those that nobody has seen.
  void ForgetFull(TimePoint now);
  double Filled(const Bucket& bucket, TimePoint now) const;

  const double per_second_;
  const double burst_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace eroica
