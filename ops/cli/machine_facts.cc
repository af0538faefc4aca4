#include "ops/cli/machine_facts.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "ops/cli/open_log.h"
#include "ops/cli/program_output.h"
#include "ops/cli/topic_plan.h"
#include "producers/python/switch_event.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

// The interpreter of a loaded system starts slowly.
constexpr std::chrono::milliseconds kPythonTimeout{20'000};

// Of the installed packages the metadata is asked, because importing PyTorch takes seconds.
constexpr const char* kAskPython = R"(
import glob, json, os, sys
answer = {"path": sys.executable, "major": sys.version_info[0], "minor": sys.version_info[1], "error": "", "torch": ""}
try:
    import eroica
except Exception as error:
    answer["error"] = type(error).__name__ + ": " + str(error)
try:
    import importlib.metadata
    answer["torch"] = importlib.metadata.version("torch")
except Exception:
    pass
answer["libraries"] = [path for folder in sys.path for name in ("libcupti.so*", "libnccl.so*")
                       for path in sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", name)))]
print(json.dumps(answer))
)";

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

struct Loaded {
  std::string path;   // where the loader found it
  std::string error;  // empty: it loads
  void* library = nullptr;
};

Loaded Load(const std::string& name) {
  Loaded loaded;
  loaded.library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded.library == nullptr) {
    const char* error = ::dlerror();
    loaded.error = error != nullptr ? error : "unknown error";
    return loaded;
  }
  std::array<char, 4096> folder{};
  const bool has_folder = name.find('/') == std::string::npos &&
                          ::dlinfo(loaded.library, RTLD_DI_ORIGIN, folder.data()) == 0;
  loaded.path = has_folder ? fmt::format("{}/{}", folder.data(), name) : name;
  return loaded;
}

// As the library in the process looks for it (real_cupti_api.cc), where nothing is loaded yet.
std::string FindLibcupti() {
  if (const auto named = FromEnvironment("EROICA_CUPTI_LIBRARY"); named && !named->empty())
    return Load(*named).path;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                           "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so"}) {
    if (const Loaded loaded = Load(name); loaded.error.empty()) return loaded.path;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const auto home = FromEnvironment(variable);
    if (!home || home->empty()) continue;
    for (const char* folder : {"/extras/CUPTI/lib64/libcupti.so", "/lib64/libcupti.so"}) {
      if (const Loaded loaded = Load(*home + folder); loaded.error.empty()) return loaded.path;
    }
  }
  return "";
}

std::string FindOnPath(std::string_view program) {
  const std::string path = FromEnvironment("PATH").value_or("");
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find(':', start), path.size());
    const std::string file =
        fmt::format("{}/{}", std::string_view(path).substr(start, end - start), program);
    if (end > start && ::access(file.c_str(), X_OK) == 0) return file;
    start = end + 1;
  }
  return "";
}

PythonFacts AskPython(const std::optional<ProducerFiles>& files) {
  PythonFacts facts;
  facts.path = FindOnPath("python3");
  if (facts.path.empty()) return facts;
  std::map<std::string, std::string> variables;
  if (files) variables = VariablesFor({}, *files, FromEnvironment);
  // It says what it could do, and does none of it.
  variables["EROICA_DISABLE"] = "1";
  const absl::StatusOr<std::string> answer =
      OutputOf({facts.path, "-c", kAskPython}, variables, kPythonTimeout);
  if (answer.ok()) return ParsePythonAnswer(facts.path, *answer);
  facts.error = std::string(answer.status().message());
  return facts;
}

// The folder itself, or the nearest one above it that is there.
fs::path NearestThere(const fs::path& folder) {
  std::error_code error;
  fs::path there = folder;
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  return there;
}

void AskPlace(const std::string& folder, MachineFacts* facts) {
  const fs::path there = NearestThere(fs::absolute(folder).lexically_normal());
  facts->place = there.string();
  if (facts->place.ends_with('/') && facts->place.size() > 1) facts->place.pop_back();
  std::string file = facts->place + "/.eroica-check-XXXXXX";
  const int made = ::mkstemp(file.data());
  if (made < 0) {
    facts->place_error = std::error_code(errno, std::generic_category()).message();
    return;
  }
  ::close(made);
  ::unlink(file.c_str());
  struct statvfs space {};
  if (::statvfs(facts->place.c_str(), &space) == 0)
    facts->place_free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
}

bool IsReadable(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  return static_cast<bool>(file >> word);
}

