// operator new that throws std::bad_alloc where a test wants it: in one thread or in all others, at
// an allocation that the test counts to. Whoever links eroica::failing_new and names FailingNew has
// this operator new, and so have the C++ libraries that are loaded; malloc is left alone, so that C
// libraries do not notice.
#pragma once

#include <cstdint>

namespace eroica {

class FailingNew {
 public:
  enum class Where : uint8_t { kThisThread, kOtherThreads };
  static constexpr int64_t kEndless = INT64_MAX;

  // While it lives: the allocations of these threads that follow the first `spared` ones fail,
  // `failures` of them. One at a time in a process.
  explicit FailingNew(Where where, int64_t spared = 0, int64_t failures = kEndless);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // How many have failed so far.
  int64_t failed() const;
};

}  // namespace eroica
