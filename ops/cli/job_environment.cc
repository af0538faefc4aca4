#include "ops/cli/job_environment.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace eroica {
namespace {

namespace fs = std::filesystem;

std::string IfThere(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) ? path.string() : "";
}

// A build folder and an installation have the same layout: <folder>/libproducer_core.so and, in
// <folder>/python, the package and zero_code.
std::optional<ProducerFiles> FilesIn(const fs::path& folder) {
  ProducerFiles files;
  files.core = IfThere(folder / "libproducer_core.so");
  if (files.core.empty()) return std::nullopt;
  files.folder = folder.string();
  files.cupti = IfThere(folder / "liberoica_cupti.so");
  files.nccl = IfThere(folder / "libnccl-profiler-eroica.so");
  const fs::path python = folder / "python";
  if (!IfThere(python / "eroica" / "__init__.py").empty()) files.python = python.string();
  files.zero_code = IfThere(python / "zero_code");
  return files;
}

}  // namespace

absl::StatusOr<ProducerFiles> FindProducerFiles() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error)
    return absl::NotFoundError("cannot find this program's own folder: " + error.message());
  // <prefix>/bin/eroica, then <build>/ops/cli/eroica. In this order: above an installed program are
  // folders of others (/lib).
  const fs::path folder = program.parent_path();
  const fs::path installed = folder.parent_path() / "lib" / "eroica";
  const fs::path built = folder.parent_path().parent_path() / "lib";
  for (const fs::path& place : {installed, built}) {
    if (auto files = FilesIn(place)) return *files;
  }
  return absl::NotFoundError(
      fmt::format("libproducer_core.so is neither in {} nor in {}: install the producers (Debian: "
                  "eroica-producers), or build all of Eroica",
                  installed.string(), built.string()));
}

std::map<std::string, std::string> VariablesFor(const JobCapture& capture,
                                                const ProducerFiles& files,
                                                const GetVariable& environment) {
  std::map<std::string, std::string> variables{{"EROICA_JOB", capture.job}};
  if (!capture.exchange.empty()) variables["EROICA_EXCHANGE"] = capture.exchange;
  if (capture.window_steps)
    variables["EROICA_WINDOW_STEPS"] = std::to_string(*capture.window_steps);
  // Both: one that the user's shell has set would be a second destination, which the core refuses.
  variables["EROICA_RECORDING"] = capture.bootstrap.empty() ? capture.recording : "";
  variables["EROICA_BOOTSTRAP"] = capture.bootstrap;
  if (capture.level) variables["EROICA_LEVEL"] = std::to_string(*capture.level);
  if (!files.python.empty()) {
    std::string path = files.zero_code + ":" + files.python;
    if (const auto users = environment("PYTHONPATH"); users && !users->empty())
      path += ":" + *users;
    variables["PYTHONPATH"] = path;
  }
  const auto set_unless_there = [&](const char* name, const std::string& value) {
    if (!value.empty() && !environment(name)) variables[name] = value;
  };
  set_unless_there("CUDA_INJECTION64_PATH", files.cupti);
  set_unless_there("NCCL_PROFILER_PLUGIN", files.nccl);
  return variables;
}

}  // namespace eroica
