#include "producers/export/chrome_trace_writer.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace eroica {

absl::StatusOr<std::unique_ptr<ChromeTraceWriter>> ChromeTraceWriter::Open(
    const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return absl::UnavailableError(fmt::format("cannot make {}: {}", folder, error.message()));
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != ".json") continue;
    return absl::AlreadyExistsError(
        fmt::format("{} holds traces already, such as {}: name another folder", folder,
                    entry->path().filename().string()));
  }
  if (error)
    return absl::UnavailableError(fmt::format("cannot read {}: {}", folder, error.message()));
  return std::unique_ptr<ChromeTraceWriter>(new ChromeTraceWriter(folder));
}

absl::Status ChromeTraceWriter::Write(const EventBatch& batch) {
  const RankId rank = batch.identity.rank;
  const auto [entry, added] = files_.try_emplace(rank);
  if (added)
    entry->second =
        std::make_unique<RankTraceFile>(fmt::format("{}/rank{}.json", folder_, rank.value));
  if (entry->second == nullptr)
    return absl::InvalidArgumentError(
        fmt::format("a batch of rank {} after its final one", rank.value));
  if (absl::Status status = entry->second->Add(batch); !status.ok() || !batch.final) return status;
  absl::Status status = entry->second->Finish();
  entry->second.reset();
  return status;
}

absl::Status ChromeTraceWriter::Finish() {
  absl::Status first;
  for (auto& [rank, file] : files_) {
    if (file == nullptr) continue;
    first.Update(file->Finish());
    file.reset();
  }
  return first;
}

}  // namespace eroica
