// Which versions of findings are news to somebody who is alerted: opened, graver than before,
// resolved. What merely goes on is none. Folded from the versions in the order of the topic, so
// that after a restart the same ones are news. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "schemas/finding.h"

namespace eroica {

enum class AlertNews : uint8_t { kNone = 0, kOpened = 1, kRaised = 2, kResolved = 3 };

class AlertLedger {
 public:
  // Findings below `least` are news when they reach it.
  explicit AlertLedger(Severity least) : least_(least) {}

  AlertNews Take(int32_t partition, const Finding& finding);
  // All that is known of the partition's findings.
  void Forget(int32_t partition);
  size_t size() const { return open_.size(); }  // findings that somebody was alerted of

 private:
  struct Alerted {
    Severity severity;
    int32_t partition;
  };
  const Severity least_;
  std::map<std::string, Alerted> open_;  // by id
};

}  // namespace eroica
