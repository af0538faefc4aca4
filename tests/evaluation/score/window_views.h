// The windows of a run as operators see them: the same views, closed at the same moments, as the
// diagnose stage builds.
#pragma once

#include <absl/status/status.h>

#include <functional>

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/codec.h"
#include "stream_ops/diagnose/job_windows.h"
#include "stream_ops/log/log.h"

namespace eroica {

// Of one job.
class WindowViews {
 public:
  using Use = std::function<void(const CrossRankView& view)>;

  explicit WindowViews(Use use) : use_(std::move(use)) {}

  // A record of the patterns topic. kDataLoss where it cannot be decoded.
  absl::Status Add(const ConsumerRecord& record);
  // What is open, complete or not.
  void Finish();

 private:
  void Close(WindowId id);

  Use use_;
  Decoder decoder_;
  JobWindows windows_;
};

}  // namespace eroica
