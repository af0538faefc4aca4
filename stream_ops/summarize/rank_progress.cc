#include "stream_ops/summarize/rank_progress.h"

#include <absl/status/status.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "state_store/key_schema.h"

namespace eroica {
namespace {

constexpr uint64_t kVersion = 5;
constexpr uint64_t kVersionWithoutLibraries = 4;  // of communicators
constexpr uint64_t kVersionWithoutRuns = 3;       // nor the moment at which a process was started

// Fixed-width numbers in the machine's order (a store stays on its node), strings with their length
// before them.
class Writer {
 public:
  template <typename T>
  void Number(T value) {
    const auto wide = static_cast<uint64_t>(value);
    bytes_.append(reinterpret_cast<const char*>(&wide), sizeof(wide));
  }
  void Text(std::string_view text) {
    Number(text.size());
    bytes_.append(text);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads nothing beyond the end: then every value is 0 or empty, and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Number() {
    uint64_t wide = 0;
    if (bytes_.size() < sizeof(wide)) {
      ok_ = false;
      bytes_ = {};
      return T{};
    }
    std::memcpy(&wide, bytes_.data(), sizeof(wide));
    bytes_.remove_prefix(sizeof(wide));
    return static_cast<T>(wide);
  }
  std::string Text() {
    const auto size = Number<size_t>();
    if (size > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  // A count of things of at least 8 bytes each.
  size_t Count() {
    const auto count = Number<size_t>();
    if (count <= bytes_.size() / sizeof(uint64_t)) return count;
    ok_ = false;
    return 0;
  }
  bool ok() const { return ok_; }
  absl::Status Finish(std::string_view what) const {
    if (ok_ && bytes_.empty()) return absl::OkStatus();
    return absl::DataLossError(fmt::format("{}: not what this version writes", what));
  }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

bool IsKnownVersion(uint64_t version) {
  return version >= kVersionWithoutRuns && version <= kVersion;
}

void Put(const ProducerIdentity& identity, Writer& out) {
  out.Text(identity.job.value);
  out.Number(identity.rank.value);
  out.Number(identity.world_size);
  out.Text(identity.role);
  out.Text(identity.host);
  out.Number(identity.pid);
  out.Number(identity.device);
  out.Number(identity.host_only);
  out.Number(identity.window_steps);
  out.Number(identity.window_offset);
  out.Number(identity.started_ns);
}

ProducerIdentity GetIdentity(Reader& in, uint64_t version) {
  ProducerIdentity identity;
  identity.job = JobId{in.Text()};
  identity.rank = RankId{in.Number<uint32_t>()};
  identity.world_size = in.Number<uint32_t>();
  identity.role = in.Text();
  identity.host = in.Text();
  identity.pid = in.Number<uint32_t>();
  identity.device = in.Number<int32_t>();
  identity.host_only = in.Number<uint64_t>() != 0;
  identity.window_steps = in.Number<uint32_t>();
  identity.window_offset = in.Number<uint32_t>();
  if (version > kVersionWithoutRuns) identity.started_ns = in.Number<int64_t>();
  return identity;
}

void Put(const std::pair<const ProducerKey, ProducerProgress>& entry, Writer& out) {
  const auto& [key, progress] = entry;
  out.Number(key.pid);
  out.Number(key.started_ns);
  out.Text(key.producer);
  out.Number(progress.next_sequence);
  out.Number(progress.final_sequence.has_value());
  out.Number(progress.final_sequence.value_or(0));
  out.Number(progress.declared_lost.ranges().size());
  for (const auto& [first, last] : progress.declared_lost.ranges()) {
    out.Number(first);
    out.Number(last);
  }
}

void GetProducer(Reader& in, uint64_t version, std::map<ProducerKey, ProducerProgress>* out) {
  ProducerKey key{.pid = in.Number<uint32_t>()};
  if (version > kVersionWithoutRuns) key.started_ns = in.Number<int64_t>();
  key.producer = in.Text();
  ProducerProgress& progress = (*out)[std::move(key)];
  progress.next_sequence = in.Number<uint64_t>();
  const bool has_final = in.Number<uint64_t>() != 0;
  const auto final_sequence = in.Number<uint64_t>();
  if (has_final) progress.final_sequence = final_sequence;
  for (size_t i = in.Count(); i > 0; --i) {
    const auto first = in.Number<uint64_t>();
    const auto last = in.Number<uint64_t>();
    if (first <= last) progress.declared_lost.AddRange(first, last);
  }
}

void Put(const RankAdvance& advance, Writer& out) {
  out.Number(advance.last_progress_ns);
  out.Number(advance.last_step);
  out.Number(advance.step_count);
  out.Number(advance.step_sum_ns);
  out.Number(advance.pause);
  out.Number(advance.pause_since_ns);
  out.Number(advance.completed.size());
  for (const auto& [key, below] : advance.completed) {
    out.Number(key.communicator.value);
    out.Number(key.operation);
    out.Number(key.peer);
    out.Number(below);
  }
}

RankAdvance GetAdvance(Reader& in) {
  RankAdvance advance;
  advance.last_progress_ns = in.Number<int64_t>();
  advance.last_step = in.Number<int64_t>();
  advance.step_count = in.Number<int64_t>();
  advance.step_sum_ns = in.Number<int64_t>();
  advance.pause = static_cast<Pause>(in.Number<uint8_t>());
  advance.pause_since_ns = in.Number<int64_t>();
  for (size_t i = in.Count(); i > 0; --i) {
    OperationKey key;
    key.communicator = CommId{in.Number<uint64_t>()};
    key.operation = static_cast<CollectiveOperation>(in.Number<uint8_t>());
    key.peer = in.Number<int32_t>();
    advance.completed[key] = in.Number<uint64_t>();
  }
  return advance;
}

}  // namespace

std::string Encode(const RankProgress& progress) {
  Writer out;
  out.Number(kVersion);
  Put(progress.identity, out);
  out.Number(progress.kind);
  out.Number(progress.last_index);
  out.Number(progress.closed_until_ns);
  out.Number(progress.max_event_ns);
  out.Number(progress.closed_at_offset);
  out.Number(progress.finished);
  out.Number(progress.runs);
  out.Number(progress.communicators.size());
  for (const auto& [communicator, since_ns] : progress.communicators) {
    out.Number(communicator.value);
    out.Number(since_ns);
  }
  out.Number(progress.producers.size());
  for (const auto& entry : progress.producers) Put(entry, out);
  Put(progress.advance, out);
  return out.Take();
}

absl::StatusOr<RankProgress> DecodeRankProgress(std::string_view bytes) {
  Reader in(bytes);
  const auto version = in.Number<uint64_t>();
  if (!IsKnownVersion(version)) return absl::DataLossError("progress of a rank: another version");
  RankProgress progress;
  progress.identity = GetIdentity(in, version);
  progress.kind = in.Number<uint64_t>() == 0 ? WindowKind::kTime : WindowKind::kSteps;
  progress.last_index = in.Number<int64_t>();
  progress.closed_until_ns = in.Number<int64_t>();
  progress.max_event_ns = in.Number<int64_t>();
  progress.closed_at_offset = in.Number<int64_t>();
  progress.finished = in.Number<uint64_t>() != 0;
  if (version > kVersionWithoutRuns) progress.runs = in.Number<uint64_t>();
  for (size_t i = in.Count(); i > 0; --i) {
    const CommId communicator{in.Number<uint64_t>()};
    progress.communicators[communicator] = in.Number<int64_t>();
  }
  for (size_t i = in.Count(); i > 0; --i) GetProducer(in, version, &progress.producers);
  progress.advance = GetAdvance(in);
  if (absl::Status status = in.Finish("progress of a rank"); !status.ok()) return status;
  return progress;
}

std::string Encode(const JobId& job, const Communicator& communicator) {
  Writer out;
  out.Number(kVersion);
  out.Text(job.value);
  out.Number(communicator.id.value);
  out.Text(communicator.name);
  out.Text(communicator.description);
  out.Number(communicator.size);
  out.Number(communicator.ranks.size());
  for (uint32_t rank : communicator.ranks) out.Number(rank);
  out.Number(communicator.library);
  return out.Take();
}

absl::StatusOr<std::pair<JobId, Communicator>> DecodeCommunicator(std::string_view bytes) {
  Reader in(bytes);
  const auto version = in.Number<uint64_t>();
  if (!IsKnownVersion(version))
    return absl::DataLossError("communicator of a job: another version");
  JobId job{in.Text()};
  Communicator communicator;
  communicator.id = CommId{in.Number<uint64_t>()};
  communicator.name = in.Text();
  communicator.description = in.Text();
  communicator.size = in.Number<uint32_t>();
  for (size_t i = in.Count(); i > 0; --i) communicator.ranks.push_back(in.Number<uint32_t>());
  if (version > kVersionWithoutLibraries) communicator.library = in.Number<CollectiveLibrary>();
  if (absl::Status status = in.Finish("communicator of a job"); !status.ok()) return status;
  return std::pair(std::move(job), std::move(communicator));
}

std::string Encode(const ReportedUntil& reported) {
  Writer out;
  out.Number(kVersion);
  out.Text(reported.job.value);
  out.Number(reported.rank.value);
  out.Number(reported.time_ns);
  return out.Take();
}

absl::StatusOr<ReportedUntil> DecodeReportedUntil(std::string_view bytes) {
  Reader in(bytes);
  if (!IsKnownVersion(in.Number<uint64_t>()))
    return absl::DataLossError("reports of a rank: another version");
  ReportedUntil reported;
  reported.job = JobId{in.Text()};
  reported.rank = RankId{in.Number<uint32_t>()};
  reported.time_ns = in.Number<int64_t>();
  if (absl::Status status = in.Finish("reports of a rank"); !status.ok()) return status;
  return reported;
}

std::string RankProgressKey(const JobId& job, RankId rank) {
  return BeginProgressKey(job, ProgressFamily::kRank).PutUint32(rank.value).key();
}

std::string CommunicatorProgressKey(const JobId& job, CommId communicator) {
  return BeginProgressKey(job, ProgressFamily::kCommunicator).PutUint64(communicator.value).key();
}

std::string ReportedKey(const JobId& job, RankId rank) {
  return BeginProgressKey(job, ProgressFamily::kReported).PutUint32(rank.value).key();
}

}  // namespace eroica
