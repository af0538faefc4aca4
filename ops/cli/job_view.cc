#include "ops/cli/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "ops/rest/json_fields.h"
#include "ops/rest/target.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kPagesMost = 1'000;

std::string JobTarget(const JobView& view) { return "/v1/jobs/" + EncodeComponent(view.job.name); }

Severity SeverityNamed(const std::string& name) {
  for (int i = 0; i < kSeverityCount; ++i) {
    if (ToString(static_cast<Severity>(i)) == name) return static_cast<Severity>(i);
  }
  return Severity::kInfo;
}

bool Deviates(const ViewedRank& rank) {
  if (rank.silent) return true;
  return rank.peers_busy_ns > 0 &&
         std::abs(rank.excess_ns) > JobView::kDeviates * rank.peers_busy_ns;
}

ViewedRank RankOf(const json& rank) {
  return {.rank = CountIn<uint32_t>(rank, "rank"),
          .host = TextIn(rank, "host"),
          .silent = FlagIn(rank, "silent"),
          .step_ns = NumberIn(rank, "step_ns"),
          .busy_ns = NumberIn(rank, "busy_ns"),
          .wait_ns = NumberIn(rank, "wait_ns"),
          .peers_busy_ns = NumberIn(rank, "peers_busy_ns"),
          .excess_ns = NumberIn(rank, "excess_ns")};
}

// The one at this place of a column; null where there is none.
const json& ValueAt(const json& column, size_t place) {
  static const json kNull;
  return column.is_array() && place < column.size() ? column[place] : kNull;
}

double NumberAt(const json& column, size_t place) {
  const json& value = ValueAt(column, place);
  return value.is_number() ? value.get<double>() : 0;
}

// Of a node that was started anew the job is known, and its windows come with the next ones.
absl::Status Unless404(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

ordered_json StepJson(const ViewedStep& step) {
  return {{"step", step.step},
          {"median_ns", step.median_ns},
          {"busy_median_ns", step.busy_median_ns},
          {"busy_max_ns", step.busy_max_ns},
          {"busiest_rank", step.busiest_rank}};
}

ordered_json RankJson(const ViewedRank& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"silent", rank.silent},
          {"step_ns", rank.step_ns},
          {"busy_ns", rank.busy_ns},
          {"wait_ns", rank.wait_ns},
          {"peers_busy_ns", rank.peers_busy_ns},
          {"excess_ns", rank.excess_ns}};
}

}  // namespace

