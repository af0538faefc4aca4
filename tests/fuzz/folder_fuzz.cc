// Whole folders as a user gives them to `eroica diagnose`: import, all stages, findings, text and
// JSON. Whatever lies in a folder, the program answers: with findings, or with an error that is not
// one of its own making.
//
// An input that begins with "folder" is an archive of files (fuzz_folder.h), changed by what
// follows them; any other is the source of a folder that is made, and changed.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "ops/cli/trace_diagnosis.h"
#include "schemas/check.h"
#include "schemas/printable_text.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/fuzz/folder_mutations.h"
#include "tests/fuzz/folder_shapes.h"
#include "tests/fuzz/fuzz_choices.h"
#include "tests/fuzz/fuzz_folder.h"

namespace eroica {
namespace {

// In memory where the system lets it, else on its disk; gone with the process.
class ScratchFolder {
 public:
  ScratchFolder() {
    const std::string name = "eroica_folder_fuzz_" + std::to_string(::getpid());
    std::error_code error;
    path_ = std::filesystem::path("/dev/shm") / name;
    std::filesystem::create_directories(path_, error);
    if (error) path_ = std::filesystem::temp_directory_path() / name;
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::filesystem::path& Fill(const FuzzFolder& files) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    WriteFolder(files, path_);
    return path_;
  }

 private:
  std::filesystem::path path_;
};

void CheckText(const std::string& text) { EROICA_CHECK(IsUtf8(text)); }

void CheckLines(const std::string& lines) {
  CheckText(lines);
  size_t at = 0;
  while (at < lines.size()) {
    const size_t end = lines.find('\n', at);
    EROICA_CHECK(end != std::string::npos);
    EROICA_CHECK(nlohmann::json::accept(lines.substr(at, end - at)));
    at = end + 1;
  }
}

void Diagnose(const std::filesystem::path& folder) {
  MemoryLog log;
  EROICA_CHECK(CreateMissingTopics(log.admin(), kDefaultTopicPrefix, TopicLayout()).ok());
  TraceFlags flags;
  flags.paths = {folder.string()};
  const absl::StatusOr<Diagnosis> diagnosis =
      DiagnoseTraces(flags, log, nullptr,
                     [](const ImportReport& report) { CheckLines(ImportedJsonLine(report)); });
  if (!diagnosis.ok()) {
    // Errors name files as they are called, and the program prints them escaped.
    const std::string message = Printable(std::string(diagnosis.status().message()));
    if (absl::IsInternal(diagnosis.status())) std::fprintf(stderr, "%s\n", message.c_str());
    EROICA_CHECK(!absl::IsInternal(diagnosis.status()));
    EROICA_CHECK(!message.empty());
    return CheckText(message);
  }
  // What our own importer writes, our own stages take.
  for (const auto& [reason, count] : diagnosis->probe.dead_letters) {
    if (reason > DropReason::kNotInOrder) continue;  // sound, and implausible
    std::fprintf(stderr, "dead letters: %s\n", std::string(ToString(reason)).c_str());
    EROICA_CHECK(count == 0);
  }
  CheckLines(FoundJsonLines(*diagnosis));
  CheckText(DiagnosisText(*diagnosis));
}

FuzzFolder FolderOf(std::span<const uint8_t> input) {
  if (std::optional<FolderArchive> archive = ParseFolderArchive(input)) {
    FuzzChoices choices(archive->choices);
    if (!archive->choices.empty()) MutateFolder(choices, &archive->files);
    return std::move(archive->files);
  }
  FuzzChoices choices(input);
  FuzzFolder folder = SomeFolder(choices);
  MutateFolder(choices, &folder);
  return folder;
}

}  // namespace
}  // namespace eroica

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static eroica::ScratchFolder scratch;
  eroica::Diagnose(scratch.Fill(eroica::FolderOf({data, size})));
  return 0;
}
