#include "ops/cli/capture_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace eroica {
namespace {

constexpr int kOldestMinor = 9;
constexpr int kNewestMinor = 15;
// A rank of a large job writes some 10 MB a minute at level 2.
constexpr uint64_t kLittleSpace = uint64_t{1} << 30;

using enum Capture;

std::string Variable(const MachineFacts& facts, const std::string& name) {
  return facts.variable ? facts.variable(name).value_or("") : "";
}

bool IsSwitchedOff(const MachineFacts& facts) {
  const std::string value = Variable(facts, "EROICA_DISABLE");
  return !value.empty() && value != "0" && value != "false" && value != "no" && value != "off";
}

SourceCheck CheckCore(const MachineFacts& facts) {
  if (!facts.files) return {"core", kNo, facts.files_error, "build all of Eroica, or install it"};
  if (!facts.core_error.empty()) {
    return {"core", kNo, fmt::format("{} does not load: {}", facts.files->core, facts.core_error),
            "install what it needs"};
  }
  if (IsSwitchedOff(facts)) {
    return {"core", kNo,
            fmt::format("EROICA_DISABLE={} switches all of Eroica off",
                        Variable(facts, "EROICA_DISABLE")),
            "unset it"};
  }
  return {"core", kYes, fmt::format("{} loads", facts.files->core), ""};
}

SourceCheck CheckRecording(const MachineFacts& facts) {
  if (!facts.place_error.empty()) {
    return {"recording", kNo,
            fmt::format("nothing can be written to {}: {}", facts.place, facts.place_error),
            "name a folder with --recording, or send to Kafka with --kafka"};
  }
  const std::string free =
      fmt::format("{:.1f} GiB free in {}", static_cast<double>(facts.place_free_bytes) / (1 << 30),
                  facts.place);
  if (facts.place_free_bytes < kLittleSpace)
    return {"recording", kPartly, free, "name a folder with more space with --recording"};
  return {"recording", kYes, free, ""};
}

SourceCheck CheckKafka(const MachineFacts& facts) {
  if (!facts.kafka_error.empty()) {
    return {"kafka", kNo, fmt::format("{}: {}", facts.kafka, facts.kafka_error),
            "check the address and the broker"};
  }
  if (!facts.topic_problems.empty()) {
    std::string problems;
    for (const std::string& problem : facts.topic_problems)
      problems += (problems.empty() ? "" : "; ") + problem;
    return {"kafka", kNo, problems,
            fmt::format("eroica topics create --bootstrap {}", facts.kafka)};
  }
  return {"kafka", kYes, fmt::format("{} answers, and its topics are as planned", facts.kafka), ""};
}

// Empty: this Python is one that we know inside out.
std::string WhyNotThisPython(const PythonFacts& python) {
  if (python.major != 3 || python.minor < kOldestMinor || python.minor > kNewestMinor) {
    return fmt::format("{} is Python {}.{}; 3.{} to 3.{} are supported", python.path, python.major,
                       python.minor, kOldestMinor, kNewestMinor);
  }
  return "";
}

SourceCheck CheckPython(const MachineFacts& facts) {
  const PythonFacts& python = facts.python;
  if (python.path.empty())
    return {"python", kNo, "there is no python3 on PATH", "activate the environment of the job"};
  if (!python.error.empty())
    return {"python", kNo, fmt::format("{}: {}", python.path, python.error),
            "activate the environment of the job"};
  if (const std::string why = WhyNotThisPython(python); !why.empty()) {
    return {"python", kNo, why,
            fmt::format("run the job with Python 3.{} to 3.{}", kOldestMinor, kNewestMinor)};
  }
  if (!facts.files || facts.files->python.empty()) {
    return {"python", kNo, "the package eroica does not lie with this program",
            "install all of Eroica"};
  }
  if (!facts.has_sampler) {
    return {"python", kNo, fmt::format("liberoica_python.so is not in {}", facts.files->folder),
            "build all of Eroica"};
  }
  if (!python.import_error.empty()) {
    return {"python", kNo,
            fmt::format("{} cannot import eroica: {}", python.path, python.import_error),
            "see the message"};
  }
  return {"python", kYes,
          fmt::format("{}, {}.{}: steps, marks and collectives of scripts", python.path,
                      python.major, python.minor),
          ""};
}

SourceCheck CheckPytorch(const MachineFacts& facts, const SourceCheck& python) {
  if (python.capture == kNo) return {"pytorch", kNo, "needs Python", ""};
  if (facts.python.torch.empty()) {
    return {
        "pytorch", kNo,
        "not installed in this Python: steps are known only where the script calls eroica.step()",
        "activate the environment of the job, if it uses PyTorch"};
  }
  return {
      "pytorch", kYes,
      fmt::format("{}: data loader, stages, optimizer and torch.distributed", facts.python.torch),
      ""};
}

SourceCheck CheckStacks(const MachineFacts& facts, const SourceCheck& python) {
  if (python.capture == kNo) return {"stacks", kNo, "needs Python", ""};
  if (!facts.context_switches) {
    return {
        "stacks", kPartly,
        "the training thread is sampled from inside the process; the kernel does not show when it "
        "blocks, so that how long functions wait is estimated from samples",
        "kernel.perf_event_paranoid of 2 or less, and perf_event_open in the container's seccomp "
        "profile"};
  }
  return {"stacks", kYes,
          "the training thread is sampled from inside the process, without ptrace or root", ""};
}

// A variable that holds one tool only.
bool IsTakenByAnother(const std::string& value, std::string_view ours) {
  return !value.empty() && value != ours;
}

std::string FirstNamed(const std::vector<std::string>& paths, std::string_view name) {
  for (const std::string& path : paths) {
    if (path.find(name) != std::string::npos) return path;
  }
  return "";
}

SourceCheck CheckCupti(const MachineFacts& facts) {
  if (!facts.files || facts.files->cupti.empty()) {
    return {"cupti", kNo, "liberoica_cupti.so was not built",
            "ops/cuda_headers.sh fetches the headers; then build with EROICA_CUPTI=ON"};
  }
  if (const std::string value = Variable(facts, "CUDA_INJECTION64_PATH");
      IsTakenByAnother(value, facts.files->cupti)) {
    return {"cupti", kNo,
            fmt::format("CUDA_INJECTION64_PATH is {}, and CUDA injects one library only", value),
            "unset it"};
  }
  if (!facts.driver_error.empty()) {
    return {"cupti", kNo, fmt::format("no NVIDIA driver: {}", facts.driver_error),
            "nothing, where the machine has no NVIDIA GPU"};
  }
  const std::string with_python = FirstNamed(facts.python.cuda_libraries, "libcupti.so");
  if (!facts.libcupti.empty())
    return {"cupti", kYes, fmt::format("device work by {}", facts.libcupti), ""};
  if (!with_python.empty()) {
    return {"cupti", kPartly,
            fmt::format("device work by {}, once the job has loaded it", with_python),
            fmt::format("EROICA_CUPTI_LIBRARY={}", with_python)};
  }
  return {"cupti", kNo, "no libcupti on the loader's path, with Python's packages or in CUDA_HOME",
          "set EROICA_CUPTI_LIBRARY to one"};
}

SourceCheck CheckNccl(const MachineFacts& facts) {
  if (!facts.files || facts.files->nccl.empty())
    return {"nccl", kNo, "libnccl-profiler-eroica.so was not built", "build all of Eroica"};
  const std::string value = Variable(facts, "NCCL_PROFILER_PLUGIN");
  if (IsTakenByAnother(value, facts.files->nccl) && value != "eroica") {
    return {"nccl", kNo,
            fmt::format("NCCL_PROFILER_PLUGIN is {}, and NCCL takes one plugin only", value),
            "unset it"};
  }
  const std::string with_python = FirstNamed(facts.python.cuda_libraries, "libnccl.so");
  const std::string library = !facts.libnccl.empty() ? facts.libnccl : with_python;
  if (library.empty()) {
    return {"nccl", kNo, "no libnccl on the loader's path or with Python's packages",
            "nothing, where the job brings its own or has none"};
  }
  if (!facts.driver_error.empty())
    return {"nccl", kNo, fmt::format("{} needs an NVIDIA driver, and there is none", library), ""};
  return {"nccl", kYes, fmt::format("collectives of {}, from NCCL 2.26 on", library), ""};
}

SourceCheck CheckHost(const MachineFacts& facts) {
  std::string missing;
  const auto need = [&](bool there, std::string_view what) {
    if (!there) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", what);
  };
  need(facts.schedstat, "/proc/self/task/*/schedstat");
  need(facts.proc_stat, "/proc/stat");
  need(facts.pressure, "/proc/pressure");
  need(!facts.network_ports.empty(), "network ports in /sys/class");
  std::string ports;
  for (const std::string& port : facts.network_ports) ports += (ports.empty() ? "" : ", ") + port;
  if (missing.empty())
    return {"host", kYes, fmt::format("processors, memory, disks, network ({})", ports), ""};
  const bool some =
      facts.schedstat || facts.proc_stat || facts.pressure || !facts.network_ports.empty();
  return {"host", some ? kPartly : kNo, fmt::format("not readable here: {}", missing),
          "ask for them in the container or kernel, or do without"};
}

SourceCheck CheckSockets(const MachineFacts& facts) {
  if (facts.tcp_info_error.empty())
    return {"sockets", kYes, "TCP_INFO of the connections between ranks", ""};
  return {"sockets", kNo, fmt::format("TCP_INFO: {}", facts.tcp_info_error), ""};
}

SourceCheck CheckNvml(const MachineFacts& facts) {
  if (!facts.nvml_error.empty()) {
    return {"nvml", kNo, fmt::format("clocks and errors of GPUs: {}", facts.nvml_error),
            "nothing, where the machine has no NVIDIA GPU"};
  }
  return {"nvml", kYes,
          fmt::format("clocks, throttling and errors of {} GPU{}", facts.gpus,
                      facts.gpus == 1 ? "" : "s"),
          ""};
}

struct Launcher {
  const char* name;
  const char* rank;
  const char* world;
};

// In the order in which the core asks (producer_config.cc).
SourceCheck CheckLauncher(const MachineFacts& facts) {
  constexpr std::array kLaunchers = {
      Launcher{"EROICA_RANK", "EROICA_RANK", "EROICA_WORLD_SIZE"},
      Launcher{"torchrun", "RANK", "WORLD_SIZE"},
      Launcher{"Slurm", "SLURM_PROCID", "SLURM_NTASKS"},
      Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      Launcher{"PMIx", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE"},
      Launcher{"PMI", "PMI_RANK", "PMI_SIZE"},
      Launcher{"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}};
  for (const Launcher& launcher : kLaunchers) {
    const std::string rank = Variable(facts, launcher.rank);
    if (rank.empty()) continue;
    const std::string world = Variable(facts, launcher.world);
    const std::string of = world.empty() ? "" : fmt::format(" of {}", world);
    return {"launcher", kYes,
            fmt::format("{}: {} says rank {}{}", launcher.name, launcher.rank, rank, of), ""};
  }
  if (const std::string job = Variable(facts, "SLURM_JOB_ID"); !job.empty()) {
    return {"launcher", kYes, fmt::format("Slurm job {}: srun tells its tasks their ranks", job),
            ""};
  }
  return {"launcher", kYes,
          "none here: torchrun, srun or mpirun tell ranks who they are; without one a job is rank "
          "0 of 1",
          ""};
}

}  // namespace

std::string ToString(Capture capture) {
  switch (capture) {
    case kYes: return "yes";
    case kPartly: return "partly";
    case kNo: return "no";
  }
  return "no";
}

std::vector<SourceCheck> CheckSources(const MachineFacts& facts) {
  std::vector<SourceCheck> checks{CheckCore(facts),
                                  facts.kafka.empty() ? CheckRecording(facts) : CheckKafka(facts)};
  const SourceCheck python = CheckPython(facts);
  checks.push_back(python);
  checks.push_back(CheckPytorch(facts, python));
  checks.push_back(CheckStacks(facts, python));
  checks.push_back(CheckCupti(facts));
  checks.push_back(CheckNccl(facts));
  checks.push_back(CheckHost(facts));
  checks.push_back(CheckSockets(facts));
  checks.push_back(CheckNvml(facts));
  checks.push_back(CheckLauncher(facts));
  return checks;
}

bool CanCapture(const std::vector<SourceCheck>& checks) {
  const auto has = [&](std::string_view source) {
    return std::any_of(checks.begin(), checks.end(), [&](const SourceCheck& check) {
      return check.source == source && check.capture != kNo;
    });
  };
  return has("core") && (has("recording") || has("kafka")) && (has("python") || has("nccl"));
}

}  // namespace eroica
