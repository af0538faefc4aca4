// How a ClaimMemory is kept in the state store: a line of text a record.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <string>
#include <utility>

#include "diagnosis/ledger/claim_memory.h"

namespace eroica {

std::string ClaimMemory::Encode() const {
  std::string text = fmt::format("6 {} {} {}\n", first_window_, asked_, fmt::join(unrest_, " "));
  for (const Record& record : records_) {
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", record.window,
                        static_cast<int>(record.kind), record.first_step, record.slow_steps,
                        record.steps, record.share, record.least_windows, record.roams ? 1 : 0,
                        record.ripe ? 1 : 0, record.far_off ? 1 : 0, record.accident ? 1 : 0,
                        record.ranks.size());
    for (const int32_t rank : record.ranks) text += fmt::format(" {}", rank);
    text += fmt::format(" {}\n", record.function);
  }
  return text;
}

bool ClaimMemory::Restore(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  int version = 0;
  ClaimMemory read(options_);
  if (!std::getline(lines, line)) return false;
  std::istringstream head(line);
  if (!(head >> version >> read.first_window_) || version < 1 || version > 6) return false;
  if (version > 2 && !(head >> read.asked_)) return false;
  for (int64_t& ranks : read.unrest_) {
    if (version > 3 && !(head >> ranks)) return false;
  }
  while (std::getline(lines, line)) {
    std::istringstream row(line);
    Record record;
    int kind = 0;
    int roams = 0;
    int ripe = 0;
    int far_off = 0;
    int accident = 0;
    size_t ranks = 0;
    if (!(row >> record.window >> kind >> record.first_step >> record.slow_steps >> record.steps >>
          record.share))
      return false;
    if (version > 1 && !(row >> record.least_windows)) return false;
    if (!(row >> roams) || (version > 3 && !(row >> ripe)) || (version > 4 && !(row >> far_off)))
      return false;
    if ((version > 5 && !(row >> accident)) || !(row >> ranks)) return false;
    if (kind < 0 || kind >= kFindingKindCount) return false;
    record.kind = static_cast<FindingKind>(kind);
    record.roams = roams != 0;
    record.ripe = ripe != 0;
    record.far_off = far_off != 0;
    record.accident = accident != 0;
    for (size_t i = 0; i < ranks; ++i) {
      if (!(row >> record.ranks.emplace_back())) return false;
    }
    row.ignore();
    std::getline(row, record.function);
    read.records_.push_back(std::move(record));
  }
  *this = std::move(read);
  return true;
}

}  // namespace eroica
