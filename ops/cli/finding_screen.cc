#include "ops/cli/finding_screen.h"

#include "schemas/finding_json.h"

namespace eroica {

void FindingScreen::Show(const Finding& finding) {
  constexpr size_t kOpenMost = 65'536;  // beyond, an update may be shown in full once more
  const bool is_open = finding.state != FindingState::kResolved;
  if (open_.size() >= kOpenMost) open_.clear();
  const bool opens = is_open && open_.insert(finding.id).second;
  if (!is_open) open_.erase(finding.id);
  if (form_ == FindingForm::kJson) {
    *out_ << ToJson(finding) << "\n";
  } else if (form_ == FindingForm::kFull && opens) {
    *out_ << FindingText(finding, options_) << "\n";
  } else {
    *out_ << TimedFindingLine(finding, options_.color);
  }
  out_->flush();
}

}  // namespace eroica
