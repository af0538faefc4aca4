#include "tests/evaluation/score/scenario_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "ops/config/nearest_name.h"
#include "ops/config/text_file.h"
#include "tests/evaluation/score/scenario_key.h"

namespace eroica {
namespace {

using Line = toml::source_index;

// What stands in a list counts as text, and one thing where a list is wanted as a list of one.
std::optional<std::string> ItemText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  return std::nullopt;
}

// As a value of the wanted one's type; nothing where it is of another.
std::optional<OptionValue> ValueLike(const OptionValue& wanted, const toml::node& node) {
  if (std::holds_alternative<bool>(wanted) && node.is_boolean()) return node.as_boolean()->get();
  if (std::holds_alternative<int64_t>(wanted) && node.is_integer()) return node.as_integer()->get();
  if (std::holds_alternative<double>(wanted) && node.is_integer())
    return static_cast<double>(node.as_integer()->get());
  if (std::holds_alternative<double>(wanted) && node.is_floating_point())
    return node.as_floating_point()->get();
  if (std::holds_alternative<std::string>(wanted) && node.is_string())
    return node.as_string()->get();
  if (!std::holds_alternative<std::vector<std::string>>(wanted)) return std::nullopt;
  std::vector<std::string> list;
  if (const std::optional<std::string> only = ItemText(node)) {
    list.push_back(*only);
    return list;
  }
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  for (const toml::node& item : *array) {
    std::optional<std::string> text = ItemText(item);
    if (!text) return std::nullopt;
    list.push_back(*std::move(text));
  }
  return list;
}

constexpr char kAlternatives[] = "or";  // of an [[expect]]

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {
    scenario_.name = std::filesystem::path(path_).stem().string();
    scenario_.job.job = scenario_.name;
    scenario_.seeds = {1};
  }

  absl::StatusOr<Scenario> Read(const toml::table& file) {
    ReadHead(file);
    ReadTables(file, "fault", FaultKeys(), {}, &faults_);
    ReadTables(file, "resize", ResizeKeys(), {}, &resizes_);
    ReadTables(file, "expect", ExpectedKeys(), {kAlternatives}, &expected_);
    ReadAlternatives(file);
    if (problems_.empty()) Complete();
    if (!problems_.empty()) return absl::InvalidArgumentError(problems_);
    return std::move(scenario_);
  }

 private:
  template <typename Target>
  struct Placed {
    Target target;
    Line line = 0;
  };

  void ReadHead(const toml::table& file) {
    std::vector<std::string> others = {"fault", "resize", "expect"};
    ReadKeys(file, "", ScenarioKeys(), others, &scenario_, &lines_);
    for (const FileKey<Scenario>& key : ScenarioKeys()) {
      if (key.required && !lines_.contains(key.member))
        Problem(1, fmt::format("{} is missing: {}", key.name, key.doc));
    }
  }

  // What stands under each [[expect]], if that is a table.
  void ReadAlternatives(const toml::table& file) {
    const toml::node* node = file.get("expect");
    const toml::array* array = node == nullptr ? nullptr : node->as_array();
    for (size_t i = 0; array != nullptr && i < std::min(array->size(), expected_.size()); ++i) {
      const toml::table* table = array->get(i)->as_table();
      if (table == nullptr) continue;
      std::vector<Placed<ExpectedFinding>> alternatives;
      ReadTables(*table, kAlternatives, AlternativeKeys(), {}, &alternatives);
      for (Placed<ExpectedFinding>& one : alternatives)
        expected_[i].target.alternatives.push_back(std::move(one.target));
    }
  }

