#include "producers/import/flight_recorder_dump.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <utility>

#include "producers/import/byte_source.h"
#include "producers/import/function_classifier.h"
#include "producers/import/pickle.h"

namespace eroica {
namespace {

constexpr size_t kMaxDumpBytes = size_t{256} << 20;

ProcessGroup MakeGroup(std::string_view name, std::string_view description,
                       std::string_view ranks) {
  ProcessGroup group{.name = std::string(name), .description = std::string(description)};
  TakeMembers(MemberList::Parse(ranks), &group);
  group.size = static_cast<uint32_t>(group.ranks.size());
  return group;
}

// "nccl:send 0->3", "gloo:recv 3<-0", "nccl:_all_gather_base"; the own rank stands before the
// arrow.
void ReadProfilingName(std::string_view name, FlightRecorderDump::Entry* entry) {
  entry->operation = OperationOfName(name.substr(0, name.find(' ')));
  for (const std::string_view arrow : {"->", "<-"}) {
    const size_t at = name.find(arrow);
    if (at == std::string_view::npos) continue;
    const std::string_view peer = name.substr(at + arrow.size());
    int64_t stated = -1;
    std::from_chars(peer.data(), peer.data() + peer.size(), stated);
    entry->group_peer = RankOrNone(stated);
  }
}

// Extents whose product cannot be are those of no tensor.
uint64_t Times(uint64_t elements, int64_t extent) {
  constexpr uint64_t kMost = uint64_t{1} << 60;
  if (extent < 0 || (extent > 0 && elements > kMost / static_cast<uint64_t>(extent))) return 0;
  return elements * static_cast<uint64_t>(extent);
}

uint64_t BytesOf(const simdjson::dom::element& element) {
  simdjson::dom::array sizes, types;
  if (element["input_sizes"].get(sizes) != simdjson::SUCCESS ||
      element["input_dtypes"].get(types) != simdjson::SUCCESS)
    return 0;
  uint64_t bytes = 0;
  auto type = types.begin();
  for (const simdjson::dom::element shape : sizes) {
    simdjson::dom::array extents;
    std::string_view word;
    if (!(type != types.end()) || shape.get(extents) != simdjson::SUCCESS ||
        (*type).get(word) != simdjson::SUCCESS)
      break;
    uint64_t elements = 1;
    for (const simdjson::dom::element extent : extents) {
      int64_t number = 0;
      if (extent.get(number) == simdjson::SUCCESS) elements = Times(elements, number);
    }
    bytes += elements * BytesOfType(word);
    ++type;
  }
  return bytes;
}

FlightRecorderDump::Entry ReadEntry(const simdjson::dom::element& element) {
  FlightRecorderDump::Entry entry;
  int64_t number = 0;
  bool flag = false;
  std::string_view text;
  simdjson::dom::array group;
  if (element["time_created_ns"].get(number) == simdjson::SUCCESS) entry.created_ns = number;
  if (element["is_p2p"].get(flag) == simdjson::SUCCESS) entry.point_to_point = flag;
  if (element[entry.point_to_point ? "p2p_seq_id" : "collective_seq_id"].get(number) ==
      simdjson::SUCCESS)
    entry.sequence = number;
  if (element["profiling_name"].get(text) == simdjson::SUCCESS) ReadProfilingName(text, &entry);
  if (element["state"].get(text) == simdjson::SUCCESS)
    entry.started = text == "started", entry.ended = text == "completed";
  if (element["retired"].get(flag) == simdjson::SUCCESS) entry.ended = entry.ended || flag;
  entry.bytes = BytesOf(element);
  if (element["process_group"].get(group) == simdjson::SUCCESS && group.size() >= 2) {
    if (group.at(0).get(text) == simdjson::SUCCESS) entry.group_name = text;
    if (group.at(1).get(text) == simdjson::SUCCESS) entry.group_description = text;
  }
  return entry;
}

absl::StatusOr<FlightRecorderDump> ParseJsonDump(std::string_view content) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array entries;
  if (parser.parse(content.data(), content.size(), true).get(root) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not valid JSON");
  if (root["entries"].get(entries) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("it has no list \"entries\"");
  FlightRecorderDump dump;
  for (const simdjson::dom::element entry : entries) dump.entries.push_back(ReadEntry(entry));
  simdjson::dom::object groups;
  if (root["pg_config"].get(groups) == simdjson::SUCCESS) {
    for (const auto& [key, group] : groups) {
      std::string_view description;
      std::string_view ranks;
      if (group["desc"].get(description) == simdjson::SUCCESS &&
          group["ranks"].get(ranks) == simdjson::SUCCESS) {
        dump.groups.push_back(MakeGroup(key, description, ranks));
      }
    }
  }
  return dump;
}

std::string_view TextOf(const PickleValue* value) {
  return value != nullptr ? std::string_view(value->text) : std::string_view();
}

uint64_t BytesOf(const PickleValue& value) {
  const PickleValue* sizes = value.Find("input_sizes");
  const PickleValue* types = value.Find("input_dtypes");
  if (sizes == nullptr || types == nullptr) return 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < std::min(sizes->items.size(), types->items.size()); ++i) {
    uint64_t elements = 1;
    for (const PickleValue& extent : sizes->items[i].items)
      elements = Times(elements, extent.integer);
    bytes += elements * BytesOfType(types->items[i].text);
  }
  return bytes;
}

FlightRecorderDump::Entry ReadEntry(const PickleValue& value) {
  FlightRecorderDump::Entry entry;
  if (const PickleValue* created = value.Find("time_created_ns"))
    entry.created_ns = created->integer;
  if (const PickleValue* point_to_point = value.Find("is_p2p"))
    entry.point_to_point = point_to_point->integer != 0;
  if (const PickleValue* sequence =
          value.Find(entry.point_to_point ? "p2p_seq_id" : "collective_seq_id"))
    entry.sequence = sequence->integer;
  ReadProfilingName(TextOf(value.Find("profiling_name")), &entry);
  const std::string_view state = TextOf(value.Find("state"));
  const PickleValue* retired = value.Find("retired");
  entry.started = state == "started";
  entry.ended = state == "completed" || (retired != nullptr && retired->integer != 0);
  entry.bytes = BytesOf(value);
  if (const PickleValue* group = value.Find("process_group");
      group != nullptr && group->items.size() >= 2) {
    entry.group_name = group->items[0].text;
    entry.group_description = group->items[1].text;
  }
  return entry;
}

absl::StatusOr<FlightRecorderDump> ParsePickleDump(std::string_view content) {
  absl::StatusOr<PickleValue> root = ParsePickle(content);
  if (!root.ok()) return root.status();
  const PickleValue* entries = root->Find("entries");
  if (entries == nullptr) return absl::InvalidArgumentError("it has no list \"entries\"");
  FlightRecorderDump dump;
  for (const PickleValue& entry : entries->items) dump.entries.push_back(ReadEntry(entry));
  if (const PickleValue* groups = root->Find("pg_config")) {
    for (size_t i = 0; i + 1 < groups->items.size(); i += 2) {
      const PickleValue& group = groups->items[i + 1];
      dump.groups.push_back(MakeGroup(groups->items[i].text, TextOf(group.Find("desc")),
                                      TextOf(group.Find("ranks"))));
    }
  }
  return dump;
}

}  // namespace

absl::StatusOr<FlightRecorderDump> ParseFlightRecorderDump(std::string_view content) {
  if (content.empty()) return absl::InvalidArgumentError("it is empty");
  return content.front() == '\x80' ? ParsePickleDump(content) : ParseJsonDump(content);
}

absl::StatusOr<FlightRecorderDump> ReadFlightRecorderDump(const std::filesystem::path& path) {
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
  if (read > 0)
    return absl::InvalidArgumentError(fmt::format("larger than {} MiB", kMaxDumpBytes >> 20));
  return ParseFlightRecorderDump(content);
}

}  // namespace eroica
