#include "ops/act/action_journal.h"

#include <absl/time/time.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "schemas/file_access.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, kJournalEntryKindCount> kEntryKinds = {
    "refused", "dry_run", "intent", "outcome", "interrupted"};

std::string TimeOf(int64_t ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(ms), absl::UTCTimeZone());
}

absl::Status FileError(const std::string& doing) {
  return absl::InternalError(fmt::format("{}: {}", doing, std::strerror(errno)));
}

absl::StatusOr<std::string> ReadAll(int file, const std::string& path) {
  std::string text;
  std::array<char, 65'536> block;
  ssize_t count = 0;
  while ((count = ::pread(file, block.data(), block.size(), static_cast<off_t>(text.size()))) > 0)
    text.append(block.data(), static_cast<size_t>(count));
  if (count < 0) return FileError("cannot read " + path);
  return text;
}

}  // namespace

std::string_view ToString(JournalEntryKind kind) { return kEntryKinds[static_cast<size_t>(kind)]; }

std::string EncodeJournalEntry(const JournalEntry& entry) {
  Json json{{"at", TimeOf(entry.at_ms)},
            {"at_ms", entry.at_ms},
            {"entry", ToString(entry.kind)},
            {"id", entry.id},
            {"finding", entry.finding_id},
            {"version", entry.version_id},
            {"job", entry.job},
            {"hosts", entry.hosts},
            {"rule", entry.rule},
            {"action", entry.action},
            {"arguments", entry.arguments},
            {"reason", entry.reason},
            {"title", entry.title}};
  if (entry.kind == JournalEntryKind::kOutcome) {
    json["done"] = entry.done;
    json["exit_code"] = entry.exit_code;
    json["took_ms"] = entry.took_ms;
    json["output"] = entry.output;
  }
  return PrintableJson(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

absl::StatusOr<JournalEntry> DecodeJournalEntry(std::string_view line) {
  const auto error = [] { return absl::InvalidArgumentError("it is no entry of a journal"); };
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return error();
  const auto text = [&](const char* name) {
    const auto field = json.find(name);
    return field != json.end() && field->is_string() ? field->get<std::string>() : std::string();
  };
  const auto texts = [&](const char* name) {
    std::vector<std::string> all;
    const auto field = json.find(name);
    if (field == json.end() || !field->is_array()) return all;
    for (const Json& item : *field) {
      if (item.is_string()) all.push_back(item.get<std::string>());
    }
    return all;
  };
  const auto number = [&](const char* name, int64_t otherwise) {
    const auto field = json.find(name);
    return field != json.end() && field->is_number_integer() ? field->get<int64_t>() : otherwise;
  };
  const auto kind = std::ranges::find(kEntryKinds, text("entry"));
  if (kind == kEntryKinds.end() || text("finding").empty()) return error();
  JournalEntry entry{.kind = static_cast<JournalEntryKind>(kind - kEntryKinds.begin()),
                     .id = text("id"),
                     .at_ms = number("at_ms", 0),
                     .finding_id = text("finding"),
                     .version_id = text("version"),
                     .title = text("title"),
                     .job = text("job"),
                     .hosts = texts("hosts"),
                     .rule = text("rule"),
                     .action = text("action"),
                     .arguments = texts("arguments"),
                     .reason = text("reason"),
                     .exit_code = static_cast<int>(number("exit_code", -1)),
                     .output = text("output"),
                     .took_ms = number("took_ms", 0)};
  entry.done = json.contains("done") && json["done"] == true;
  return entry;
}

absl::StatusOr<std::unique_ptr<ActionJournal>> ActionJournal::Open(const std::string& path) {
  const int file = OpenFile(path, O_RDWR | O_CREAT | O_APPEND);
  if (file < 0)
    return absl::InvalidArgumentError(
        fmt::format("cannot open the journal {}: {}", path, OpenErrorText(errno)));
  std::unique_ptr<ActionJournal> journal(new ActionJournal(file));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(
        fmt::format("the journal {} is held by another eroica act", path));
  if (absl::Status status = journal->Read(path); !status.ok()) return status;
  return journal;
}

ActionJournal::~ActionJournal() { ::close(file_); }

absl::Status ActionJournal::Read(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadAll(file_, path);
  if (!text.ok()) return text.status();
  size_t number = 0, begin = 0;
  for (size_t end = 0; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++number;
    absl::StatusOr<JournalEntry> entry =
        DecodeJournalEntry(std::string_view(*text).substr(begin, end - begin));
    if (!entry.ok())
      return absl::DataLossError(
          fmt::format("{}:{}: {}; what was done is not known: move the "
                      "file away to begin a new one",
                      path, number, std::string(entry.status().message())));
    const auto same = [&](const JournalEntry& intent) { return intent.id == entry->id; };
    if (entry->kind == JournalEntryKind::kOutcome || entry->kind == JournalEntryKind::kInterrupted)
      std::erase_if(interrupted_, same);
    if (entry->kind != JournalEntryKind::kIntent) continue;
    intents_.push_back(*entry);
    interrupted_.push_back(*std::move(entry));
  }
  if (begin == text->size()) return absl::OkStatus();
  spdlog::warn("act: the journal's last line was cut off by a crash, it is removed path={}", path);
  return ::ftruncate(file_, static_cast<off_t>(begin)) == 0 ? absl::OkStatus()
                                                            : FileError("cannot cut " + path);
}

absl::Status ActionJournal::Append(const JournalEntry& entry) {
  const std::string line = EncodeJournalEntry(entry) + "\n";
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(file_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("cannot write the journal");
    written += static_cast<size_t>(count);
  }
  return ::fdatasync(file_) == 0 ? absl::OkStatus() : FileError("cannot write the journal");
}

}  // namespace eroica