std::vector<std::string> NetworkPorts() {
  std::vector<std::string> ports;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/class/net", error)) {
    const std::string name = entry.path().filename().string();
    if (name != "lo" && IsReadable(entry.path() / "statistics" / "rx_bytes")) ports.push_back(name);
  }
  for (const auto& entry : fs::directory_iterator("/sys/class/infiniband", error))
    ports.push_back(entry.path().filename().string());
  return ports;
}

std::string TcpInfoError() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::error_code(errno, std::generic_category()).message();
  tcp_info info{};
  socklen_t length = sizeof(info);
  const bool answered = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
  const int code = errno;
  ::close(socket);
  return answered ? "" : std::error_code(code, std::generic_category()).message();
}

void AskNvml(MachineFacts* facts) {
  const Loaded nvml = Load("libnvidia-ml.so.1");
  facts->nvml_error = nvml.error;
  if (nvml.library == nullptr) return;
  const auto init = reinterpret_cast<int (*)()>(::dlsym(nvml.library, "nvmlInit_v2"));
  const auto count =
      reinterpret_cast<int (*)(unsigned*)>(::dlsym(nvml.library, "nvmlDeviceGetCount_v2"));
  const int result = init == nullptr || count == nullptr ? -1 : init();
  if (result != 0 || count(&facts->gpus) != 0)
    facts->nvml_error = fmt::format("nvmlInit answers {}", result);
}

void AskKafka(const std::string& bootstrap, MachineFacts* facts) {
  facts->kafka = bootstrap;
  NodeConfig config;
  config.kafka.bootstrap = bootstrap;
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kRead);
  if (!log.ok()) {
    facts->kafka_error = std::string(log.status().message());
    return;
  }
  for (const TopicSpec& planned : PlanTopics(config)) {
    const absl::StatusOr<TopicSpec> found = (*log)->admin().DescribeTopic(planned.name);
    if (absl::IsNotFound(found.status())) {
      facts->topic_problems.push_back(fmt::format("there is no topic {}", planned.name));
    } else if (!found.ok()) {
      facts->kafka_error = std::string(found.status().message());
      return;
    } else {
      for (std::string& problem : DifferencesFromPlan(planned, *found))
        facts->topic_problems.push_back(std::move(problem));
    }
  }
}

}  // namespace

PythonFacts ParsePythonAnswer(const std::string& path, const std::string& answer) {
  PythonFacts facts;
  facts.path = path;
  const nlohmann::json json = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* name, auto is) {
    return json.contains(name) && (json[name].*is)();
  };
  using Json = nlohmann::json;
  if (!json.is_object() || !has("major", &Json::is_number_integer) ||
      !has("minor", &Json::is_number_integer)) {
    facts.error = "says something else than what it was asked";
    return facts;
  }
  facts.major = json["major"];
  facts.minor = json["minor"];
  if (has("path", &Json::is_string) && !json["path"].get<std::string>().empty())
    facts.path = json["path"];
  if (has("error", &Json::is_string)) facts.import_error = json["error"];
  if (has("torch", &Json::is_string)) facts.torch = json["torch"];
  if (!has("libraries", &Json::is_array)) return facts;
  for (const nlohmann::json& library : json["libraries"]) {
    if (library.is_string()) facts.cuda_libraries.push_back(library);
  }
  return facts;
}

MachineFacts AskMachine(const MachineQuestions& questions) {
  MachineFacts facts;
  facts.variable = FromEnvironment;
  if (absl::StatusOr<ProducerFiles> files = FindProducerFiles(); files.ok()) {
    facts.files = *std::move(files);
    facts.core_error = Load(facts.files->core).error;
    std::error_code error;
    facts.has_sampler = fs::exists(fs::path(facts.files->folder) / "liberoica_python.so", error);
  } else {
    facts.files_error = std::string(files.status().message());
  }
  if (questions.kafka.empty()) {
    AskPlace(questions.recording.empty() ? "." : questions.recording, &facts);
  } else {
    AskKafka(questions.kafka, &facts);
  }
  facts.python = AskPython(facts.files);
  facts.driver_error = Load("libcuda.so.1").error;
  facts.libcupti = FindLibcupti();
  facts.libnccl = Load("libnccl.so.2").path;
  if (const int event = OpenSwitchEvent(::gettid()); event >= 0) {
    facts.context_switches = true;
    ::close(event);
  }
  facts.schedstat = IsReadable(fmt::format("/proc/self/task/{}/schedstat", ::getpid()));
  facts.proc_stat = IsReadable("/proc/stat");
  facts.pressure = IsReadable("/proc/pressure/memory");
  facts.network_ports = NetworkPorts();
  facts.tcp_info_error = TcpInfoError();
  AskNvml(&facts);
  return facts;
}

}  // namespace eroica
