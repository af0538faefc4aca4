// Readers of a recording for a SliceReader.
#pragma once

#include "stream_ops/log/slice_reader.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {

// log must outlive the readers.
OpenReaders ReadersOf(RecordingLog& log);

}  // namespace eroica
