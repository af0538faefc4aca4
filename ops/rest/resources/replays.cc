// /v1/replays: the past of a job through the stages once more, on the node that is asked.
#include "ops/rest/replays.h"

#include <fmt/format.h>

#include <array>

#include "ops/rest/body.h"
#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"
#include "schemas/finding_json.h"

namespace eroica {

std::string_view ToString(ReplayState state) {
  constexpr std::array<std::string_view, kReplayStateCount> kNames = {
      "queued", "running", "finished", "failed", "cancelled", "interrupted"};
  return kNames[static_cast<size_t>(state)];
}

namespace {

constexpr size_t kOptionsMax = 32;

Json TimeOrNull(const std::optional<int64_t>& time_ms) {
  return time_ms ? Json(TimeOfMs(*time_ms)) : Json(nullptr);
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json ReplayJson(const ReplayStatus& replay, const std::string& node) {
  const bool finished = replay.state == ReplayState::kFinished;
  return {{"replay", replay.id},
          {"node", node},
          {"state", ToString(replay.state)},
          {"job", TextOrNull(replay.order.job)},
          {"from", TimeOrNull(replay.order.from_ms)},
          {"to", TimeOrNull(replay.order.to_ms)},
          {"options", replay.order.options},
          {"by", replay.by},
          {"asked", TimeOfMs(replay.asked_ms)},
          {"started", TimeOrNull(replay.started_ms)},
          {"ended", TimeOrNull(replay.ended_ms)},
          {"records_done", replay.done},
          {"records_total", replay.total},
          {"records_missing", replay.records_missing},
          {"findings", finished ? Json(replay.findings_total) : Json(nullptr)},
          {"verdict", TextOrNull(replay.verdict)},
          {"nothing_because", TextOrNull(replay.nothing_because)},
          {"left_open", replay.left_open},
          {"folder", replay.folder},
          {"error", TextOrNull(replay.error)}};
}

HttpResponse ReplayAnswer(const RestSources& sources, const ReplayStatus& replay, int status) {
  HttpResponse response = Answer({{"replay", ReplayJson(replay, sources.node().name)}}, status);
  if (status != 200) response.Add("Location", "/v1/replays/" + replay.id);
  return response;
}

HttpResponse NoReplay(const HttpRequest& request) {
  return Problem(ProblemType::kNotFound,
                 "this node has no replay of that id; the node that was asked for it has",
                 request.target);
}

ReplayOrder ReadOrder(Body& body) {
  ReplayOrder order{.job = body.Text("job", kJobCharactersMax).value_or(""),
                    .from_ms = body.TimeMs("from"),
                    .to_ms = body.TimeMs("to"),
                    .options = body.Assignments("options", kOptionsMax)};
  return order;
}

// That too many wait is for whoever asks to mend, and no failure of the node.
HttpResponse Refused(const absl::Status& status, const std::string& target) {
  if (!absl::IsResourceExhausted(status)) return Problem(status, target);
  HttpResponse refused =
      Problem(ProblemType::kTooManyRequests, std::string(status.message()), target);
  refused.Add("Retry-After", "10");
  return refused;
}

HttpResponse AskForReplay(const RestSources& sources, const HttpRequest& request,
                          const PathArguments& arguments) {
  Parameters parameters(request, arguments);
  Body body(request);
  ReplayOrder order = ReadOrder(body);
  if (auto refused = parameters.Refuse()) return *refused;
  if (auto refused = body.Refuse()) return *refused;
  if (order.from_ms && order.to_ms && *order.from_ms >= *order.to_ms)
    return Problem(ProblemType::kUnprocessable, "to must be after from", request.target);
  const absl::StatusOr<ReplayStatus> replay =
      sources.replays->Ask(std::move(order), request.caller.name);
  if (!replay.ok()) return Refused(replay.status(), request.target);
  AuditEntry entry{.id = "",
                   .at_ms = sources.wall_clock_ms(),
                   .by = request.caller.name,
                   .action = AuditAction::kReplay,
                   .target = replay->order.job,
                   .detail = fmt::format("replay {}", replay->id)};
  // What is not on record is not done.
  if (const absl::Status status = sources.audit->Append(&entry); !status.ok()) {
    sources.replays->Cancel(replay->id).IgnoreError();
    return Problem(status, request.target);
  }
  constexpr int kAccepted = 202;
  return ReplayAnswer(sources, *replay, kAccepted);
}

HttpResponse CancelReplay(const RestSources& sources, const HttpRequest& request,
                          const PathArguments& arguments) {
  Parameters parameters(request, arguments);
  Body body(request);
  const std::string id = parameters.Name("replay");
  if (auto refused = parameters.Refuse()) return *refused;
  if (auto refused = body.Refuse()) return *refused;
  const absl::Status status = sources.replays->Cancel(id);
  if (absl::IsNotFound(status)) return NoReplay(request);
  if (!status.ok()) return Problem(status, request.target);
  const std::optional<ReplayStatus> replay = sources.replays->Find(id);
  return replay ? ReplayAnswer(sources, *replay, 200) : NoReplay(request);
}

HttpResponse ListReplays(const RestSources& sources, const HttpRequest&, Parameters& parameters) {
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const std::vector<ReplayStatus> replays = sources.replays->List();
  std::vector<std::string> keys;
  for (const ReplayStatus& replay : replays) keys.push_back(replay.id);
  const std::string node = sources.node().name;
  PageOfItems taken =
      TakePage(keys, page, [&](size_t place) { return ReplayJson(replays[place], node); });
  return Answer(
      {{"replays", std::move(taken.items)}, {"next_cursor", std::move(taken.next_cursor)}});
}

HttpResponse ShowReplay(const RestSources& sources, const HttpRequest& request,
                        Parameters& parameters) {
  const std::string id = parameters.Name("replay");
  if (auto refused = parameters.Refuse()) return *refused;
  const std::optional<ReplayStatus> replay = sources.replays->Find(id);
  return replay ? ReplayAnswer(sources, *replay, 200) : NoReplay(request);
}

HttpResponse ListReplayFindings(const RestSources& sources, const HttpRequest& request,
                                Parameters& parameters) {
  const std::string id = parameters.Name("replay");
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const std::optional<ReplayStatus> replay = sources.replays->Find(id);
  if (!replay) return NoReplay(request);
  if (replay->state != ReplayState::kFinished)
    return Problem(ProblemType::kConflict,
                   fmt::format("the replay is {}: it has findings when it is finished",
                               ToString(replay->state)),
                   request.target);
  const std::vector<Finding> none;
  const std::vector<Finding>& findings = replay->findings == nullptr ? none : *replay->findings;
  std::vector<std::string> keys;
  for (const Finding& finding : findings) keys.push_back(finding.id);
  PageOfItems taken = TakePage(keys, page, [&](size_t place) {
    return Json::parse(ToJson(findings[place]), nullptr, false);
  });
  return Answer({{"replay", id},
                 {"findings_total", replay->findings_total},
                 {"findings", std::move(taken.items)},
                 {"next_cursor", std::move(taken.next_cursor)}});
}

}  // namespace

void AddReplayRoutes(Router& router, const RestSources& sources) {
  router.Post("/v1/replays",
              [&sources](const HttpRequest& request, const PathArguments& arguments) {
                return AskForReplay(sources, request, arguments);
              });
  router.Post("/v1/replays/{replay}/cancel",
              [&sources](const HttpRequest& request, const PathArguments& arguments) {
                return CancelReplay(sources, request, arguments);
              });
  AddResource(router, sources, "/v1/replays", ListReplays, false);
  AddResource(router, sources, "/v1/replays/{replay}", ShowReplay, false);
  AddResource(router, sources, "/v1/replays/{replay}/findings", ListReplayFindings, false);
}

}  // namespace eroica
