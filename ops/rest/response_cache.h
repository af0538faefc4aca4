// Answers that hold until the jobs or the findings change, by target. Bounded; what has not been
// asked for longest leaves first. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "ops/rest/response.h"
#include "schemas/mutex.h"

namespace eroica {

// An answer as it is kept: with its entity tag, and once somebody takes gzip, in that form, too.
struct CachedResponse {
  HttpResponse response;
  std::string etag;
  std::shared_ptr<const std::string> gzip;  // nullptr: not worth it
};

class ResponseCache {
 public:
  explicit ResponseCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // As of this version of the sources, or nullptr.
  std::shared_ptr<const CachedResponse> Find(const std::string& target, uint64_t version);
  void Keep(const std::string& target, uint64_t version,
            std::shared_ptr<const CachedResponse> response);
  uint64_t hits() const;

 private:
  struct Entry {
    std::string target;
    uint64_t version = 0;
    std::shared_ptr<const CachedResponse> response;
    size_t bytes() const;
  };
  void Erase(std::list<Entry>::iterator entry) EROICA_REQUIRES(mutex_);

  const size_t bytes_max_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ EROICA_GUARDED_BY(mutex_);  // the one that was asked for last first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_target_ EROICA_GUARDED_BY(mutex_);
  size_t bytes_ EROICA_GUARDED_BY(mutex_) = 0;
  uint64_t hits_ EROICA_GUARDED_BY(mutex_) = 0;
};

}  // namespace eroica
