#include "ops/cli/finding_follow.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/terminal.h"
#include "ops/cli/time_text.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Says on standard error when the log stops answering, and when it answers again: once each.
class LinkNotes {
 public:
  void Note(const absl::Status& status) {
    if (status.ok() != is_down_) return;
    is_down_ = !status.ok();
    if (IsQuiet()) return;
    const std::string now = TimeText(NowMs());
    std::cerr << (is_down_ ? fmt::format("eroica: {} the log does not answer, waiting for it: {}\n",
                                         now, Printable(std::string(status.message())))
                           : fmt::format("eroica: {} the log answers again\n", now))
              << std::flush;
  }

 private:
  bool is_down_ = false;
};

class Follower {
 public:
  Follower(FindingReader& reader, FindingFilter filter, FindingScreen* screen)
      : reader_(reader), filter_(std::move(filter)), screen_(screen) {}

  // Nothing while the log does not answer.
  absl::StatusOr<std::vector<Finding>> Poll() {
    std::vector<Finding> findings;
    const absl::Status status = reader_.Poll(std::chrono::milliseconds(250), &findings);
    if (!status.ok() && !MayPass(status)) return status;
    notes_.Note(status);
    return findings;
  }

  // All that is there, each finding in its newest version.
  absl::Status ShowCurrent() {
    std::vector<Finding> current;
    for (bool at_end = false; !at_end && !StopRequested();) {
      absl::StatusOr<std::vector<Finding>> findings = Poll();
      if (!findings.ok()) return findings.status();
      for (Finding& finding : *findings) current.push_back(std::move(finding));
      current = LatestVersions(std::move(current));
      const absl::StatusOr<bool> end = reader_.AtEnd();
      if (!end.ok() && !MayPass(end.status())) return end.status();
      notes_.Note(end.status());
      at_end = end.ok() && *end;
    }
    SortByWeight(&current);
    Show(current);
    filter_.only_open = false;  // what opens from now on may be resolved, too
    return absl::OkStatus();
  }

  void Show(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      if (!filter_.Wants(finding)) continue;
      screen_->Show(finding);
      has_shown_ = true;
    }
  }

  bool has_shown() const { return has_shown_; }

 private:
  FindingReader& reader_;
  FindingFilter filter_;
  FindingScreen* const screen_;
  LinkNotes notes_;
  bool has_shown_ = false;
};

}  // namespace

absl::StatusOr<int> FollowFindings(FindingReader& reader, const FindingFilter& filter,
                                   bool every_version, FindingScreen* screen) {
  Follower follower(reader, filter, screen);
  if (!every_version) {
    if (absl::Status status = follower.ShowCurrent(); !status.ok()) return status;
    if (!IsQuiet() && !StopRequested())
      std::cerr << "eroica: following; Ctrl-C ends it\n" << std::flush;
  }
  while (!StopRequested() && std::cout.good()) {
    const absl::StatusOr<std::vector<Finding>> findings = follower.Poll();
    if (!findings.ok()) return findings.status();
    follower.Show(*findings);
  }
  return follower.has_shown() ? kExitFindings : kExitNothingFound;
}

}  // namespace eroica
