#include "producers/import/import_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/printable_text.h"

namespace eroica {

void ImportCounts::Add(const ImportCounts& other) {
  events += other.events;
  imported += other.imported;
  skipped.Add(other.skipped);
  file_bytes += other.file_bytes;
  content_bytes += other.content_bytes;
}

namespace {

// What was left out, in words of people who have never seen a trace from within.
std::string SkippedText(DropReason reason) {
  switch (reason) {
    case DropReason::kUnknownPhase: return "metadata and instants";
    case DropReason::kUnpairedDuration: return "durations of no thread, or without an end";
    case DropReason::kUnwantedCategory: return "of categories that tell nothing of speed";
    case DropReason::kInvalidIdentity: return "in files of no known rank";
    case DropReason::kConflictingRank: return "in second files of a rank";
    case DropReason::kMalformedEvent: return "malformed";
    case DropReason::kTruncatedInput: return "cut off by the end of the file";
    case DropReason::kNegativeDuration: return "of negative duration";
    case DropReason::kTimeOutOfRange: return "at times that cannot be";
    default: return Printable(ToString(reason));
  }
}

std::string CollectivesText(uint64_t matched, uint64_t unmatched) {
  const uint64_t all = matched + unmatched;
  if (all == 0) return "no collectives";
  if (unmatched == 0) return fmt::format("{} collectives, all matched across ranks", all);
  return fmt::format("{} collectives, {} of them matched across ranks", all, matched);
}

}  // namespace

std::string ImportReport::ToText() const {
  std::string text =
      fmt::format("job {}: {} of {} ranks from {} file{}\n", Printable(job.value), ranks.size(),
                  world_size, files.size(), files.size() == 1 ? "" : "s");
  text += fmt::format("{} events, {} imported", total.events, total.imported);
  bool is_first = true;
  for (int reason = 0; reason < 64; ++reason) {
    const auto drop = static_cast<DropReason>(reason);
    if (total.skipped.of(drop) == 0) continue;
    text += fmt::format("{}{} {}", is_first ? "; left out: " : ", ", total.skipped.of(drop),
                        SkippedText(drop));
    is_first = false;
  }
  if (!stalled_only) text += "\n" + CollectivesText(collectives, collectives_unmatched);
  text += connections > 0 ? fmt::format("; {} connection samples\n", connections) : "\n";
  for (const std::string& warning : warnings)
    text += fmt::format("warning: {}\n", Printable(warning));
  for (const FileReport& file : files) {
    for (const std::string& warning : file.warnings)
      text +=
          fmt::format("warning: {}: {}\n", Printable(NameAmong(file, files)), Printable(warning));
  }
  return text;
}

std::string NameAmong(const FileReport& file, std::span<const FileReport> files) {
  const std::filesystem::path name = file.path.filename();
  const auto same_name = [&name](const FileReport& other) { return other.path.filename() == name; };
  return std::ranges::count_if(files, same_name) > 1 ? file.path.string() : name.string();
}

}  // namespace eroica
