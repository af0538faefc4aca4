#include "producers/import/flight_recorder_dump.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "producers/import/byte_source.h"
#include "producers/import/dump_entry_reader.h"
#include "producers/import/pickle.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

constexpr size_t kMaxDumpBytes = size_t{256} << 20;
// A pickle may hold one list in many places, so that the visits are bounded, and not the values.
constexpr size_t kMaxVisits = size_t{64} << 20;
constexpr size_t kMaxFrames = 256;  // of one call stack
constexpr size_t kMaxSites = 4'096;

using Entry = FlightRecorderDump::Entry;

// The same interface to both forms, pickles and JSON: members of a dict, items of a list, numbers
// (JSON writes some as text) and texts.
class PickleNode {
 public:
  PickleNode(const Pickle& pickle, uint32_t node) : pickle_(&pickle), node_(node) {}

  bool IsList() const { return pickle_->KindOf(node_) == Pickle::Kind::kList; }
  template <typename Visit>
  void Members(Visit visit) const {
    if (pickle_->KindOf(node_) != Pickle::Kind::kDict) return;
    const std::span<const uint32_t> items = pickle_->ItemsOf(node_);
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      visit(pickle_->TextOf(items[i]), PickleNode(*pickle_, items[i + 1]));
  }
  // Until visit returns false.
  template <typename Visit>
  void Items(Visit visit) const {
    if (!IsList()) return;
    for (const uint32_t item : pickle_->ItemsOf(node_)) {
      if (!visit(PickleNode(*pickle_, item))) return;
    }
  }
  std::optional<int64_t> Integer() const {
    const Pickle::Kind kind = pickle_->KindOf(node_);
    if (kind != Pickle::Kind::kInt && kind != Pickle::Kind::kBool) return std::nullopt;
    return pickle_->IntegerOf(node_);
  }
  std::string_view Text() const { return pickle_->TextOf(node_); }
  // Equal of one value that is held in several places; 0 where that is not known.
  uint32_t Identity() const { return node_ + 1; }

 private:
  const Pickle* pickle_;
  uint32_t node_;
};

class JsonNode {
 public:
  explicit JsonNode(simdjson::dom::element element) : element_(element) {}

  bool IsList() const { return element_.is_array(); }
  template <typename Visit>
  void Members(Visit visit) const {
    simdjson::dom::object object;
    if (element_.get(object) != simdjson::SUCCESS) return;
    for (const auto& [key, value] : object) visit(key, JsonNode(value));
  }
  template <typename Visit>
  void Items(Visit visit) const {
    simdjson::dom::array array;
    if (element_.get(array) != simdjson::SUCCESS) return;
    for (const simdjson::dom::element item : array) {
      if (!visit(JsonNode(item))) return;
    }
  }
  std::optional<int64_t> Integer() const {
    int64_t number = 0;
    bool flag = false;
    if (element_.get(number) == simdjson::SUCCESS) return number;
    if (element_.get(flag) == simdjson::SUCCESS) return flag ? 1 : 0;
    return std::nullopt;
  }
  std::string_view Text() const {
    std::string_view text;
    return element_.get(text) == simdjson::SUCCESS ? text : std::string_view();
  }
  static uint32_t Identity() { return 0; }

 private:
  simdjson::dom::element element_;
};

// Extents whose product cannot be are those of no tensor.
uint64_t Times(uint64_t elements, int64_t extent) {
  constexpr uint64_t kMost = uint64_t{1} << 60;
  if (extent < 0 || (extent > 0 && elements > kMost / static_cast<uint64_t>(extent))) return 0;
  return elements * static_cast<uint64_t>(extent);
}

int64_t Scaled(int64_t value, int64_t factor) {
  if (value < 0 || value > CodecLimits::kMaxTimeNs / factor) return -1;
  return value * factor;
}

// A time that no batch can hold is none: nothing is computed with it.
int64_t TimeOrNone(int64_t ns) { return Scaled(ns, 1); }

// A job does not count so far: the number is damaged, and nothing is computed with it.
int64_t CountOrNone(int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 53;
  return count > kMost ? -1 : count;
}

