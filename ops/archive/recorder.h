// Copies a slice into a folder, as a recording with a manifest, or into the topics of a log; and
// holds such a recording against its manifest. One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "ops/archive/manifest.h"
#include "ops/archive/slice_copy.h"
#include "stream_ops/log/log_slice.h"

namespace eroica {

struct RecordRequest {
  LogSlice slice;
  Manifest manifest;  // what is known before the first record is read
  // Of the entries at the cut ends of the source, which manifest.lost names. More that is damaged
  // is an error.
  uint64_t lost_bytes = 0;
  std::function<bool(int64_t done)> progress = [](int64_t) { return true; };
};

// folder: may be there if it is empty, or if a copy into it was not finished: that one is begun
// anew. kAlreadyExists for any other. The topics keep their settings, but for retention.ms: nothing
// is deleted from an incident.
absl::StatusOr<Manifest> RecordIntoFolder(Log& source, const OpenReaders& readers,
                                          RecordRequest request, const std::string& folder);

// target_of: names the topic for one of the source. Topics that are not there are made, with as
// many partitions as the source has; they keep the timestamps, and the records for ever. In those
// that are there a broker may stamp anew. kFailedPrecondition for one with fewer partitions than
// are needed.
absl::StatusOr<Manifest> RecordIntoTopics(Log& source, const OpenReaders& readers,
                                          RecordRequest request, Log& target,
                                          std::function<std::string(const std::string&)> target_of);

// Reads all of the recording. Answers with its manifest; kDataLoss names every partition that is
// not as it says, kNotFound: there is none.
absl::StatusOr<Manifest> VerifyRecording(
    const std::string& folder, const std::function<bool(int64_t done, int64_t total)>& progress);

}  // namespace eroica
