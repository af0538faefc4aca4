#include "ops/rest/resources/job_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/config/nearest_name.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

constexpr size_t kWindowBytesMax = 32;

}  // namespace

std::string WindowName(const WindowSummary& window) {
  return WindowName(window.kind, window.index);
}

absl::StatusOr<std::shared_ptr<const BoardJob>> FindBoardJob(const RestSources& sources,
                                                             const std::string& job) {
  std::shared_ptr<const BoardJob> found = sources.board->Find(JobId(job));
  if (found != nullptr) return found;
  if (const uint64_t restoring = sources.node().tasks_restoring(); restoring > 0)
    return absl::UnavailableError(fmt::format(
        "this node is restoring {} tasks, of which one may have the job: ask again in a moment",
        restoring));
  std::vector<std::string> known;
  for (const auto& one : sources.board->Jobs()) known.push_back(one->job.value);
  const std::string nearest = NearestName(job, known);
  return absl::NotFoundError(fmt::format(
      "no node has diagnosed a job {}{}; /v1/jobs lists those that are known", Printable(job),
      nearest.empty() ? "" : fmt::format(", did you mean {}?", Printable(nearest))));
}

absl::StatusOr<std::shared_ptr<const WindowSnapshot>> FindSnapshot(const BoardJob& job,
                                                                   const std::string& name) {
  if (name == "latest") {
    const auto newest = std::find_if(job.windows.rbegin(), job.windows.rend(),
                                     [](const auto& window) { return window->detail != nullptr; });
    if (newest != job.windows.rend()) return *newest;
    return absl::NotFoundError(
        "no window of the job has been diagnosed since this node began: it comes with the next");
  }
  const std::optional<NamedWindow> named = ParseWindowName(name);
  if (!named)
    return absl::InvalidArgumentError("a window is called latest, time-INDEX or steps-INDEX");
  const auto window = std::ranges::find_if(job.windows, [&](const auto& held) {
    return held->summary.kind == named->kind && held->summary.index == named->index;
  });
  if (window != job.windows.end()) return *window;
  return absl::NotFoundError(fmt::format(
      "the window {} is not held; /v1/jobs/JOB/windows lists those that are, and older ones can be "
      "replayed",
      name));
}

absl::StatusOr<std::shared_ptr<const WindowSnapshot>> FindDetailed(const BoardJob& job,
                                                                   const std::string& name) {
  absl::StatusOr<std::shared_ptr<const WindowSnapshot>> window = FindSnapshot(job, name);
  if (window.ok() && (*window)->detail == nullptr)
    return absl::NotFoundError(
        fmt::format("the details of window {} are no longer held; it can be replayed", name));
  return window;
}

JobWindowParameters ReadJobWindow(Parameters& parameters) {
  return {.job = parameters.JobName(),
          .window = parameters.Text("window", kWindowBytesMax).value_or("latest")};
}

absl::StatusOr<ShownWindow> FindShown(const RestSources& sources,
                                      const JobWindowParameters& asked) {
  absl::StatusOr<std::shared_ptr<const BoardJob>> job = FindBoardJob(sources, asked.job);
  if (!job.ok()) return job.status();
  absl::StatusOr<std::shared_ptr<const WindowSnapshot>> window = FindDetailed(**job, asked.window);
  if (!window.ok()) return window.status();
  return ShownWindow{.job = *std::move(job), .window = *std::move(window)};
}

HttpResponse AnswerOf(const BoardJob& job, Json members) {
  Json answer{{"as_of", AsOf(job.newest.timestamp_ms, true)}};
  answer.update(members);
  return Answer(answer);
}

HttpResponse AnswerOf(const ShownWindow& shown, Json members) {
  Json answer{{"as_of", AsOf(shown.job->newest.timestamp_ms, true)},
              {"window", WindowName(shown.window->summary)}};
  answer.update(members);
  return Answer(answer);
}

}  // namespace eroica