template <typename Node>
class DumpReader {
 public:
  absl::StatusOr<FlightRecorderDump> Read(const Node& root) {
    std::optional<Node> entries;
    bool has_head = false;
    if (root.IsList()) entries = root;  // PyTorch 2.2
    root.Members([&](std::string_view key, const Node& value) {
      if (key == "entries") entries = value;
      if (key == "pg_config") ReadGroups(value), has_head = true;
      if (key == "pg_status") ReadStatus(value), has_head = true;
    });
    // A dump without collectives, or of a recorder that was off, has counters and groups alone.
    if (!entries && has_head) return std::move(dump_);
    if (!entries || !entries->IsList())
      return absl::InvalidArgumentError("it has no list \"entries\"");
    entries->Items([&](const Node& item) {
      ReadEntry(item);
      return visits_ < kMaxVisits;
    });
    if (visits_ >= kMaxVisits) return absl::InvalidArgumentError("its values unfold to too many");
    dump_.ever_enqueued = dump_.ever_enqueued || !dump_.entries.empty();
    TakeSites();
    return std::move(dump_);
  }

 private:
  struct Parts {  // of an entry, read when all of it has been seen
    std::optional<Node> frames, input_sizes, input_types, output_sizes, output_types;
    int64_t sequence = -1, collective_sequence = -1, p2p_sequence = -1, pg_id = -1;
    int64_t started_ns = 0;
    std::optional<bool> p2p;
  };

  void ReadEntry(const Node& item) {
    Entry entry;
    Parts parts;
    item.Members([&](std::string_view key, const Node& value) {
      ++visits_;
      ReadMember(DumpKeyOf(key), value, &entry, &parts);
    });
    // Before PyTorch 2.4 entries have no "is_p2p".
    entry.point_to_point = parts.p2p.value_or(IsPointToPoint(entry.operation));
    const int64_t own = entry.point_to_point ? parts.p2p_sequence : parts.collective_sequence;
    entry.sequence = own >= 0 ? own : parts.sequence;
    if (entry.group == FlightRecorderDump::kNone && parts.pg_id >= 0)
      entry.group = words_.GroupOf(std::to_string(parts.pg_id), "", &dump_);
    entry.bytes = BytesOf(parts.input_sizes, parts.input_types);
    entry.bytes_out = BytesOf(parts.output_sizes, parts.output_types);
    // Newer recorders set the start of what ends to its end, where nobody had seen the start.
    const bool seen =
        parts.started_ns > 0 && (entry.completed_ns == 0 || parts.started_ns < entry.completed_ns);
    if (!entry.on_host && (seen || entry.state == FlightRecorderDump::State::kStarted))
      dump_.starts_told = true;
    dump_.entries.push_back(entry);
    frames_.push_back(parts.frames);
  }

