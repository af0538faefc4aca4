// What people ask a node to do: look after a finding, hear no more of it, capture more of a job.
// Every action is in the audit topic before it is done.
#include "schemas/control.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/rest/body.h"
#include "ops/rest/json_fields.h"
#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/finding_json.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr size_t kNoteCharactersMax = 2'000;
constexpr int64_t kMsPerMinute = 60'000;

HttpResponse FindingAnswer(const RestSources& sources, const std::string& id) {
  const FindingPtr finding = sources.findings->Find(id);
  if (finding == nullptr) return Problem(ProblemType::kNotFound, "the finding has just left", "");
  return JsonResponse(
      fmt::format(R"({{"as_of":{},"finding":{}}})",
                  AsOf(sources.findings->newest_ms(), sources.findings->caught_up()).dump(),
                  ShownFinding(*finding)));
}

// Appends what the caller asks of the finding in the path, and answers with it.
HttpResponse Annotate(const RestSources& sources, const HttpRequest& request,
                      const PathArguments& arguments, AuditAction action) {
  Parameters parameters(request, arguments);
  Body body(request);
  AuditEntry entry{.id = "",
                   .at_ms = sources.wall_clock_ms(),
                   .by = request.caller.name,
                   .action = action,
                   .target = parameters.Name("finding"),
                   .detail = body.Text("note", kNoteCharactersMax).value_or("")};
  if (action == AuditAction::kMute) {
    constexpr int64_t kYearMinutes = 365 * 24 * 60;
    const std::optional<int64_t> minutes = body.Integer("minutes", 1, kYearMinutes);
    body.Require(minutes.has_value(), "minutes");
    entry.until_ms = entry.at_ms + minutes.value_or(0) * kMsPerMinute;
  }
  if (auto refused = parameters.Refuse()) return *refused;
  if (auto refused = body.Refuse()) return *refused;
  if (sources.findings->Find(entry.target) == nullptr)
    return Problem(ProblemType::kNotFound, "there is no finding of that id", request.target);
  if (const absl::Status status = sources.audit->Append(&entry); !status.ok())
    return Problem(status, request.target);
  return FindingAnswer(sources, entry.target);
}

void AddAnnotation(Router& router, const RestSources& sources, const std::string& name,
                   AuditAction action) {
  router.Post("/v1/findings/{finding}/" + name,
              [&sources, action](const HttpRequest& request, const PathArguments& arguments) {
                return Annotate(sources, request, arguments, action);
              });
}

constexpr int64_t kStepMax = (int64_t{1} << 53) - 1;  // what JSON's numbers hold for sure

// Of the newest window that the node which has the job answered with.
std::optional<int64_t> LastStepOf(const std::string& answer) {
  const auto parsed = ParseForeignJson(answer);
  const auto& windows = MemberOf(parsed, "windows");
  if (!windows.is_array() || windows.empty()) return std::nullopt;
  const auto& step = MemberOf(windows[0], "last_step");
  if (!step.is_number_unsigned() || step.get<uint64_t>() >= kStepMax) return std::nullopt;
  return step.get<int64_t>();
}

// The first step of the job that no window has shown yet; nothing where no node knows.
std::optional<int64_t> NextStepOf(const RestSources& sources, const HttpRequest& request,
                                  const std::string& job) {
  std::optional<int64_t> last;
  if (const auto shown = sources.board->Find(JobId(job)); shown != nullptr)
    last = shown->newest.last_step;
  for (const OthersAnswer& other : request.others)
    if (!last && other.body) last = LastStepOf(*other.body);
  if (!last || *last < 0) return std::nullopt;
  return *last + 1;
}

