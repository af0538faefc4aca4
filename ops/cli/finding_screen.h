// Findings as they are printed one after another while they come: in full when one opens, a line
// when it goes on or is resolved. One thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <set>
#include <string>

#include "ops/cli/finding_text.h"
#include "schemas/finding.h"

namespace eroica {

enum class FindingForm : uint8_t { kFull, kBrief, kJson };

class FindingScreen {
 public:
  // out must outlive the screen.
  FindingScreen(std::ostream* out, FindingForm form, FindingTextOptions options)
      : out_(out), form_(form), options_(options) {}

  // A version of a finding; of each the versions come in order.
  void Show(const Finding& finding);

 private:
  std::ostream* const out_;
  const FindingForm form_;
  const FindingTextOptions options_;
  std::set<std::string> open_;  // ids
};

}  // namespace eroica