  void ReadMember(DumpKey key, const Node& value, Entry* entry, Parts* parts) {
    const auto integer = [&value](int64_t absent) { return value.Integer().value_or(absent); };
    switch (key) {
      case DumpKey::kFrames: parts->frames = value; break;
      case DumpKey::kRecordId:
        if (dump_.entries.empty()) dump_.from_the_first = integer(0) <= 0;
        break;
      case DumpKey::kPgId: parts->pg_id = integer(-1); break;
      case DumpKey::kGroup: ReadGroupName(value, entry); break;
      case DumpKey::kSequence: parts->sequence = CountOrNone(integer(-1)); break;
      case DumpKey::kCollectiveSequence:
        parts->collective_sequence = CountOrNone(integer(-1));
        break;
      case DumpKey::kP2pSequence: parts->p2p_sequence = CountOrNone(integer(-1)); break;
      case DumpKey::kName: words_.TakeName(value.Text(), entry); break;
      case DumpKey::kCreatedNs: entry->created_ns = TimeOrNone(integer(-1)); break;
      case DumpKey::kCreatedUs: entry->created_ns = Scaled(integer(-1), 1'000); break;
      case DumpKey::kInputSizes: parts->input_sizes = value; break;
      case DumpKey::kInputTypes: parts->input_types = value; break;
      case DumpKey::kOutputSizes: parts->output_sizes = value; break;
      case DumpKey::kOutputTypes: parts->output_types = value; break;
      case DumpKey::kState: ReadState(value.Text(), entry); break;
      case DumpKey::kStartedNs: parts->started_ns = integer(0); break;
      case DumpKey::kCompletedNs:
        entry->completed_ns = std::max<int64_t>(0, TimeOrNone(integer(0)));
        break;
      case DumpKey::kRetired: entry->retired = integer(0) != 0; break;
      case DumpKey::kTimeoutMs:
        entry->timeout_ns = std::max<int64_t>(0, Scaled(integer(0), 1'000'000));
        break;
      case DumpKey::kIsP2p: parts->p2p = integer(0) != 0; break;
      case DumpKey::kOther: break;
    }
  }

  static void ReadState(std::string_view text, Entry* entry) {
    if (text == "started") entry->state = FlightRecorderDump::State::kStarted;
    if (text == "completed") entry->state = FlightRecorderDump::State::kCompleted;
  }

  // ["35", "TENSOR_MODEL_PARALLEL_GROUP"]
  void ReadGroupName(const Node& value, Entry* entry) {
    std::string_view texts[2];
    size_t count = 0;
    value.Items([&](const Node& text) {
      texts[count] = text.Text();
      return ++count < 2;
    });
    if (count == 2) entry->group = words_.GroupOf(texts[0], texts[1], &dump_);
  }

  uint64_t BytesOf(const std::optional<Node>& sizes, const std::optional<Node>& types) {
    if (!sizes || !types) return 0;
    uint64_t bytes = 0;
    type_bytes_.clear();
    types->Items([&](const Node& type) {
      type_bytes_.push_back(words_.BytesOf(type.Text()));
      return ++visits_ < kMaxVisits;
    });
    size_t tensor = 0;
    sizes->Items([&](const Node& shape) {
      uint64_t elements = 1;
      shape.Items([&](const Node& extent) {
        elements = Times(elements, extent.Integer().value_or(1));
        return ++visits_ < kMaxVisits;
      });
      if (tensor < type_bytes_.size()) bytes += elements * type_bytes_[tensor];
      return ++tensor < type_bytes_.size();
    });
    return bytes;
  }

  void ReadGroups(const Node& groups) {
    groups.Members([&](std::string_view key, const Node& row) {
      if (visits_ >= kMaxVisits) return;
      std::string_view name = key, description, ranks;  // a key may be a number
      bool described = false, listed = false;
      row.Members([&](std::string_view member, const Node& value) {
        ++visits_;
        if (member == "name" && key.empty()) name = value.Text();
        if (member == "desc") description = value.Text(), described = true;
        if (member == "ranks") ranks = value.Text(), listed = true;
      });
      if (!described || !listed || dump_.groups.size() >= RankTrace::kMaxGroups) return;
      ProcessGroup group{.name = std::string(name), .description = std::string(description)};
      TakeMembers(MemberList::Parse(ranks), &group);
      group.size = static_cast<uint32_t>(group.ranks.size());
      dump_.groups.push_back(std::move(group));
    });
  }

  // JSON writes the counters as text.
  void ReadStatus(const Node& status) {
    status.Members([&](std::string_view, const Node& row) {
      if (visits_ >= kMaxVisits) return;
      row.Members([&](std::string_view key, const Node& value) {
        ++visits_;
        if (key != "last_enqueued_collective") return;
        const std::string_view text = value.Text();
        const bool any = value.Integer().value_or(0) > 0 ||
                         (!text.empty() && text != "0" && text.front() != '-');
        dump_.ever_enqueued = dump_.ever_enqueued || any;
      });
    });
  }

  // Call stacks of what may not have ended, and of the last entry; those of others are not used.
  void TakeSites() {
    constexpr size_t kRetiredLately = 64;
    for (size_t i = 0; i < dump_.entries.size() && visits_ < kMaxVisits; ++i) {
      Entry& entry = dump_.entries[i];
      const bool last = i + 1 == dump_.entries.size();
      const bool lately = !entry.retired || dump_.entries.size() - i <= kRetiredLately;
      const bool open = entry.state != FlightRecorderDump::State::kCompleted && lately;
      if ((open || last) && frames_[i]) entry.site = SiteOf(*frames_[i]);
    }
  }

  // Most operations of a job are launched by a few stacks, and a pickle holds each of their frames
  // once.
  uint32_t SiteOf(const Node& frames) {
    std::string identity;
    bool known = true;
    frames.Items([&](const Node& frame) {
      const uint32_t number = frame.Identity();
      known = known && number != 0;
      identity.append(reinterpret_cast<const char*>(&number), sizeof(number));
      return known && identity.size() < kMaxFrames * sizeof(number) && ++visits_ < kMaxVisits;
    });
    if (!known) return NewSite(frames);
    const auto [site, is_new] = sites_.try_emplace(std::move(identity), FlightRecorderDump::kNone);
    if (is_new) site->second = NewSite(frames);
    return site->second;
  }

  uint32_t NewSite(const Node& frames) {
    std::vector<DumpFrame> calls;
    frames.Items([&](const Node& frame) {
      std::string_view function, file;
      int64_t line = 0;
      frame.Members([&](std::string_view key, const Node& value) {
        ++visits_;
        if (key == "name") function = value.Text();
        if (key == "filename") file = value.Text();
        if (key == "line") line = value.Integer().value_or(0);
      });
      calls.push_back(DumpFrameOf(function, file, line));
      return calls.size() < kMaxFrames && visits_ < kMaxVisits;
    });
    if (calls.empty()) return FlightRecorderDump::kNone;
    FlightRecorderDump::Site site = DumpSiteOf(calls);
    const auto known = std::ranges::find(dump_.sites, site);
    if (known != dump_.sites.end()) return static_cast<uint32_t>(known - dump_.sites.begin());
    if (dump_.sites.size() >= kMaxSites) return FlightRecorderDump::kNone;
    dump_.sites.push_back(std::move(site));
    return static_cast<uint32_t>(dump_.sites.size() - 1);
  }

  FlightRecorderDump dump_;
  DumpWords words_;
  std::vector<std::optional<Node>> frames_;          // by entry
  std::unordered_map<std::string, uint32_t> sites_;  // by the identities of their frames
  std::vector<uint64_t> type_bytes_;
  size_t visits_ = 0;
};

absl::StatusOr<FlightRecorderDump> ParseJsonDump(std::string_view content) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(content.data(), content.size(), true).get(root) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not valid JSON");
  return DumpReader<JsonNode>().Read(JsonNode(root));
}