// What the body asks of the job's producers; its errors are in the body. Without a first step it
// begins with the next one, without a last one it is kStepsOtherwise long.
Control ReadCapture(Body& body, const RestSources& sources, const HttpRequest& request,
                    const std::string& job) {
  constexpr int64_t kStepsOtherwise = 32;
  constexpr int64_t kWeekMinutes = 7 * 24 * 60;
  constexpr int64_t kHourMinutes = 60;
  const int64_t minutes = body.Integer("expires_minutes", 1, kWeekMinutes).value_or(kHourMinutes);
  Control control{.job = JobId(job),
                  .requester = request.caller.name,
                  .expires_at_ns = (sources.wall_clock_ms() + minutes * kMsPerMinute) * kNsPerMs};
  if (body.Has("off")) {
    if (!body.Flag("off")) body.Fail("off is true, or left out");
    control.capture_level = CaptureLevel::kOff;
    return control;
  }
  const std::optional<int64_t> level = body.Integer("level", 0, kCaptureLevelCount - 1);
  const std::optional<int64_t> first = body.Integer("first_step", 0, kStepMax);
  const std::optional<int64_t> last = body.Integer("last_step", 0, kStepMax);
  body.Require(level.has_value(), "level (or off)");
  control.capture_level = static_cast<CaptureLevel>(level.value_or(0));
  control.first_step = first.value_or(NextStepOf(sources, request, job).value_or(-1));
  control.last_step = last.value_or(
      std::min(kStepMax, std::max<int64_t>(0, control.first_step) + kStepsOtherwise) - 1);
  return control;
}

HttpResponse Capture(const RestSources& sources, const HttpRequest& request,
                     const PathArguments& arguments) {
  Parameters parameters(request, arguments);
  Body body(request);
  const std::string job = parameters.JobName();
  const Control control = ReadCapture(body, sources, request, job);
  if (auto refused = parameters.Refuse()) return *refused;
  if (auto refused = body.Refuse()) return *refused;
  if (control.first_step < 0)
    return Problem(ProblemType::kUnprocessable, "give first_step: no node knows how far the job is",
                   request.target);
  if (control.last_step < control.first_step)
    return Problem(ProblemType::kUnprocessable, "last_step lies before first_step", request.target);
  const std::string asked =
      control.capture_level == CaptureLevel::kOff
          ? "off"
          : fmt::format("level {} in steps {} to {}", static_cast<int>(control.capture_level),
                        control.first_step, control.last_step);
  AuditEntry entry{.id = "",
                   .at_ms = sources.wall_clock_ms(),
                   .by = request.caller.name,
                   .action = AuditAction::kCapture,
                   .target = job,
                   .detail = asked};
  if (const absl::Status status = sources.audit->Append(&entry); !status.ok())
    return Problem(status, request.target);
  if (const absl::Status status = sources.request_capture(control); !status.ok())
    return Problem(status, request.target);
  constexpr int kAccepted = 202;
  return Answer({{"audit_id", entry.id},
                 {"detail", fmt::format("asked the producers of {} for {}", job, asked)}},
                kAccepted);
}

Json EntryJson(const AuditEntry& entry) {
  return {{"audit_id", entry.id},   {"at", TimeOfMs(entry.at_ms)},
          {"by", entry.by},         {"action", ToString(entry.action)},
          {"target", entry.target}, {"detail", entry.detail}};
}

HttpResponse ListAudit(const RestSources& sources, const HttpRequest& request,
                       const PathArguments& arguments) {
  Parameters parameters(request, arguments);
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const std::vector<AuditEntry> entries = sources.audit->Entries();
  std::vector<std::string> keys;
  for (const AuditEntry& entry : entries) keys.push_back(entry.id);
  PageOfItems taken = TakePage(keys, page, [&](size_t place) { return EntryJson(entries[place]); });
  return Answer(
      {{"entries", std::move(taken.items)}, {"next_cursor", std::move(taken.next_cursor)}});
}

}  // namespace

void AddControlRoutes(Router& router, const RestSources& sources) {
  AddAnnotation(router, sources, "acknowledge", AuditAction::kAcknowledge);
  AddAnnotation(router, sources, "mute", AuditAction::kMute);
  AddAnnotation(router, sources, "unmute", AuditAction::kUnmute);
  router.Post("/v1/jobs/{job}/capture",
              [&sources](const HttpRequest& request, const PathArguments& arguments) {
                return Capture(sources, request, arguments);
              });
  router.Get(
      "/v1/audit", Access::kControl,
      [&sources](const HttpRequest& request, const PathArguments& arguments) {
        return ListAudit(sources, request, arguments);
      },
      false);
}

}  // namespace eroica
