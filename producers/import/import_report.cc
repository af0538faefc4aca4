#include "producers/import/import_report.h"

#include <fmt/format.h>

#include "schemas/printable_text.h"

namespace eroica {

void ImportCounts::Add(const ImportCounts& other) {
  events += other.events;
  imported += other.imported;
  skipped.Add(other.skipped);
  file_bytes += other.file_bytes;
  content_bytes += other.content_bytes;
}

std::string ImportReport::ToText() const {
  std::string text = fmt::format("job {}: {} of {} ranks from {} files, {} events, {} imported",
                                 Printable(job.value), ranks.size(), world_size, files.size(),
                                 total.events, total.imported);
  if (total.skipped.total() > 0) {
    text += ", skipped:";
    for (int reason = 0; reason < 64; ++reason) {
      const auto drop = static_cast<DropReason>(reason);
      if (total.skipped.of(drop) > 0)
        text += fmt::format(" {} {}", total.skipped.of(drop), ToString(drop));
    }
  }
  text += fmt::format("; {} collectives matched, {} not", collectives, collectives_unmatched);
  text += connections > 0 ? fmt::format("; {} connection samples\n", connections) : "\n";
  for (const std::string& warning : warnings)
    text += fmt::format("warning: {}\n", Printable(warning));
  for (const FileReport& file : files) {
    for (const std::string& warning : file.warnings)
      text += fmt::format("warning: {}: {}\n", Printable(file.path.filename().string()),
                          Printable(warning));
  }
  return text;
}

}  // namespace eroica
