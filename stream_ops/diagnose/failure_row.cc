#include "stream_ops/diagnose/failure_row.h"

#include "state_store/key_encoding.h"

namespace eroica {

std::optional<UnexplainedFailure> UnexplainedBy(const ProcessEnd& end) {
  if (!end.job_failure || end.job_failure->others_untold) return std::nullopt;
  return UnexplainedFailure{.signal = end.signal, .failure = *end.job_failure};
}

std::string EncodeFailureRow(const UnexplainedFailure& failure) {
  return KeyWriter()
      .PutInt64(failure.signal)
      .PutInt64(failure.failure.exit_code)
      .PutInt64(failure.failure.signal)
      .PutUint32(failure.failure.ranks)
      .PutInt64(failure.failure.within_ns)
      .key();
}

std::optional<UnexplainedFailure> DecodeFailureRow(std::string_view row) {
  KeyReader reader(row);
  const auto signal = reader.TakeInt64();
  const auto exit_code = reader.TakeInt64();
  const auto launcher_signal = reader.TakeInt64();
  const auto ranks = reader.TakeUint32();
  const auto within_ns = reader.TakeInt64();
  if (!within_ns || !reader.AtEnd()) return std::nullopt;
  return UnexplainedFailure{.signal = static_cast<int32_t>(*signal),
                            .failure = {.exit_code = static_cast<int32_t>(*exit_code),
                                        .signal = static_cast<int32_t>(*launcher_signal),
                                        .ranks = *ranks,
                                        .within_ns = *within_ns}};
}

}  // namespace eroica
