// What people did about a finding: somebody looks after it, or wants to hear no more of it for a
// while. Folded from the audit topic (ops/findings/audit_entry.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace eroica {

struct Annotation {
  struct Action {
    std::string by;  // the name of a token
    int64_t at_ms = 0;
    std::string note;
    friend bool operator==(const Action&, const Action&) = default;
  };
  struct Mute {
    Action action;
    int64_t until_ms = 0;
    friend bool operator==(const Mute&, const Mute&) = default;
  };
  std::optional<Action> acknowledged;
  std::optional<Mute> muted;

  bool IsMuted(int64_t now_ms) const { return muted && now_ms < muted->until_ms; }
  friend bool operator==(const Annotation&, const Annotation&) = default;
};

}  // namespace eroica
