// How the process of a rank ended, as its launcher's host could see it.
#pragma once

#include <cstdint>
#include <optional>

namespace eroica {

// The job failed, its launcher had not been told to end, and the order of the ends does not suffice
// to say why.
struct JobFailure {
  int32_t exit_code = -1;  // of the launcher, as of a process; both as they are: not known
  int32_t signal = 0;
  uint32_t ranks = 0;     // that the signal of the process ended together; 0: no process has failed
  int64_t within_ns = 0;  // from the first of these ends to the last
  // When the process had ended, the others on its host had not been told to end by that signal.
  bool others_untold = false;
  friend bool operator==(const JobFailure&, const JobFailure&) = default;
};

struct ProcessEnd {
  int32_t exit_code = -1;      // 0 to 255; -1: it ended by a signal, or how is not known
  int32_t signal = 0;          // that ended it; 0: none, or how is not known
  int64_t started_ns = 0;      // when the process attached; 0: not known
  bool out_of_memory = false;  // the kernel ended a process of its control group for memory then
  std::optional<JobFailure> job_failure = {};

  bool is_known() const { return exit_code >= 0 || signal > 0; }
  // By itself and with success.
  bool is_orderly() const { return exit_code == 0; }
  friend bool operator==(const ProcessEnd&, const ProcessEnd&) = default;
};
inline constexpr int32_t kHighestExitCode = 255;
inline constexpr int32_t kHighestSignal = 64;

}  // namespace eroica
