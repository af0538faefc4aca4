#include "state_store/upgrade.h"

#include <charconv>
#include <cstdint>
#include <cstring>

#include "schemas/window.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

using Row = std::pair<std::string, std::string>;

// Rows of summarize were keyed by text. Their values begin with a version, the job's name with its
// length before it, and the number of the rank or communicator, in the machine's order.
std::optional<Row> UpgradeSummarize(std::string_view key, std::string_view value) {
  const auto take_number = [&](uint64_t* number) {
    if (value.size() < sizeof(*number)) return false;
    std::memcpy(number, value.data(), sizeof(*number));
    value.remove_prefix(sizeof(*number));
    return true;
  };
  const std::string whole(value);
  uint64_t version = 0;
  uint64_t length = 0;
  uint64_t number = 0;
  if (!take_number(&version) || !take_number(&length) || length > value.size()) return std::nullopt;
  const JobId job{std::string(value.substr(0, length))};
  value.remove_prefix(length);
  if (!take_number(&number)) return std::nullopt;
  if (key.starts_with("communicator/"))
    return Row{BeginProgressKey(job, ProgressFamily::kCommunicator).PutUint64(number).key(), whole};
  const bool is_rank = key.starts_with("rank/");
  if (!is_rank && !key.starts_with("reported/")) return std::nullopt;
  const ProgressFamily family = is_rank ? ProgressFamily::kRank : ProgressFamily::kReported;
  return Row{BeginProgressKey(job, family).PutUint32(static_cast<uint32_t>(number)).key(), whole};
}

// Rows of align began with a number of their family, then the job; the rest is as it was.
std::optional<Row> UpgradeAlign(std::string_view key, std::string_view value) {
  constexpr ProgressFamily kFamilies[] = {ProgressFamily::kAligned, ProgressFamily::kCarried,
                                          ProgressFamily::kMembers};
  KeyReader reader(key);
  const auto tag = reader.TakeByte();
  auto job = reader.TakeString();
  if (!tag || *tag >= std::size(kFamilies) || !job) return std::nullopt;
  const size_t taken = 1 + KeyWriter().PutString(*job).key().size();
  return Row{
      BeginProgressKey(JobId(*std::move(job)), kFamilies[*tag]).key().append(key.substr(taken)),
      std::string(value)};
}

// A number in decimal digits, as version 2 writes it.
std::optional<std::string> UpgradeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return KeyWriter().PutInt64(number).key();
}

// The key that version 1 gave a stalled step: a word, the job, and the step in decimal digits.
std::optional<Row> UpgradeStalledStep(std::string_view key, std::string_view value) {
  KeyReader reader(key);
  auto job = reader.TakeString();
  if (!job) return std::nullopt;
  const auto step = UpgradeNumber(key.substr(KeyWriter().PutString(*job).key().size()));
  auto level = UpgradeNumber(value);
  if (!step || !level) return std::nullopt;
  return Row{
      BeginProgressKey(JobId(*std::move(job)), ProgressFamily::kStalledStep).key().append(*step),
      *std::move(level)};
}

// The newest closed window of a job: a window's key of index 0, and in decimal digits its index.
std::optional<Row> UpgradeDiagnose(std::string_view key, std::string_view value) {
  constexpr std::string_view kStalledPrefix = "standstill/";
  if (key.starts_with(kStalledPrefix))
    return UpgradeStalledStep(key.substr(kStalledPrefix.size()), value);
  KeyReader reader(key);
  const auto kind = reader.TakeByte();
  if (!kind || *kind >= kWindowKindCount) return std::nullopt;
  const bool index_first = static_cast<WindowKind>(*kind) == WindowKind::kTime;
  std::optional<int64_t> index;
  if (index_first) index = reader.TakeInt64();
  auto job = reader.TakeString();
  if (!index_first) index = reader.TakeInt64();
  auto closed = UpgradeNumber(value);
  if (!job || index != 0 || !reader.AtEnd() || !closed) return std::nullopt;
  return Row{
      BeginProgressKey(JobId(*std::move(job)), ProgressFamily::kClosedWindow).PutByte(*kind).key(),
      *std::move(closed)};
}

}  // namespace

std::optional<Row> UpgradeProgressRow(std::string_view key, std::string_view value) {
  KeyReader reader(key);
  const auto task = reader.TakeString();
  if (!task) return std::nullopt;
  const std::string prefix = EncodeTaskPrefix(*task);
  const std::string_view own = key.substr(prefix.size());
  std::optional<Row> row;
  if (task->starts_with("summarize")) row = UpgradeSummarize(own, value);
  if (task->starts_with("align")) row = UpgradeAlign(own, value);
  if (task->starts_with("diagnose")) row = UpgradeDiagnose(own, value);
  if (row) row->first.insert(0, prefix);
  return row;
}

}  // namespace eroica
