#include "ops/cli/exchange_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "producers/core/rank_claim.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<ExchangeFolder>> ExchangeFolder::Make() {
  absl::Status status;
  for (const std::string& parent : ExchangeParents()) {
    std::string pattern = fmt::format("{}/eroica-run-XXXXXX", parent);
    if (::mkdtemp(pattern.data()) != nullptr) return std::make_unique<ExchangeFolder>(pattern);
    status = absl::ErrnoToStatus(errno, fmt::format("cannot make {}", pattern));
  }
  return status;
}

ExchangeFolder::~ExchangeFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace eroica