absl::StatusOr<FlightRecorderDump> ParsePickleDump(std::string_view content) {
  Pickle pickle;
  if (absl::Status status = pickle.Parse(content); !status.ok()) return status;
  return DumpReader<PickleNode>().Read(PickleNode(pickle, pickle.root()));
}

}  // namespace

absl::StatusOr<FlightRecorderDump> ParseFlightRecorderDump(std::string_view content) {
  if (content.empty()) return absl::InvalidArgumentError("it is empty");
  return content.front() == '\x80' ? ParsePickleDump(content) : ParseJsonDump(content);
}

bool BeginsLikeFlightRecorderDump(std::string_view content) {
  const size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const char begin = content[first];
  if (begin != '\x80' && begin != '{' && begin != '[') return false;
  const auto holds = [content, begin](std::string_view word) {
    const std::string quoted = begin == '\x80' ? std::string(word) : fmt::format("\"{}\"", word);
    return content.find(quoted) != std::string_view::npos;
  };
  if (holds("traceEvents")) return false;
  const bool of_entries = holds("profiling_name") || holds("collective_seq_id");
  return of_entries || (holds("entries") && (holds("pg_config") || holds("pg_status")));
}

absl::StatusOr<FlightRecorderDump> ReadFlightRecorderDump(const std::filesystem::path& path) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = ByteSource::Open(path);
  if (!source.ok()) return source.status();
  std::error_code error;
  const uintmax_t on_disk = std::filesystem::file_size(path, error);
  constexpr size_t kPiece = size_t{1} << 20;
  const size_t piece = error ? kPiece : std::clamp<size_t>(on_disk + 1, 4'096, kPiece);
  std::string content;
  size_t read = 1;
  while (read > 0 && content.size() < kMaxDumpBytes) {
    const size_t size = content.size();
    content.resize(size + piece);
    read = (*source)->Read(content.data() + size, content.size() - size);
    content.resize(size + read);
  }
  if (!(*source)->damage().empty()) return absl::DataLossError((*source)->damage());
  if (read > 0)
    return absl::InvalidArgumentError(fmt::format("larger than {} MiB", kMaxDumpBytes >> 20));
  return ParseFlightRecorderDump(content);
}

}  // namespace eroica