std::string ToJson(const JobView& view) {
  ordered_json steps = ordered_json::array();
  for (const ViewedStep& step : view.steps) steps.push_back(StepJson(step));
  ordered_json findings = ordered_json::array();
  for (const ViewedFinding& finding : view.findings)
    findings.push_back(
        {{"id", finding.id}, {"severity", ToString(finding.severity)}, {"title", finding.title}});
  ordered_json ranks = ordered_json::array();
  for (const ViewedRank& rank : view.deviating) ranks.push_back(RankJson(rank));
  ordered_json waits = ordered_json::array();
  for (const ViewedWait& wait : view.waits)
    waits.push_back({{"waiting", wait.waiting},
                     {"waited_for", wait.waited_for},
                     {"wait_ns", wait.wait_ns},
                     {"point_to_point", wait.point_to_point}});
  ordered_json held = ordered_json::array();
  for (const ViewedHold& hold : view.held)
    held.push_back({{"stage", hold.stage}, {"records", hold.records}, {"seconds", hold.seconds}});
  const ordered_json object{{"job", ordered_json::parse(ToJson(view.job), nullptr, false)},
                            {"other_jobs", view.other_jobs},
                            {"steps", std::move(steps)},
                            {"findings_open", view.findings_open},
                            {"findings", std::move(findings)},
                            {"ranks_shown", view.ranks_shown},
                            {"ranks_deviating", view.ranks_deviating},
                            {"deviating", std::move(ranks)},
                            {"waits", std::move(waits)},
                            {"held", std::move(held)}};
  return PrintableJson(object.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

absl::StatusOr<JobView> JobViewReader::Read() {
  JobView view;
  // First: where no job is known, that may be why.
  if (absl::Status status = ReadHeld(&view); !status.ok()) return status;
  if (absl::Status status = ChooseJob(&view); !status.ok()) return status;
  if (view.job.name.empty()) return view;
  if (absl::Status status = ReadFindings(&view); !status.ok()) return status;
  const bool is_new = view.job.name != last_.job.name ||
                      view.job.newest_window != last_.job.newest_window ||
                      view.job.watermark_ms != last_.job.watermark_ms || last_.ranks_shown == 0;
  if (is_new) {
    for (const auto read :
         {&JobViewReader::ReadSteps, &JobViewReader::ReadRanks, &JobViewReader::ReadWaits}) {
      if (absl::Status status = Unless404((this->*read)(&view)); !status.ok()) return status;
    }
  } else {
    view.steps = last_.steps;
    view.deviating = last_.deviating;
    view.ranks_deviating = last_.ranks_deviating;
    view.ranks_shown = last_.ranks_shown;
    view.waits = last_.waits;
  }
  last_ = view;
  return view;
}

absl::Status JobViewReader::ReadHeld(JobView* view) const {
  const absl::StatusOr<std::string> body = client_.Get("/v1/status");
  if (!body.ok()) return body.status();
  const json answer = ParseForeignJson(*body);
  for (const json& stage : MemberOf(answer, "stages")) {
    const ViewedHold hold{.stage = TextIn(stage, "stage"),
                          .records = CountIn<uint64_t>(stage, "held_records"),
                          .seconds = CountIn<uint64_t>(stage, "held_seconds")};
    if (hold.records > 0) view->held.push_back(hold);
  }
  return absl::OkStatus();
}

absl::Status JobViewReader::ChooseJob(JobView* view) const {
  absl::StatusOr<NodeJobs> listed = ListJobs(client_);
  if (!listed.ok()) return listed.status();
  std::vector<ListedJob>& jobs = listed->jobs;
  auto chosen = jobs.end();
  if (wanted_.empty()) {
    chosen = std::ranges::find(jobs, "running", &ListedJob::state);
    if (chosen == jobs.end()) chosen = jobs.begin();
  } else {
    chosen = std::ranges::find(jobs, wanted_, &ListedJob::name);
    if (chosen == jobs.end())
      return absl::NotFoundError(
          fmt::format("the node knows no job '{}'; `eroica jobs --node {}` lists them", wanted_,
                      client_.url()));
  }
  if (chosen == jobs.end()) return absl::OkStatus();
  view->job = *chosen;
  view->other_jobs = jobs.size() - 1;
  return absl::OkStatus();
}

absl::Status JobViewReader::ReadFindings(JobView* view) const {
  const absl::StatusOr<std::string> body =
      client_.Get(fmt::format("/v1/findings?state=open&limit={}&job={}", JobView::kFindings,
                              EncodeComponent(view->job.name)));
  if (!body.ok()) return body.status();
  const json page = ParseForeignJson(*body);
  for (const json& finding : MemberOf(page, "findings")) {
    if (view->findings.size() == JobView::kFindings) break;
    view->findings.push_back({.id = TextIn(finding, "id"),
                              .severity = SeverityNamed(TextIn(finding, "severity")),
                              .title = TextIn(finding, "title")});
  }
  for (const uint64_t count : view->job.open_findings) view->findings_open += count;
  view->findings_open = std::max<uint64_t>(view->findings_open, view->findings.size());
  return absl::OkStatus();
}

absl::Status JobViewReader::ReadSteps(JobView* view) const {
  const absl::StatusOr<std::string> body = client_.Get(JobTarget(*view) + "/steps");
  if (!body.ok()) return body.status();
  const json answer = ParseForeignJson(*body);
  const json& columns = MemberOf(answer, "steps");
  const json& numbers = MemberOf(columns, "step");
  const size_t count = numbers.is_array() ? numbers.size() : 0;
  for (size_t i = count - std::min(count, JobView::kSteps); i < count; ++i) {
    view->steps.push_back(
        {.step = CountOf<int64_t>(ValueAt(numbers, i)),
         .median_ns = NumberAt(MemberOf(columns, "median_ns"), i),
         .busy_median_ns = NumberAt(MemberOf(columns, "busy_median_ns"), i),
         .busy_max_ns = NumberAt(MemberOf(columns, "busy_max_ns"), i),
         .busiest_rank = CountOf<uint32_t>(ValueAt(MemberOf(columns, "busiest_rank"), i))});
  }
  return absl::OkStatus();
}

absl::Status JobViewReader::ReadRanks(JobView* view) const {
  std::string cursor;
  size_t pages = 0;
  do {
    const absl::StatusOr<std::string> body =
        client_.Get(JobTarget(*view) + "/ranks?limit=1000" +
                    (cursor.empty() ? "" : "&cursor=" + EncodeComponent(cursor)));
    if (!body.ok()) return body.status();
    const json page = ParseForeignJson(*body);
    for (const json& one : MemberOf(page, "ranks")) {
      const ViewedRank rank = RankOf(one);
      ++view->ranks_shown;
      if (Deviates(rank)) view->deviating.push_back(rank);
    }
    cursor = TextIn(page, "next_cursor");
  } while (!cursor.empty() && ++pages < kPagesMost);
  view->ranks_deviating = view->deviating.size();
  std::ranges::stable_sort(view->deviating, [](const ViewedRank& a, const ViewedRank& b) {
    return std::tuple(!a.silent, -std::abs(a.excess_ns)) <
           std::tuple(!b.silent, -std::abs(b.excess_ns));
  });
  if (view->deviating.size() > JobView::kRanks) view->deviating.resize(JobView::kRanks);
  return absl::OkStatus();
}

absl::Status JobViewReader::ReadWaits(JobView* view) const {
  const absl::StatusOr<std::string> body =
      client_.Get(fmt::format("{}/waits?limit={}", JobTarget(*view), JobView::kWaits));
  if (!body.ok()) return body.status();
  const json answer = ParseForeignJson(*body);
  for (const json& wait : MemberOf(answer, "waits")) {
    if (view->waits.size() == JobView::kWaits) break;
    view->waits.push_back({.waiting = CountIn<uint32_t>(wait, "waiting"),
                           .waited_for = CountIn<uint32_t>(wait, "waited_for"),
                           .wait_ns = NumberIn(wait, "wait_ns"),
                           .point_to_point = FlagIn(wait, "point_to_point")});
  }
  return absl::OkStatus();
}

}  // namespace eroica
