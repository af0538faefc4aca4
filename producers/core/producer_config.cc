#include "producers/core/producer_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "schemas/file_access.h"

namespace eroica {
namespace {

constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kMostSteps = int64_t{1} << 53;

absl::Status Refuse(std::string_view name, std::string_view value, std::string_view wanted) {
  return absl::InvalidArgumentError(fmt::format("{}={}: {}", name, value.substr(0, 80), wanted));
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// Reads into one configuration, and keeps the first error.
class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  const absl::Status& status() const { return status_; }

  void Text(const char* name, std::string* out) {
    if (const auto value = environment_(name)) *out = *value;
  }

  void Flag(const char* name, bool* out) {
    const auto value = environment_(name);
    if (!value) return;
    const bool off =
        value->empty() || *value == "0" || *value == "false" || *value == "no" || *value == "off";
    const bool on = *value == "1" || *value == "true" || *value == "yes" || *value == "on";
    if (!off && !on) Fail(Refuse(name, *value, "must be 0 or 1"));
    *out = on;
  }

  template <typename Number>
  bool InRange(const char* name, Number least, Number most, Number* out) {
    const auto value = environment_(name);
    if (!value || value->empty()) return false;
    Number number{};
    if (ParseNumber(*value, &number) && number >= least && number <= most) {
      *out = number;
      return true;
    }
    Fail(Refuse(name, *value, fmt::format("must be a number from {} to {}", least, most)));
    return false;
  }

  // The first of the names that is set to a number. What launchers set is not ours to refuse.
  void FirstNumber(std::initializer_list<const char*> names, int64_t* out) {
    for (const char* name : names) {
      const auto value = environment_(name);
      int64_t number = 0;
      if (!value || !ParseNumber(*value, &number) || number < 0 || number >= kMostRanks) continue;
      *out = number;
      return;
    }
  }

  void FirstText(std::initializer_list<const char*> names, std::string* out) {
    for (const char* name : names) {
      if (const auto value = environment_(name); value && !value->empty()) {
        *out = *value;
        return;
      }
    }
  }

  void Properties(const char* name, std::map<std::string, std::string>* out) {
    const auto value = environment_(name);
    if (!value) return;
    std::string_view rest = *value;
    while (!rest.empty()) {
      const std::string_view entry = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
      const size_t equals = entry.find('=');
      // The value may be a secret: it is not repeated.
      if (equals == 0 || equals == std::string_view::npos) {
        return Fail(
            absl::InvalidArgumentError(fmt::format("{}: must be key=value;key=value", name)));
      }
      Property(std::string(entry.substr(0, equals)), std::string(entry.substr(equals + 1)), out);
    }
  }

  // A secret is better kept in a file: NAME_file names it. A line's end behind it is cut off.
  void Property(std::string name, std::string value, std::map<std::string, std::string>* out) {
    constexpr std::string_view kFile = "_file";
    constexpr size_t kSecretBytesMax = size_t{1} << 20;
    if (name.ends_with(kFile)) {
      std::optional<std::string> secret = ReadFile(value, kSecretBytesMax);
      if (!secret)
        return Fail(absl::NotFoundError(
            fmt::format("EROICA_KAFKA: cannot read {}: {}", value, OpenErrorText(errno))));
      while (secret->ends_with('\n') || secret->ends_with('\r')) secret->pop_back();
      name.resize(name.size() - kFile.size());
      value = *std::move(secret);
    }
    (*out)[std::move(name)] = std::move(value);
  }

  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

 private:
  const Environment& environment_;
  absl::Status status_;
};

// All that Eroica's own producers read, here and elsewhere.
constexpr const char* kKnown[] = {"EROICA_DISABLE",  "EROICA_RECORDING", "EROICA_BOOTSTRAP",
                                  "EROICA_KAFKA",    "EROICA_NULL",      "EROICA_TOPIC_PREFIX",
                                  "EROICA_JOB",      "EROICA_RANK",      "EROICA_WORLD_SIZE",
                                  "EROICA_ROLE",     "EROICA_LEVEL",     "EROICA_WINDOW_STEPS",
                                  "EROICA_RANKS",    "EROICA_EXCHANGE",  "EROICA_HOST_HZ",
                                  "EROICA_REQUESTS", "EROICA_SEND_MS",   "EROICA_ATTACHED",
                                  "EROICA_LIB_DIR",  "EROICA_TORCH",     "EROICA_FIRST_STEP"};
// And families of other components, which check their own.
constexpr const char* kKnownPrefixes[] = {"EROICA_PYTHON_", "EROICA_NCCL_", "EROICA_CUPTI_",
                                          "EROICA_TEST_"};

bool IsKnown(std::string_view name) {
  return std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown) ||
         std::any_of(std::begin(kKnownPrefixes), std::end(kKnownPrefixes),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

}  // namespace

absl::StatusOr<ProducerConfig> ReadProducerConfig(const Environment& environment,
                                                  const std::vector<std::string>& names) {
  ProducerConfig config;
  Reader reader(environment);
  reader.Flag("EROICA_DISABLE", &config.disabled);
  reader.Text("EROICA_RECORDING", &config.recording);
  reader.Text("EROICA_BOOTSTRAP", &config.bootstrap);
  reader.Properties("EROICA_KAFKA", &config.kafka_properties);
  reader.Flag("EROICA_NULL", &config.null_transport);
  reader.Text("EROICA_TOPIC_PREFIX", &config.topic_prefix);
  config.job = "training";
  reader.FirstText({"EROICA_JOB", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID", "LSB_JOBID"},
                   &config.job);
  reader.FirstNumber({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                      "MV2_COMM_WORLD_RANK"},
                     &config.rank);
  reader.FirstNumber(
      {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"},
      &config.world_size);
  reader.InRange("EROICA_RANK", int64_t{0}, kMostRanks - 1, &config.rank);
  reader.InRange("EROICA_WORLD_SIZE", int64_t{1}, kMostRanks, &config.world_size);
  reader.Text("EROICA_ROLE", &config.role);
  if (!reader.InRange("EROICA_LEVEL", 0, 2, &config.level))
    config.level = config.bootstrap.empty() ? 2 : 1;
  reader.InRange("EROICA_WINDOW_STEPS", uint32_t{1}, uint32_t{1'000'000}, &config.window_steps);
  reader.InRange("EROICA_FIRST_STEP", int64_t{0}, kMostSteps, &config.first_step);
  reader.Text("EROICA_RANKS", &config.ranks);
  if (const auto selected = SelectsRank(config.ranks, 0); !selected.ok())
    reader.Fail(selected.status());
  reader.Text("EROICA_EXCHANGE", &config.exchange);
  reader.InRange("EROICA_HOST_HZ", 0.0, 100.0, &config.host_hz);
  reader.Flag("EROICA_REQUESTS", &config.requests);
  reader.InRange("EROICA_SEND_MS", uint32_t{10}, uint32_t{60'000}, &config.send_interval_ms);
  if (!config.recording.empty() && !config.bootstrap.empty()) {
    reader.Fail(absl::InvalidArgumentError(
        "EROICA_RECORDING and EROICA_BOOTSTRAP are both set: give one of them"));
  }
  for (const std::string& name : names) {
    if (name.starts_with("EROICA_") && !IsKnown(name)) config.unknown.push_back(name);
  }
  if (!reader.status().ok()) return reader.status();
  return config;
}

absl::StatusOr<ProducerConfig> ReadProducerConfig() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("EROICA_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return ReadProducerConfig(environment, names);
}

absl::StatusOr<bool> SelectsRank(const std::string& ranks, uint32_t rank) {
  constexpr std::string_view kEvery = "every ";
  if (ranks == "all") return true;
  const auto refuse = [&] {
    return Refuse("EROICA_RANKS", ranks, "must be \"all\", \"every N\" or ranks such as 0,8,16-23");
  };
  if (ranks.starts_with(kEvery)) {
    uint32_t every = 0;
    if (!ParseNumber(std::string_view(ranks).substr(kEvery.size()), &every) || every == 0)
      return refuse();
    return rank % every == 0;
  }
  bool selected = false;
  std::string_view rest = ranks;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const size_t dash = entry.find('-');
    uint32_t first = 0;
    if (!ParseNumber(entry.substr(0, dash), &first)) return refuse();
    uint32_t last = first;
    if (dash != std::string_view::npos && !ParseNumber(entry.substr(dash + 1), &last))
      return refuse();
    if (last < first) return refuse();
    selected = selected || (rank >= first && rank <= last);
  }
  if (ranks.empty()) return refuse();
  return selected;
}

}  // namespace eroica
