// The job and the window that a path names, as the board has them, or the problem to answer with.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>

#include "ops/rest/parameters.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/sources.h"
#include "schemas/window_name.h"

namespace eroica {

// "steps-12"; of a job's windows a name is that of one.
std::string WindowName(const WindowSummary& window);

// kNotFound; kUnavailable: a task that may have it is being restored.
absl::StatusOr<std::shared_ptr<const BoardJob>> FindBoardJob(const RestSources& sources,
                                                             const std::string& job);
// name: "latest", or that of a window; kNotFound, kInvalidArgument. The latest is the newest one of
// which the detail is held.
absl::StatusOr<std::shared_ptr<const WindowSnapshot>> FindSnapshot(const BoardJob& job,
                                                                   const std::string& name);
// The same with its detail, or kNotFound.
absl::StatusOr<std::shared_ptr<const WindowSnapshot>> FindDetailed(const BoardJob& job,
                                                                   const std::string& name);

// Reads the path's job and the query's window, for resources that show one.
struct JobWindowParameters {
  std::string job;
  std::string window;
};
JobWindowParameters ReadJobWindow(Parameters& parameters);

// The window's place and the job's watermark, as every such answer begins.
struct ShownWindow {
  std::shared_ptr<const BoardJob> job;
  std::shared_ptr<const WindowSnapshot> window;
};
// With as_of, and of a window its name, before these members.
HttpResponse AnswerOf(const BoardJob& job, Json members);
HttpResponse AnswerOf(const ShownWindow& shown, Json members);
absl::StatusOr<ShownWindow> FindShown(const RestSources& sources, const JobWindowParameters& asked);

}  // namespace eroica
