#include "ops/cli/stored_findings.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "schemas/codec.h"

namespace eroica {

absl::StatusOr<StoredFindings> ReadStoredFindings(const StateStore& store, const std::string& job) {
  StoredFindings stored;
  Decoder decoder;
  const absl::Status scanned =
      store.Scan(Table::kFindings, "", [&](std::string_view, std::string_view value) {
        Finding finding;
        if (decoder.Decode(std::as_bytes(std::span(value.data(), value.size())), &finding) !=
            DropReason::kNone) {
          ++stored.malformed;
        } else if (job.empty() || finding.job.value == job) {
          stored.findings.push_back(std::move(finding));
        }
        return true;
      });
  if (!scanned.ok()) return scanned;
  const auto order = [](const Finding& f) { return std::tie(f.job.value, f.first_window, f.id); };
  std::sort(stored.findings.begin(), stored.findings.end(),
            [&](const Finding& a, const Finding& b) { return order(a) < order(b); });
  return stored;
}

}  // namespace eroica
