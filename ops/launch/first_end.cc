#include "ops/launch/first_end.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include "ops/launch/asked_end.h"
#include "ops/launch/exit_status.h"

namespace eroica {
namespace {

void InsertByTime(const EndedRank& ended, std::vector<EndedRank>& ends) {
  ends.insert(std::ranges::upper_bound(ends, ended.time_ns, {}, &EndedRank::time_ns), ended);
}

// And not by a signal that a launcher sends to those that are left.
bool FailedByItself(const EndedRank& ended) {
  return ended.end.exit_code > 0 || ended.end.signal == SIGABRT;
}

// Its last note shows it in the backward pass or in a collective, or that one of these raised: it
// trained, and did not end.
bool StoodInTraining(const EndedRank& ended) {
  if (!ended.place) return false;
  constexpr std::array<std::string_view, 3> kTraining = {"torch/autograd/", "torch/distributed/",
                                                         "torch.distributed:"};
  return std::ranges::any_of(kTraining, [&](std::string_view part) {
    return ended.place->function.find(part) != std::string::npos ||
           ended.place->stack.find(part) != std::string::npos;
  });
}

JobFailure FailureOf(const JobEnd& end) {
  if (end.wait_status == 0) return {};  // it has not ended
  const ProcessEnd launcher = EndOfStatus(end.wait_status);
  return {.exit_code = launcher.exit_code, .signal = launcher.signal};
}

}  // namespace

void FirstEnd::Begin(const RankProcess& process) {
  const bool has_failed = std::ranges::any_of(
      failed_, [&](const EndedRank& ended) { return ended.process.rank == process.rank; });
  if (has_failed) {  // the launcher starts the job again
    // or a script runs one training after the other, and the status of the first is not known
    if (First().end.is_known()) {
      if (std::optional<EndedRank> first = TakeFirst({})) restarted_after_ = std::move(first);
    }
    failed_.clear();
    succeeded_.clear();
    said_ = false;
  }
  std::erase_if(succeeded_, [&](const EndedRank& ended) {  // one training after the other
    return ended.process.rank == process.rank;
  });
  running_[process.rank] = process.pid;
}

void FirstEnd::End(const EndedRank& ended) {
  const auto known = running_.find(ended.process.rank);
  if (known != running_.end() && known->second == ended.process.pid) running_.erase(known);
  InsertByTime(ended, ended.end.is_orderly() ? succeeded_ : failed_);
}

bool FirstEnd::EndedTogether(const EndedRank& ended) const {
  return ended.end.signal == failed_.front().end.signal &&
         ended.time_ns - failed_.front().time_ns <= kTogetherNs;
}

// Most of the ranks ended by one signal that asks for an end: a scheduler or a person asked, or the
// launcher, when the first of them had ended.
bool FirstEnd::WereToldToEnd() const {
  if (!AsksForEnd(failed_.front().end.signal)) return false;
  const auto together = std::ranges::count_if(
      failed_, [this](const EndedRank& ended) { return EndedTogether(ended); });
  return together > 1 && 2 * static_cast<size_t>(together) >= failed_.size() + running_.size();
}

EndedRank FirstEnd::FirstOfTogether(const JobEnd& end) const {
  EndedRank first = failed_.front();
  JobFailure& failure = first.end.job_failure.emplace(FailureOf(end));
  for (const EndedRank& ended : failed_) {
    if (!EndedTogether(ended)) continue;
    ++failure.ranks;
    failure.within_ns = ended.time_ns - first.time_ns;
  }
  failure.others_untold = first.others_untold;
  return first;
}

// A process may have ended with success where its status is not known: one that ended well before
// the first known failure is not taken for the cause.
const EndedRank& FirstEnd::FirstFailure() const {
  const EndedRank& first = failed_.front();
  if (first.end.is_known()) return first;
  const auto known =
      std::ranges::find_if(failed_, [](const EndedRank& ended) { return ended.end.is_known(); });
  const bool is_later = known != failed_.end() && known->time_ns - first.time_ns > kTogetherNs;
  return is_later ? *known : first;
}

// A rank that leaves its loop early ends with success, and the others fail soon, for they cannot
// complete a collective without it: several by themselves, or as they trained (a launcher ends the
// rest at once). After a training that is complete most ranks end with success, and one fails for
// reasons of its own.
const EndedRank& FirstEnd::First() const {
  const EndedRank& failure = FirstFailure();
  const auto left = std::ranges::count_if(
      succeeded_, [&](const EndedRank& ended) { return ended.time_ns <= failure.time_ns; });
  if (left == 0) return failure;
  const auto failed = std::ranges::count_if(failed_, FailedByItself);
  const bool several = failed > 1 && left < failed;
  return several || std::ranges::any_of(failed_, StoodInTraining) ? succeeded_.front() : failure;
}

std::optional<EndedRank> FirstEnd::TakeFirst(const JobEnd& end) {
  if (said_ || failed_.empty()) return std::nullopt;
  const bool were_told = WereToldToEnd();
  if (were_told && !failed_.front().others_untold) return std::nullopt;
  said_ = true;
  return were_told ? FirstOfTogether(end) : First();
}

// The job failed, and no order of ends says why: silence would say that it is well.
std::optional<EndedRank> FirstEnd::TakeUnexplained(const JobEnd& end) {
  if (said_ || end.told_ns != JobEnd::kNever || (failed_.empty() && succeeded_.empty()))
    return std::nullopt;
  said_ = true;
  if (!failed_.empty()) return FirstOfTogether(end);
  EndedRank last = succeeded_.back();
  last.end.job_failure = FailureOf(end);
  return last;
}

std::optional<EndedRank> FirstEnd::Take(int64_t now_ns) {
  if (restarted_after_) return std::exchange(restarted_after_, std::nullopt);
  if (failed_.empty() || running_.empty()) return std::nullopt;
  const EndedRank& first = First();
  if (!first.end.is_known() || now_ns - first.time_ns < kOthersRunNs) return std::nullopt;
  return TakeFirst({});
}

std::optional<EndedRank> FirstEnd::TakeAtEnd(const JobEnd& end) {
  if (restarted_after_) return std::exchange(restarted_after_, std::nullopt);
  if (end.wait_status == 0) return std::nullopt;
  if (!failed_.empty() && failed_.front().time_ns >= end.told_ns) return std::nullopt;
  std::optional<EndedRank> first = TakeFirst(end);
  return first ? first : TakeUnexplained(end);
}

}  // namespace eroica
