// The variables that make a training job's processes load Eroica's producers, without a change of
// its code: what `eroica run` sets and `eroica check` explains.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace eroica {

// Where the parts lie that are loaded into other processes.
struct ProducerFiles {
  std::string core;       // libproducer_core.so
  std::string folder;     // that it lies in
  std::string cupti;      // liberoica_cupti.so; empty: not built
  std::string nccl;       // libnccl-profiler-eroica.so; empty: not built
  std::string python;     // folder of the package `eroica`; empty: not there
  std::string zero_code;  // folder of sitecustomize.py
};
// Beside this program: installed, or in a build folder. kNotFound says what is missing.
absl::StatusOr<ProducerFiles> FindProducerFiles();

struct JobCapture {
  std::string recording;  // absolute; or
  std::string bootstrap;
  std::string job;
  std::string exchange;  // folder that the ranks share; empty: as the environment says
  std::optional<uint32_t> window_steps;  // none: as the environment says
  std::optional<int> level;              // likewise
};

using GetVariable = std::function<std::optional<std::string>(const std::string&)>;
// What the user has set already stays, where no flag says otherwise: his PYTHONPATH follows ours,
// his own CUDA injection or NCCL profiler is left alone. EROICA_LIB_DIR is not set: the Python
// package finds the libraries that it was installed with.
std::map<std::string, std::string> VariablesFor(const JobCapture& capture,
                                                const ProducerFiles& files,
                                                const GetVariable& environment);

}  // namespace eroica
