// Of all that leaves and enters a place (a rank or a host), how much moves slowly.
#pragma once

#include <cstdint>
#include <map>

namespace eroica {

class SlowShare {
 public:
  struct Way {
    uint64_t bytes = 0;
    uint64_t slow_bytes = 0;
    void Add(uint64_t more, bool slow) {
      bytes += more;
      slow_bytes += slow ? more : 0;
    }
    // So much of it, and something.
    bool IsSlow(double whole) const {
      return slow_bytes > 0 &&
             static_cast<double>(slow_bytes) >= whole * static_cast<double>(bytes);
    }
  };
  Way out;
  Way in;
};

template <typename Place>
class SlowShares {
 public:
  void Add(const Place& source, const Place& destination, uint64_t bytes, bool slow) {
    shares_[source].out.Add(bytes, slow);
    shares_[destination].in.Add(bytes, slow);
  }
  const SlowShare& operator[](const Place& place) const { return shares_.at(place); }
  const SlowShare* Find(const Place& place) const {
    const auto found = shares_.find(place);
    return found != shares_.end() ? &found->second : nullptr;
  }
  size_t size() const { return shares_.size(); }

 private:
  std::map<Place, SlowShare> shares_;
};

}  // namespace eroica