  // others: names in a table that are read elsewhere.
  template <typename Target>
  void ReadTables(const toml::table& file, std::string_view name,
                  const std::vector<FileKey<Target>>& keys, const std::vector<std::string>& others,
                  std::vector<Placed<Target>>* tables) {
    const toml::node* node = file.get(name);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr || !std::all_of(array->begin(), array->end(),
                                         [](const toml::node& item) { return item.is_table(); })) {
      return Problem(node->source().begin.line,
                     fmt::format("{0} must be tables, each begun with [[{0}]]", name));
    }
    for (const toml::node& item : *array) {
      Placed<Target>& placed = tables->emplace_back();
      placed.line = item.source().begin.line;
      std::map<std::string, Line> lines;
      ReadKeys(*item.as_table(), "", keys, others, &placed.target, &lines);
      for (const FileKey<Target>& key : keys) {
        if (key.required && !lines.contains(key.member))
          Problem(placed.line, fmt::format("{}.{} is missing: {}", name, key.name, key.doc));
      }
    }
  }

  // others: names that are read elsewhere.
  template <typename Target>
  void ReadKeys(const toml::table& table, const std::string& section,
                const std::vector<FileKey<Target>>& keys, const std::vector<std::string>& others,
                Target* target, std::map<std::string, Line>* lines) {
    for (const auto& [toml_key, node] : table) {
      const std::string name = section + std::string(toml_key.str());
      const auto key = std::find_if(keys.begin(), keys.end(), [&](const FileKey<Target>& known) {
        return known.name == name;
      });
      if (key != keys.end()) {
        (*lines)[key->member] = node.source().begin.line;
        ReadValue(*key, node, target);
      } else if (node.is_table() && std::any_of(keys.begin(), keys.end(), [&](const auto& known) {
                   return known.name.starts_with(name + ".");
                 })) {
        ReadKeys(*node.as_table(), name + ".", keys, {}, target, lines);
      } else if (std::find(others.begin(), others.end(), name) == others.end()) {
        std::vector<std::string> known = others;
        for (const FileKey<Target>& candidate : keys) known.push_back(candidate.name);
        Unknown(toml_key.source().begin.line, name, known);
      }
    }
  }

  template <typename Target>
  void ReadValue(const FileKey<Target>& key, const toml::node& node, Target* target) {
    const Line line = node.source().begin.line;
    const OptionValue wanted = key.get(Target());
    std::optional<OptionValue> value = ValueLike(wanted, node);
    if (key.takes_number && node.is_integer()) value = node.as_integer()->get();
    if (!value)
      return Problem(line, fmt::format("{} must be {}, such as {}", key.name, TypeName(wanted),
                                       ToToml(wanted)));
    if (absl::Status status = key.set(target, *std::move(value)); !status.ok())
      Problem(line, std::string(status.message()));
  }

  // What only the whole file can tell.
  void Complete() {
    simulate::SimulatedJob& job = scenario_.job;
    job.seed = scenario_.seeds.front();
    if (absl::Status status = Check(job); !status.ok())
      return Impossible(std::string(status.message()));
    for (Placed<FaultEntry>& entry : faults_) AddFault(entry);
    for (const Placed<simulate::Resize>& entry : resizes_) job.resizes.push_back(entry.target);
    if (absl::Status status = Check(job); !status.ok())
      return Impossible(std::string(status.message()));
    for (Placed<ExpectedFinding>& entry : expected_) {
      std::vector<uint32_t> ranks = entry.target.ranks;
      for (const ExpectedFinding& alternative : entry.target.alternatives)
        ranks.insert(ranks.end(), alternative.ranks.begin(), alternative.ranks.end());
      for (const uint32_t rank : ranks) {
        if (rank >= job.layout.world_size())
          return Problem(entry.line,
                         fmt::format("expect.ranks has {}, but the job's ranks are 0 to {}", rank,
                                     job.layout.world_size() - 1));
      }
      if (entry.target.fault < -1 || entry.target.fault >= static_cast<int32_t>(faults_.size()))
        return Problem(entry.line,
                       fmt::format("expect.fault is {}, but there are {} faults, from 0",
                                   entry.target.fault, faults_.size()));
      scenario_.expected.push_back(std::move(entry.target));
    }
    AddVaryingWork();
  }

  // Lengths or routing that are drawn anew for each step make it as long as its slowest rank: true
  // of the job, and nothing that a person must hear of.
  void AddVaryingWork() {
    const simulate::Workload& workload = scenario_.job.workload;
    const bool routed_anew = workload.expert_every > 0 && workload.routing_spread > 0;
    if (!scenario_.traces.empty() || (workload.length_spread <= 0 && !routed_anew)) return;
    ExpectedFinding varying;
    varying.kinds = {FindingKind::kImbalance};
    varying.subkinds = {"varying"};
    varying.optional = true;
    scenario_.expected.push_back(std::move(varying));
  }

  void AddFault(Placed<FaultEntry>& entry) {
    const simulate::ParallelLayout& layout = scenario_.job.layout;
    simulate::Fault& fault = entry.target.fault;
    if (entry.target.everywhere) {
      fault.ranks.resize(layout.world_size());
      std::iota(fault.ranks.begin(), fault.ranks.end(), 0u);
    }
    for (const uint32_t host : entry.target.hosts) {
      if (host >= layout.hosts()) {
        return Problem(entry.line,
                       fmt::format("fault.hosts has {}, but the job's hosts are 0 to {}", host,
                                   layout.hosts() - 1));
      }
      const uint32_t end = std::min((host + 1) * layout.ranks_per_host, layout.world_size());
      for (uint32_t rank = host * layout.ranks_per_host; rank < end; ++rank)
        fault.ranks.push_back(rank);
    }
    std::sort(fault.ranks.begin(), fault.ranks.end());
    fault.ranks.erase(std::unique(fault.ranks.begin(), fault.ranks.end()), fault.ranks.end());
    scenario_.job.faults.push_back(std::move(fault));
  }

  // Check's messages begin with the member that is wrong.
  void Impossible(const std::string& message) {
    const std::string member = message.substr(0, message.find(' '));
    Line line = lines_.contains(member) ? lines_[member] : 1;
    for (size_t i = 0; i < faults_.size(); ++i) {
      if (message.starts_with(fmt::format("faults[{}]", i))) line = faults_[i].line;
    }
    for (size_t i = 0; i < resizes_.size(); ++i) {
      if (message.starts_with(fmt::format("resizes[{}]", i))) line = resizes_[i].line;
    }
    Problem(line, message);
  }

  void Unknown(Line line, const std::string& name, const std::vector<std::string>& known) {
    const std::string nearest = NearestName(name, known);
    Problem(line,
            nearest.empty()
                ? fmt::format("unknown key '{}'; docs/reference/scenario.md has all keys", name)
                : fmt::format("unknown key '{}'; did you mean '{}'?", name, nearest));
  }

  void Problem(Line line, const std::string& message) {
    if (!problems_.empty()) problems_ += '\n';
    problems_ += fmt::format("{}:{}: {}", path_, line, message);
  }

  const std::string path_;
  Scenario scenario_;
  std::vector<Placed<FaultEntry>> faults_;
  std::vector<Placed<simulate::Resize>> resizes_;
  std::vector<Placed<ExpectedFinding>> expected_;
  std::map<std::string, Line> lines_;  // by member
  std::string problems_;
};

}  // namespace

absl::StatusOr<Scenario> ReadScenarioText(std::string_view text, const std::string& path) {
  toml::table file;
  try {
    file = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(
        fmt::format("{}:{}: {}", path, error.source().begin.line, error.description()));
  }
  return Reader(path).Read(file);
}

absl::StatusOr<Scenario> ReadScenario(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) return text.status();
  return ReadScenarioText(*text, path);
}

absl::StatusOr<std::vector<std::string>> ListScenarioFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->is_regular_file(error) && entry->path().extension() == ".toml")
      files.push_back(entry->path().string());
  }
  if (error) return absl::NotFoundError(fmt::format("cannot read {}: {}", folder, error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace eroica
