// Says why a job stands still: which rank never launched, is gone, entered another operation than
// its peers or does not get on by itself, or that a transfer stands still in which all take part;
// and who only waits. Claim, evidence, silence and sources: README.md beside this.
#pragma once

#include <string_view>
#include <vector>

#include "diagnosis/hang/hang_view.h"
#include "schemas/finding.h"

namespace eroica {

class HangOperator {
 public:
  static constexpr std::string_view kName = "hang";
  static constexpr std::string_view kVersion = "1";

  // Pure: same view, same findings. One a kind of root; complete but for state and wall clock.
  // Silent where nobody waits for anybody.
  std::vector<Finding> Evaluate(const HangView& view) const;
};

}  // namespace eroica
