// Puts records into a log and reads whole topics out of it, for tests.
#pragma once

#include <string>
#include <vector>

#include "stream_ops/log/log.h"

namespace eroica::testing {

// Fails the test where the log refuses.
void AppendAll(Log& log, std::vector<ProducerRecord> records);
// Every record that the topic holds now, by partition and offset.
std::vector<ConsumerRecord> ReadTopic(Log& log, const std::string& topic);
// Their values, sorted: what the topic says, in whatever order it came.
std::vector<std::string> SortedValues(Log& log, const std::string& topic);
// The same without repetitions.
std::vector<std::string> DistinctValues(Log& log, const std::string& topic);

}  // namespace eroica::testing
