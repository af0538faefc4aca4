// What somebody asked a node to do, and what `eroica act` does, as the audit topic keeps it:
// PREFIX.audit, a JSON object a record, kept for topics.audit_retention_ms. What people did about
// findings is folded from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ops/findings/annotation.h"

namespace eroica {

enum class AuditAction : uint8_t {
  kAcknowledge = 0,
  kMute = 1,
  kUnmute = 2,
  kCapture = 3,
  kReplay = 4,
  kAct = 5,  // of `eroica act`, before it does it
};
inline constexpr int kAuditActionCount = 6;
std::string_view ToString(AuditAction action);

struct AuditEntry {
  std::string id;  // of this entry
  int64_t at_ms = 0;
  std::string by;  // the name of a token
  AuditAction action = AuditAction::kAcknowledge;
  std::string target;    // a finding's id, or a job
  std::string detail;    // the note, or what was asked for
  int64_t until_ms = 0;  // of a mute
  friend bool operator==(const AuditEntry&, const AuditEntry&) = default;
};

std::string AuditTopicName(std::string_view prefix);

std::string EncodeAuditEntry(const AuditEntry& entry);
// Nothing where it is none.
std::optional<AuditEntry> DecodeAuditEntry(std::string_view json);

// The finding's annotation after this; entries come in their order.
void Fold(const AuditEntry& entry, Annotation* annotation);

}  // namespace eroica
