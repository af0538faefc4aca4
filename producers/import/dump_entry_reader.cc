#include "producers/import/dump_entry_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "producers/import/function_classifier.h"
#include "producers/import/stated_numbers.h"

namespace eroica {

DumpKey DumpKeyOf(std::string_view key) {
  switch (key.size()) {
    case 5: return key == "pg_id" ? DumpKey::kPgId : key == "state" ? DumpKey::kState : DumpKey();
    case 6:
      if (key == "frames") return DumpKey::kFrames;
      if (key == "is_p2p") return DumpKey::kIsP2p;
      return key == "seq_id" ? DumpKey::kSequence : DumpKey();
    case 7: return key == "retired" ? DumpKey::kRetired : DumpKey();
    case 9: return key == "record_id" ? DumpKey::kRecordId : DumpKey();
    case 10:
      if (key == "p2p_seq_id") return DumpKey::kP2pSequence;
      return key == "timeout_ms" ? DumpKey::kTimeoutMs : DumpKey();
    case 11: return key == "input_sizes" ? DumpKey::kInputSizes : DumpKey();
    case 12:
      if (key == "input_dtypes") return DumpKey::kInputTypes;
      return key == "output_sizes" ? DumpKey::kOutputSizes : DumpKey();
    case 13:
      if (key == "process_group") return DumpKey::kGroup;
      return key == "output_dtypes" ? DumpKey::kOutputTypes : DumpKey();
    case 14: return key == "profiling_name" ? DumpKey::kName : DumpKey();
    case 15:
      if (key == "time_created_ns") return DumpKey::kCreatedNs;
      return key == "time_created_us" ? DumpKey::kCreatedUs : DumpKey();
    case 17: return key == "collective_seq_id" ? DumpKey::kCollectiveSequence : DumpKey();
    case 26: return key == "time_discovered_started_ns" ? DumpKey::kStartedNs : DumpKey();
    case 28: return key == "time_discovered_completed_ns" ? DumpKey::kCompletedNs : DumpKey();
    default: return DumpKey::kOther;
  }
}

void DumpWords::TakeName(std::string_view name, FlightRecorderDump::Entry* entry) {
  const std::string_view word = name.substr(0, name.find(' '));
  auto known = meanings_.find(word);
  if (known == meanings_.end()) {
    const CollectiveLibrary library = LibraryOfName(word);
    Meaning meaning{.operation = OperationOfName(word),
                    .closes = word.ends_with(":coalesced"),
                    .on_host = RunsOnHost(library),
                    .library = library};
    // A barrier over NCCL is an all-reduce of one element, and says so.
    if (word.find("barrier") != std::string_view::npos)
      meaning.operation = CollectiveOperation::kBarrier;
    known = meanings_.emplace(word, meaning).first;
  }
  entry->operation = known->second.operation;
  entry->closes = known->second.closes;
  entry->on_host = known->second.on_host;
  entry->library = known->second.library;
  if (word.size() == name.size()) return;
  for (const std::string_view arrow : {"->", "<-"}) {
    const size_t at = name.find(arrow, word.size());
    if (at == std::string_view::npos) continue;
    const std::string_view peer = name.substr(at + arrow.size());
    int64_t stated = -1;
    std::from_chars(peer.data(), peer.data() + peer.size(), stated);
    entry->group_peer = RankOrNone(stated);
  }
}

uint64_t DumpWords::BytesOf(std::string_view type) {
  const auto known = bytes_.find(type);
  if (known != bytes_.end()) return known->second;
  return bytes_.emplace(type, BytesOfType(type)).first->second;
}

uint32_t DumpWords::GroupOf(std::string_view name, std::string_view description,
                            FlightRecorderDump* dump) {
  const auto known =
      std::ranges::find_if(dump->names, [&](const FlightRecorderDump::GroupName& row) {
        return row.name == name && row.description == description;
      });
  if (known != dump->names.end()) return static_cast<uint32_t>(known - dump->names.begin());
  if (dump->names.size() >= RankTrace::kMaxGroups) return FlightRecorderDump::kNone;
  dump->names.push_back({std::string(name), std::string(description)});
  return static_cast<uint32_t>(dump->names.size() - 1);
}

DumpFrame DumpFrameOf(std::string_view function, std::string_view file, int64_t line) {
  const auto holds = [file](std::string_view part) {
    return file.find(part) != std::string_view::npos;
  };
  const size_t slash = file.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? file : file.substr(slash + 1);
  return {.text = fmt::format("{}({}): {}", name, line, function),
          .torch = holds("/torch/") || !file.ends_with(".py"),
          .library = holds("-packages/") || holds("/lib/python") || !file.ends_with(".py")};
}

FlightRecorderDump::Site DumpSiteOf(const std::vector<DumpFrame>& frames) {
  auto inner = std::ranges::find_if(frames, [](const DumpFrame& f) { return !f.library; });
  if (inner == frames.end())
    inner = std::ranges::find_if(frames, [](const DumpFrame& f) { return !f.torch; });
  if (inner == frames.end()) inner = frames.begin();
  FlightRecorderDump::Site site;
  for (auto frame = frames.end(); frame != inner;) site.push_back((--frame)->text);
  return site;
}

}  // namespace eroica
