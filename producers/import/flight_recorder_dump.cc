#include "producers/import/flight_recorder_dump.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <string>

#include "producers/import/byte_source.h"

namespace eroica {
namespace {

constexpr size_t kMaxDumpBytes = size_t{256} << 20;

RecordedCollective ReadEntry(const simdjson::dom::element& entry) {
  RecordedCollective recorded;
  int64_t number = 0;
  if (entry["time_created_ns"].get(number) == simdjson::SUCCESS) recorded.created_ns = number;
  if (entry["collective_seq_id"].get(number) == simdjson::SUCCESS) recorded.sequence = number;
  bool point_to_point = false;
  if (entry["is_p2p"].get(point_to_point) == simdjson::SUCCESS) recorded.point_to_point = point_to_point;
  simdjson::dom::array group;
  if (entry["process_group"].get(group) == simdjson::SUCCESS && group.size() >= 2) {
    std::string_view text;
    if (group.at(0).get(text) == simdjson::SUCCESS) recorded.group_name = text;
    if (group.at(1).get(text) == simdjson::SUCCESS) recorded.group_description = text;
  }
  return recorded;
}

}  // namespace

absl::StatusOr<std::vector<RecordedCollective>> ParseFlightRecorderDump(std::string_view content) {
  simdjson::dom::parser parser;
  simdjson::dom::element dump;
  simdjson::dom::array entries;
  if (parser.parse(content.data(), content.size(), true).get(dump) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError("not valid JSON");
  }
  if (dump["entries"].get(entries) != simdjson::SUCCESS) return absl::InvalidArgumentError("it has no list \"entries\"");
  std::vector<RecordedCollective> recorded;
  for (const simdjson::dom::element entry : entries) recorded.push_back(ReadEntry(entry));
  return recorded;
}

absl::StatusOr<std::vector<RecordedCollective>> ReadFlightRecorderDump(const std::filesystem::path& path) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = ByteSource::Open(path);
  if (!source.ok()) return source.status();
  std::string content;
  size_t read = 1;
  while (read > 0 && content.size() < kMaxDumpBytes) {
    const size_t size = content.size();
    content.resize(size + (size_t{1} << 20));
    read = (*source)->Read(content.data() + size, content.size() - size);
    content.resize(size + read);
  }
  if (!(*source)->damage().empty()) return absl::DataLossError((*source)->damage());
  if (read > 0) return absl::InvalidArgumentError(fmt::format("larger than {} MiB", kMaxDumpBytes >> 20));
  return ParseFlightRecorderDump(content);
}

}  // namespace eroica
