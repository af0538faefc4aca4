// Which findings are to be shown, and in which order.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/finding.h"

namespace eroica {

struct FindingFilter {
  std::string job;       // empty: any
  int64_t since_ms = 0;  // last seen then or later
  Severity least = Severity::kInfo;
  bool only_open = false;
  std::vector<FindingKind> kinds;  // empty: any
  int32_t rank = -1;               // is a culprit; -1: any

  bool Wants(const Finding& finding) const;
};

// --job, --since, --severity, --open, --kind and --rank. filter lives as long as the command may be
// parsed.
void AddFilterFlags(CLI::App& command, FindingFilter* filter);

// Open ones first, the gravest first among them, then those that cost most.
void SortByWeight(std::vector<Finding>* findings);

}  // namespace eroica
